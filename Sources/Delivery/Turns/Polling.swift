import Base
import Cryptography
import Glibc
import Logging
import Store

/// Polls online-go.com for the users with registered devices.
struct TurnPolling: Sendable {
  let database: Database
  let settings: PollSettings
  let log: Logger
  let stopping: Flag
  var problemLog = ProblemLog()
  var clock = LimitClock.system

  /// Number of users claimed at once: all their fetches end before the lease expires, even if each
  /// one times out.
  private static let claimSize = 8

  /// Maximum number of badges corrected in one pass after users unregistered.
  private static let badgesAtOnce = 500

  private var polls: Polls { database.records(at: .now(), from: .companion).polls }

  /// Polls the due users one after the other, no faster than configured, until no user is due or
  /// `limit` has passed.
  ///
  /// Sequential on purpose: with the fetch of a job, online-go.com never sees more than two of our
  /// requests at once.
  ///
  /// - Parameter deliver: called after each group of users, so that new turns are sent at once.
  func pollDueUsers(atMost limit: Duration, deliver: () -> Void = {}) throws {
    let deadline = clock.now() + limit
    let gap = Duration.seconds(1) / settings.requestsPerSecond
    _ = try database.records(at: .now(), from: .companion).deviceBadges
      .correctStale(limit: Self.badgesAtOnce)
    let forgotten = try polls.forgetUnregistered()
    if forgotten > 0 {
      log.info("Users without a device forgotten", metadata: ["users": "\(forgotten)"])
    }
    let site = OnlineGo(settings, clock)
    var nextFetch = clock.now()
    while clock.now() < deadline {
      var users = try polls.claim(limit: Self.claimSize, as: newClaimID())[...]
      if users.isEmpty { return }
      while let user = users.popFirst() {
        if stopping.isSet {
          try polls.release([user] + users)
          return
        }
        clock.sleep(max(.zero, nextFetch - clock.now()))
        nextFetch = clock.now() + gap
        let outcome = try pollUser(user, at: site, entityTag: user.entityTag)
        if case .allPaused = outcome {
          log.error("online-go.com refused several users in a row: all polls are paused")
          try polls.release(Array(users))
          return
        }
      }
      deliver()
    }
  }

  enum PollOutcome {
    case seen(Turns)
    /// Nothing new, or nothing recorded because another poll has taken over the lease.
    case nothing
    case failed
    case allPaused
  }

  func pollUser(
    _ user: ClaimedUser, at site: borrowing OnlineGo, entityTag: String?,
    limits: HTTPClient.Limits = .init()
  ) throws -> PollOutcome {
    switch site.fetchGames(of: user.id, entityTag: entityTag, limits: limits) {
    case .games(let seen, let entityTag):
      observe("changed", of: site)
      return try store(seen, entityTag: entityTag, of: user)
    case .unchanged:
      observe("unchanged", of: site)
      try polls.recordUnchanged(user, pace: settings.pace, prefix: settings.prefix)
      return .nothing
    case .failure(let failure):
      log.warning("Poll failed: \(failure)", metadata: ["user": "\(user.id)"])
      observe(failure)
      let record = try polls.recordFailure(failure, of: user, pace: settings.pace)
      if case .allPaused = record { return .allPaused }
      return .failed
    }
  }

  private func observe(_ outcome: String, of site: borrowing OnlineGo) {
    problemLog.tally(.polls, outcome)
    problemLog.note(.ogs, nil)
    if let date = site.date {
      problemLog.note(
        .clock, of: "online-go.com", clockProblem(.now() - date, from: "online-go.com's"))
    }
  }

  /// Only a refusal is a problem of online-go.com; the other failures affect one user.
  private func observe(_ failure: PollFailure) {
    switch failure {
    case .refused(let reason, _):
      problemLog.tally(.polls, "refused")
      problemLog.note(.ogs, "online-go.com does not answer polls: \(reason).")
    case .unreadable: problemLog.tally(.polls, "unreadable")
    case .gone: problemLog.tally(.polls, "gone")
    }
  }

  private func store(
    _ seen: SeenGames, entityTag: String?, of user: ClaimedUser
  ) throws -> PollOutcome {
    let metadata: Logger.Metadata = ["user": "\(user.id)"]
    if !seen.unreadable.isEmpty || !seen.isWhole {
      log.warning("Some games cannot be read", metadata: metadata)
    }
    let turns: Turns?
    do {
      turns = try polls.recordGames(
        seen, entityTag: entityTag, of: user, pace: settings.pace, prefix: settings.prefix)
    } catch  where !Database.isUnavailable(error) {
      // Only this user's answer is wrong, so the other users are polled.
      log.error("Turns not stored: \(error)", metadata: metadata)
      _ = try polls.recordFailure(
        .unreadable(reason: "the answer cannot be stored"), of: user, pace: settings.pace)
      return .failed
    }
    guard let turns else { return .nothing }
    if !turns.new.isEmpty {
      log.info("New turns", metadata: metadata.merging(["games": "\(turns.new.count)"]) { $1 })
    }
    return .seen(turns)
  }
}

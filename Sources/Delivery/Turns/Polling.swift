import Base
import Cryptography
import Glibc
import Logging
import Store

extension Companion {
  /// Users claimed at once: their fetches, each up to its time-out, are done before the lease ends.
  private static let claimSize = 8

  /// Polls the users that are due, one after the other and no faster than configured, until none is
  /// or `limit` has passed.
  ///
  /// Sequential on purpose: with the fetch of an errand, online-go.com never sees more than two at
  /// once from us.
  ///
  /// - Parameter deliver: called now and then, so that what was found does not wait for the end.
  package func poll(atMost limit: Duration, deliver: () throws -> Void = {}) throws {
    guard let settings = settings.polling else { return }
    let deadline = ContinuousClock.now + limit
    let gap = Duration.seconds(1) / settings.requestsPerSecond
    let forgotten = try database.forgetUnregisteredUsers()
    if forgotten > 0 { log.info("users without a device", metadata: ["forgotten": "\(forgotten)"]) }
    let site = OnlineGo(settings)
    var nextFetch = ContinuousClock.now
    while ContinuousClock.now < deadline {
      let claimID = timeOrderedUUID(milliseconds: Timestamp.now().milliseconds)
      var users = try database.claimUsers(limit: Self.claimSize, as: claimID)[...]
      if users.isEmpty { return }
      while let user = users.popFirst() {
        if stopping.isSet {
          try database.release([user] + users)
          return
        }
        usleep(useconds_t(max(0, (nextFetch - .now) / .microseconds(1))))
        nextFetch = .now + gap
        let outcome = try poll(user, at: site, entityTag: user.entityTag, by: settings)
        if case .allPaused = outcome {
          log.error("online-go.com refuses one user after the other: all polls are paused")
          try database.release(Array(users))
          return
        }
      }
      try deliver()
    }
  }

  private enum PollOutcome {
    case seen(Turns)
    /// Nothing new, or nothing recorded: the lease has passed to another poll.
    case nothing
    case failed
    case allPaused
  }

  private func poll(
    _ user: ClaimedUser, at site: borrowing OnlineGo, entityTag: String?, by settings: PollSettings,
    limits: HTTPClient.Limits = .init()
  ) throws -> PollOutcome {
    switch site.games(of: user.id, entityTag: entityTag, limits: limits) {
    case .games(let seen, let entityTag):
      return try store(seen, entityTag: entityTag, of: user, by: settings)
    case .unchanged:
      try database.recordUnchanged(user, pace: settings.pace)
      return .nothing
    case .failure(let failure):
      log.warning("poll failed: \(failure)", metadata: ["user": "\(user.id)"])
      let record = try database.record(failure, of: user, pace: settings.pace)
      if case .allPaused = record { return .allPaused }
      return .failed
    }
  }

  private func store(
    _ seen: SeenGames, entityTag: String?, of user: ClaimedUser, by settings: PollSettings
  ) throws -> PollOutcome {
    let metadata: Logger.Metadata = ["user": "\(user.id)"]
    if !seen.unreadable.isEmpty || !seen.isWhole {
      log.warning("games that cannot be read", metadata: metadata)
    }
    let turns: Turns?
    do {
      turns = try database.record(
        seen, entityTag: entityTag, of: user, pace: settings.pace, at: Timestamp.now()
      ) { new in TurnMessage(of: new, to: user.id, prefix: settings.prefix) }
    } catch  where !Database.isUnavailable(error) {
      // This user's answer alone: the others go on.
      log.error("turns not stored: \(error)", metadata: metadata)
      _ = try database.record(
        .unreadable(reason: "the answer cannot be stored"), of: user, pace: settings.pace)
      return .failed
    }
    guard let turns else { return .nothing }
    if !turns.new.isEmpty {
      log.info("new turns", metadata: metadata.merging(["games": "\(turns.new.count)"]) { $1 })
    }
    return .seen(turns)
  }

  /// Does the errand of `/check/:user_id`: what a poll does, at once.
  ///
  /// - Returns: JSON: three arrays of game ids, or an `error`.
  func turnCheck(_ errand: Errand) throws -> [UInt8] {
    guard let settings = settings.polling,
      // Whatever else it is, the answer is the same.
      let userID = try? JSONScanner.userID(ofErrand: errand.request),
      let turns = try check(userID, by: settings)
    else {
      return JSONWriter.object { json in json.member("error", "Failed to fetch turn status") }
    }
    return JSONWriter.object { json in
      json.member("not_your_turn", ids: turns.notYours)
      json.member("your_turn_new", ids: turns.new)
      json.member("your_turn_old", ids: turns.old)
    }
  }

  /// The turns of a user now; nil where online-go.com does not tell, or must not be asked.
  private func check(_ userID: Int64, by settings: PollSettings) throws -> Turns? {
    // Less than the request waits, so that it gets this answer and no time-out.
    let limits = HTTPClient.Limits(connecting: .seconds(5), total: .seconds(7))
    let patience = ContinuousClock.now + .seconds(2)
    let site = OnlineGo(settings)
    while true {
      let claimID = timeOrderedUUID(milliseconds: Timestamp.now().milliseconds)
      switch try database.claimUser(userID, as: claimID) {
      case .claimed(let user):
        // The whole answer, not 304: it is what is asked for.
        let outcome = try poll(user, at: site, entityTag: nil, by: settings, limits: limits)
        if case .seen(let turns) = outcome { return turns }
        return nil
      case .unregistered:
        // Nothing is kept: what a device that registers later finds is new then.
        guard case .games(let seen, _) = site.games(of: userID, limits: limits) else { return nil }
        return Turns(in: seen.games, of: userID) { _ in 0 }
      case .paused: return nil
      case .busy:
        guard ContinuousClock.now < patience else { return nil }
        usleep(50_000)
      }
    }
  }
}

extension JSONScanner {
  /// The `user_id` of an errand.
  fileprivate static func userID(ofErrand request: [UInt8]) throws(JSONError) -> Int64 {
    let found = try request.withUnsafeBufferPointer { bytes throws(JSONError) -> Int64? in
      var scanner = JSONScanner(bytes)
      var userID: Int64?
      _ = try scanner.object { errand, name throws(JSONError) in
        if name == "user_id" { userID = try errand.integer() } else { try errand.skip() }
      }
      return userID
    }
    guard let found else { throw .malformed }
    return found
  }
}

extension JSONWriter {
  fileprivate mutating func member(_ name: StaticString, ids games: [TurnGame]) {
    member(
      name,
      array: { array in
        for game in games { array.integer(game.id) }
      })
  }
}

import Base
import Glibc
import Store

/// Does the job of `/check/:user_id`: what a poll does, at once.
struct TurnChecks: Sendable {
  let database: Database
  /// nil where online-go.com is not polled.
  let polling: TurnPolling?

  var handler: JobHandler {
    JobHandler(kind: .turnCheck) { job in
      let result = try result(of: job.request)
      return try database.records(at: .now(), from: .companion).jobs.finish(job, with: result)
    }
  }

  /// - Returns: JSON: three arrays of game ids, or an `error`.
  func result(of request: [UInt8]) throws -> [UInt8] {
    guard let polling, let userID = Self.userID(in: request),
      let turns = try check(userID, by: polling)
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
  private func check(_ userID: Int64, by polling: TurnPolling) throws -> Turns? {
    // Less than the request waits, so that it gets this answer and no time-out.
    let limits = HTTPClient.Limits(connecting: .seconds(5), total: .seconds(7))
    let waitLimit = ContinuousClock.now + .seconds(2)
    let site = OnlineGo(polling.settings)
    let perMinute = Int64(polling.settings.requestsPerSecond) * 60
    // The responder counts too; but what it writes is not trusted.
    let isAdmitted = try database.records(at: .now(), from: .companion).polls
      .admitCheck(of: userID, siteLimit: perMinute)
    guard isAdmitted else { return nil }
    while true {
      let polls = database.records(at: .now(), from: .companion).polls
      switch try polls.claim(userID, as: newClaimID()) {
      case .claimed(let user):
        // The whole answer, not 304: it is what is asked for.
        let outcome = try polling.pollUser(user, at: site, entityTag: nil, limits: limits)
        if case .seen(let turns) = outcome { return turns }
        return nil
      case .unregistered:
        // Nothing is kept: what a device that registers later finds is new then.
        guard case .games(let seen, _) = site.fetchGames(of: userID, limits: limits) else {
          return nil
        }
        return Turns(in: seen.games, of: userID) { _ in 0 }
      case .paused: return nil
      case .busy:
        guard ContinuousClock.now < waitLimit else { return nil }
        usleep(50_000)
      }
    }
  }

  /// The `user_id` of a request; nil in one that has none.
  private static func userID(in request: [UInt8]) -> Int64? {
    var userID: Int64?
    var reader = JSONReader(request)
    do {
      try reader.object { name, value in
        if name == "user_id" { userID = try value.integer() } else { try value.skip() }
      }
    } catch {
      return nil  // whatever is wrong with it, the answer is the same
    }
    return userID
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

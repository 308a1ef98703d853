import Base
import Store

/// Does the job of `/check/:user_id`: an immediate poll.
struct TurnChecks: Sendable {
  let database: Database
  /// nil if online-go.com is not polled.
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

  /// The current turns of a user; nil if online-go.com does not answer or must not be asked.
  private func check(_ userID: Int64, by polling: TurnPolling) throws -> Turns? {
    // Shorter than the request waits, so that the client gets this answer instead of a timeout.
    let limits = HTTPClient.Limits(connecting: .seconds(5), total: .seconds(7))
    let waitLimit = polling.clock.now() + .seconds(2)
    let site = OnlineGo(polling.settings, polling.clock)
    let perMinute = Int64(polling.settings.requestsPerSecond) * 60
    // Counted here although the responder counts too, because its rows are not trusted.
    let isAdmitted = try database.records(at: .now(), from: .companion).polls
      .admitCheck(of: userID, siteLimit: perMinute)
    guard isAdmitted else { return nil }
    while true {
      let polls = database.records(at: .now(), from: .companion).polls
      switch try polls.claim(userID, as: newClaimID()) {
      case .claimed(let user):
        // Without an entity tag, because the client needs the whole answer, not 304.
        let outcome = try polling.pollUser(user, at: site, entityTag: nil, limits: limits)
        if case .seen(let turns) = outcome { return turns }
        return nil
      case .unregistered:
        // Nothing is stored, so that the turns are new for a device that registers later.
        guard case .games(let seen, _) = site.fetchGames(of: userID, limits: limits) else {
          return nil
        }
        return Turns(in: seen.games, of: userID) { _ in 0 }
      case .paused: return nil
      case .busy:
        guard polling.clock.now() < waitLimit else { return nil }
        polling.clock.sleep(.milliseconds(50))
      }
    }
  }

  /// The `user_id` of a request; nil if it has none.
  private static func userID(in request: [UInt8]) -> Int64? {
    var userID: Int64?
    var reader = JSONReader(request)
    do {
      try reader.object { name, value in
        if name == "user_id" { userID = try value.integer() } else { try value.skip() }
      }
    } catch {
      return nil  // every malformed request gets the same answer
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

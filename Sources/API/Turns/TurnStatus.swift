import Base
import HTTP
import Store

/// `GET /check/:user_id`: has the companion poll online-go.com now, and returns the result. If it may not poll now, for
/// example because of limits, returns the last poll, unless it is older than the longest poll interval.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``;
///   ``Failure/tooManyRequests(retryAfter:)``; ``Failure/checkFailed``; errors of ``Context/run(_:_:for:of:)``.
func checkTurns(_ request: Request, in context: borrowing Context) throws -> Response {
  struct CheckResult: Decodable {
    let error: String?
  }
  let userID = try context.authenticatedUser(of: request)
  try context.records.turnUsers.countCheck(of: userID)
  let result = try context.run(
    .turnCheck, JSONWriter.object { json in json.member("user_id", userID) }, for: "\(userID)")
  guard try decode(CheckResult.self, from: result).error != nil else {
    return Response(
      status: 200, fields: [("Content-Type", "application/json")], body: result)
  }
  return try context.lastTurns(of: userID)
}

extension Context {
  /// - Throws: ``Failure/checkFailed``.
  fileprivate func lastTurns(of userID: Int64) throws -> Response {
    let longest = PollPace(interval: settings.checkInterval).longestInterval
    let poll = try records.turnUsers.lastPoll(of: userID, within: longest)
    guard let turns = poll?.turns else {
      let cause = poll?.failure.map { "the last poll failed: \($0)" }
      throw Failure.checkFailed.because(
        cause ?? "no poll now: polls are limited or paused, or online-go.com does not answer"
      )
    }
    return .json { json in
      json.member("not_your_turn", ids: turns.notYours)
      json.member("your_turn_new", ids: turns.new)
      json.member("your_turn_old", ids: turns.old)
    }
  }
}

/// `GET /diagnostics/:user_id`: returns the stored data about the user's devices, games and last poll.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
func getDiagnostics(_ request: Request, in context: borrowing Context) throws -> Response {
  let userID = try context.authenticatedUser(of: request)
  let diagnostics = try context.records.turnUsers.diagnostics(of: userID)
  let interval = context.settings.checkInterval.components.seconds
  return .json { json in
    json.member("user_id", String(userID))
    json.member("device_token_registered", diagnostics.deviceToken != nil)
    if let token = diagnostics.deviceToken {
      json.member("device_token_preview", String(token.prefix(16)) + "...")
    }
    json.member("last_notification_time", diagnostics.lastNotifiedAt?.milliseconds ?? 0)
    json.member(
      "monitored_games",
      array: { array in
        for game in diagnostics.games { array.object { $0.members(of: game, for: userID) } }
      })
    json.member("total_active_games", Int64(diagnostics.games.count))
    json.member("server_check_interval", "\(interval)s")
    json.member("last_server_check_time", diagnostics.lastCheckAt?.seconds ?? 0)
    if let interval = diagnostics.interval {
      json.member("user_check_interval", "\(interval.components.seconds)s")
    }
    json.member("notifications_queued", diagnostics.queued)
    json.member("notifications_sent", diagnostics.sent)
    json.member("notifications_failed", diagnostics.failed)
  }
}

/// `DELETE /users/:user_id`: deletes all data of the user: devices, games, notifications and API keys, also the key
/// of the request.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
func deleteTurnUser(_ request: Request, in context: borrowing Context) throws -> Response {
  let userID = try context.authenticatedUser(of: request)
  guard try context.records.turnUsers.delete(userID) else {
    throw Failure.unauthorized("Invalid API key")
  }
  return .json { json in json.member("status", "deleted") }
}

extension JSONWriter {
  fileprivate mutating func member(_ name: StaticString, ids games: [TurnGame]) {
    member(name, array: { array in for game in games { array.integer(game.id) } })
  }

  fileprivate mutating func members(of game: TurnGame, for userID: Int64) {
    member("game_id", game.id)
    member("last_move_timestamp", game.lastMove)
    member("current_player", game.currentPlayer)
    member("is_your_turn", game.isTurn(of: userID))
    member("game_name", game.name)
  }
}

extension Failure {
  fileprivate static let checkFailed = Failure(status: 500, message: "Failed to fetch turn status")
}

extension Endpoint {
  static var checkTurns: Endpoint {
    Endpoint(API.checkTurns) {
      Operation(
        "Has the companion poll online-go.com now, and returns the result, or that of the last poll.",
        .apiKey, item: .turnUser,
        answers: .json([
          "not_your_turn": .array(of: .integer), "your_turn_new": .array(of: .integer),
          "your_turn_old": .array(of: .integer),
        ]), errors: [.foreignKey, .checkFailed, .busy, .overdue], limits: [.turnChecks])
    }
  }

  static var getDiagnostics: Endpoint {
    Endpoint(API.getDiagnostics) {
      Operation(
        "Returns the stored data about the user's devices, games and last poll.", .apiKey,
        item: .turnUser,
        answers: .json([
          "user_id": .string, "device_token_registered": .boolean, "device_token_preview?": .string,
          "last_notification_time": .integer,
          "monitored_games": .array(of: [
            "game_id": .integer, "last_move_timestamp": .integer, "current_player": .integer,
            "is_your_turn": .boolean, "game_name": .string,
          ]), "total_active_games": .integer, "server_check_interval": .string,
          "last_server_check_time": .integer, "user_check_interval?": .string,
          "notifications_queued": .integer, "notifications_sent": .integer,
          "notifications_failed": .integer,
        ]), errors: [.foreignKey])
    }
  }

  static var deleteTurnUser: Endpoint {
    Endpoint(API.deleteTurnUser) {
      Operation(
        "Deletes all data of the user, also the key of the request.", .apiKey, item: .turnUser,
        answers: .status("deleted"), errors: [.foreignKey])
    }
  }
}

import Base
import Cryptography
import HTTP
import Store

/// `POST /generate-api-key`: a key for one user of online-go.com, against the master key.
///
/// - Throws: ``Failure/keysAreNotIssued``; ``Failure/badRequest(_:)``;
///   ``Failure/unauthorized(_:)`` before anything is said of the user;
///   ``Failure/tooManyRequests(retryAfter:)``.
func generateAPIKey(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let userID: GivenUserID?
    let masterKey: String?
    let description: String?

    private enum CodingKeys: String, CodingKey {
      case userID = "user_id"
      case masterKey = "master_key"
      case description
    }
  }
  guard let masterKeyHash = context.settings.masterKeyHash else { throw Failure.keysAreNotIssued }
  let body = try request.decode(Body.self, orSay: "Invalid request")
  let isRight = isEqualInConstantTime(sha256(body.masterKey ?? ""), masterKeyHash)
  try context.database.countMasterKeyTry(isRight: isRight, from: context.origin, at: context.now)
  guard isRight else { throw Failure.unauthorized("Invalid master key") }
  guard let given = body.userID, !given.isEmpty else {
    throw Failure.badRequest("user_id is required")
  }
  let userID = try given.userID
  let description = try keyDescription(body.description)
  let key = hexEncoded(context.random(32))
  try context.database.issue(
    NewAPIKey(
      hash: sha256(key), prefix: String(key.prefix(8)), userID: userID, description: description),
    from: context.origin, at: context.now)
  return .json { json in
    json.member("api_key", key)
    json.member("user_id", String(userID))
    json.member("created_at", context.now.rfc3339)
    json.member("description", description)
  }
}

/// `POST /register`: registers a device for the turns of the key's user.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``;
///   ``Failure/tooManyRequests(retryAfter:)``.
func registerForTurns(_ request: Request, in context: borrowing Context) throws -> Response {
  let keyUser = try context.userOfAPIKey(request)
  let body = try request.decode(Registration.self, orSay: "Invalid JSON")
  guard let user = body.userID, !user.isEmpty, let token = body.deviceToken?.trimmed,
    !token.isEmpty
  else { throw Failure.badRequest("user_id and device_token are required") }
  try context.database.register(
    try deviceToken(token), of: try user.owned(by: keyUser), from: context.origin, at: context.now)
  return .json { json in json.member("status", "registered") }
}

/// `DELETE /register`: takes a device from the turns of the key's user, registered or not.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
func unregisterFromTurns(_ request: Request, in context: borrowing Context) throws -> Response {
  let keyUser = try context.userOfAPIKey(request)
  let body = try request.decode(Registration.self, orSay: "Invalid JSON")
  guard let token = body.deviceToken?.trimmed, !token.isEmpty else {
    throw Failure.badRequest("device_token is required")
  }
  if let user = body.userID, !user.isEmpty { _ = try user.owned(by: keyUser) }
  try context.database.unregister(
    try deviceToken(token), of: keyUser, from: context.origin, at: context.now)
  return .json { json in json.member("status", "unregistered") }
}

/// `GET /check/:user_id`: has the companion poll online-go.com now, and answers what it saw.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``;
///   ``Failure/tooManyRequests(retryAfter:)``; ``Failure/checkFailed``; what
///   ``Context/run(_:_:)`` throws.
func checkTurns(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Result: Decodable {
    let error: String?
  }
  let userID = try context.authenticatedUser(of: request)
  try context.database.countCheck(of: userID, at: context.now)
  let result = try context.run(
    .turnCheck, JSONWriter.object { json in json.member("user_id", userID) })
  guard try decode(Result.self, from: result).error == nil else { throw Failure.checkFailed }
  return Response(
    status: 200, fields: [("Content-Type", "application/json")], body: result)
}

/// `GET /diagnostics/:user_id`: what MariaDB knows of the user's devices, games and last poll.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
func getDiagnostics(_ request: Request, in context: borrowing Context) throws -> Response {
  let userID = try context.authenticatedUser(of: request)
  let diagnostics = try context.database.diagnostics(ofTurnsOf: userID)
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
  }
}

/// `GET /users-by-token/:device_token`: the users whose turns a device is told, if the key's user is
/// one of them; else none.
///
/// - Throws: ``Failure/unauthorized(_:)``.
func getUsersByToken(_ request: Request, in context: borrowing Context) throws -> Response {
  let keyUser = try context.userOfAPIKey(request)
  let token = DeviceToken(context.pathItem)
  let users = try token.map { try context.database.users(ofDevice: $0, askedBy: keyUser) } ?? []
  return .json { json in
    json.member("device_token", token?.text ?? DeviceToken.normalized(context.pathItem))
    json.member(
      "user_ids",
      array: { array in
        for user in users { array.string(String(user)) }
      })
  }
}

extension Context {
  /// The user that the request's `X-API-Key` was issued for.
  ///
  /// - Throws: ``Failure/unauthorized(_:)``.
  fileprivate func userOfAPIKey(_ request: Request) throws -> Int64 {
    guard let key = request.field("X-API-Key")?.trimmed, !key.isEmpty else {
      throw Failure.unauthorized("API key required")
    }
    guard let user = try database.user(ofAPIKey: sha256(key)) else {
      throw Failure.unauthorized("Invalid API key")
    }
    return user
  }

  /// The user in the path, if the request's key is theirs.
  ///
  /// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
  fileprivate func authenticatedUser(of request: Request) throws -> Int64 {
    let keyUser = try userOfAPIKey(request)
    return try GivenUserID(text: pathItem).owned(by: keyUser)
  }
}

private struct Registration: Decodable {
  let userID: GivenUserID?
  let deviceToken: String?

  private enum CodingKeys: String, CodingKey {
    case userID = "user_id"
    case deviceToken = "device_token"
  }
}

/// An id of online-go.com as a client wrote it: in JSON a string or a number.
private struct GivenUserID: Decodable {
  private let text: String

  init(text: String) { self.text = text.trimmed }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // What it is not is tried, for want of another way to ask a decoder for a type.
    if let text = try? container.decode(String.self) {
      self.init(text: text)
    } else if let number = try? container.decode(Int64.self) {
      self.init(text: String(number))  // a Double would round ids above 2^53
    } else {
      self.init(text: String(try WholeNumber(from: decoder).value))
    }
  }

  var isEmpty: Bool { text.isEmpty }

  /// - Throws: ``Failure/badRequest(_:)`` unless it is a positive integer.
  var userID: Int64 {
    get throws {
      guard let first = text.utf8.first, first != UInt8(ascii: "+"), let value = Int64(text),
        value > 0
      else { throw Failure.badRequest("Invalid user ID") }
      return value
    }
  }

  /// - Throws: ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
  func owned(by keyUser: Int64) throws -> Int64 {
    guard try userID == keyUser else { throw Failure.foreignKey }
    return keyUser
  }
}

/// - Throws: ``Failure/badRequest(_:)``.
private func deviceToken(_ text: String) throws -> DeviceToken {
  guard let token = DeviceToken(text) else { throw Failure.badRequest("Invalid device token") }
  return token
}

/// - Throws: ``Failure/badRequest(_:)``: at most 200 characters, none of them a control.
private func keyDescription(_ given: String?) throws -> String {
  guard let text = given?.trimmed, !text.isEmpty else { return "iOS App API Key" }
  guard text.unicodeScalars.count <= 200, !text.hasControls else {
    throw Failure.badRequest("Invalid description")
  }
  return text
}

extension JSONWriter {
  fileprivate mutating func members(of game: TurnGame, for userID: Int64) {
    member("game_id", game.id)
    member("last_move_timestamp", game.lastMove)
    member("current_player", game.currentPlayer)
    member("is_your_turn", game.isTurn(of: userID))
    member("game_name", game.name)
  }
}

extension Failure {
  fileprivate static let keysAreNotIssued = Failure(
    status: 503, message: "API keys are not issued here: there is no master key")

  fileprivate static let foreignKey = Failure.forbidden("API key does not belong to this user")

  fileprivate static let checkFailed = Failure(status: 500, message: "Failed to fetch turn status")
}

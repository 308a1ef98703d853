import Base
import Cryptography
import HTTP
import Store

/// `POST /generate-api-key`: issues a key for one user of online-go.com. Requires the master key.
///
/// - Throws: ``Failure/keysAreNotIssued``; ``Failure/badRequest(_:)``;
///   ``Failure/unauthorized(_:)``, before it checks the user; ``Failure/tooManyRequests(retryAfter:)``.
func generateAPIKey(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let masterKeyHash = context.settings.masterKeyHash else { throw Failure.keysAreNotIssued }
  let body = try request.decode(KeyRequest.self, orSay: "Invalid request")
  let isRight = isEqualInConstantTime(sha256(body.masterKey ?? ""), masterKeyHash)
  try context.records.apiKeys.countMasterKeyTry(isRight: isRight)
  guard isRight else { throw Failure.unauthorized("Invalid master key") }
  guard let given = body.userID, !given.isEmpty else {
    throw Failure.badRequest("user_id is required")
  }
  let userID = try given.userID
  let described = try keyDescription(body.description)
  let key = hexEncoded(context.random(32))
  try context.records.apiKeys.issue(
    NewAPIKey(
      hash: sha256(key), prefix: String(key.prefix(8)), userID: userID,
      description: described ?? commonDescription),
    replacesEarlier: described != nil && described != commonDescription)
  return .json { json in
    json.members(
      ofKey: key, of: userID, madeAt: context.now, description: described ?? commonDescription)
  }
}

/// `POST /users/:user_id/api-key`: issues a new key and revokes the key of the request.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
func rotateAPIKey(_ request: Request, in context: borrowing Context) throws -> Response {
  let userID = try context.authenticatedUser(of: request)
  let key = hexEncoded(context.random(32))
  let description = try context.records.apiKeys.replace(
    try context.hashOfAPIKey(request), to: sha256(key), prefix: String(key.prefix(8)), of: userID)
  guard let description else { throw Failure.unauthorized("Invalid API key") }
  return .json { json in
    json.members(ofKey: key, of: userID, madeAt: context.now, description: description)
  }
}

/// `DELETE /users/:user_id/api-key`: revokes the key of the request.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
func revokeAPIKey(_ request: Request, in context: borrowing Context) throws -> Response {
  let userID = try context.authenticatedUser(of: request)
  guard try context.records.apiKeys.revoke(try context.hashOfAPIKey(request), of: userID) else {
    throw Failure.unauthorized("Invalid API key")
  }
  return .json { json in json.member("status", "revoked") }
}

extension JSONWriter {
  fileprivate mutating func members(
    ofKey key: String, of userID: Int64, madeAt now: Timestamp, description: String
  ) {
    member("api_key", key)
    member("user_id", String(userID))
    member("created_at", now.rfc3339)
    member("description", description)
  }
}

private struct KeyRequest: Decodable {
  let userID: GivenUserID?
  let masterKey: String?
  let description: String?

  private enum CodingKeys: String, CodingKey {
    case userID = "user_id"
    case masterKey = "master_key"
    case description
  }
}

/// The description from apps that do not describe the phone. It names no phone, so a new key with it replaces no other.
private let commonDescription = "iOS App API Key"

/// - Throws: ``Failure/badRequest(_:)`` for more than 200 characters or a control character.
private func keyDescription(_ given: String?) throws -> String? {
  guard let text = given?.trimmed, text.isVisible else { return nil }
  guard text.unicodeScalars.count <= 200, !text.hasControls else {
    throw Failure.badRequest("Invalid description")
  }
  return text
}

extension Context {
  /// The user that the request's `X-API-Key` was issued for.
  ///
  /// - Throws: ``Failure/unauthorized(_:)``.
  func userOfAPIKey(_ request: Request) throws -> Int64 {
    let interval = settings.checkInterval
    let user = try records.apiKeys.user(ofKey: try hashOfAPIKey(request), notedEach: interval)
    guard let user else { throw Failure.unauthorized("Invalid API key") }
    if user.isNoteDue { try records.turnUsers.noteRequest(of: user.id, interval: interval) }
    return user.id
  }

  /// SHA-256 of the request's `X-API-Key`.
  ///
  /// - Throws: ``Failure/unauthorized(_:)``; ``Failure/repeatedField(_:)``.
  func hashOfAPIKey(_ request: Request) throws -> [UInt8] {
    guard let key = try request.credentialField("X-API-Key")?.trimmed, !key.isEmpty else {
      throw Failure.unauthorized("API key required")
    }
    return sha256(key)
  }

  /// The user in the path, if the request's key belongs to this user.
  ///
  /// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
  func authenticatedUser(of request: Request) throws -> Int64 {
    let keyUser = try userOfAPIKey(request)
    return try GivenUserID(text: pathItem).owned(by: keyUser)
  }
}

extension Failure {
  fileprivate static let keysAreNotIssued = Failure(
    status: 503, message: "API keys are not issued here: there is no master key")
}

extension Endpoint {
  static var generateAPIKey: Endpoint {
    Endpoint(API.generateAPIKey) {
      Operation(
        "Issues a key for one user of online-go.com. Requires the master key.",
        body: .json(KeyRequest.self), answers: .json(.apiKey),
        errors: [
          .keysAreNotIssued, .unauthorized("Invalid master key"),
          .badRequest("user_id is required"),
        ], limits: [.masterKeyTries])
    }
  }

  static var rotateAPIKey: Endpoint {
    Endpoint(API.rotateAPIKey) {
      Operation(
        "Issues a new key and revokes the key of the request.", .apiKey, item: .turnUser,
        answers: .json(.apiKey), errors: [.foreignKey])
    }
  }

  static var revokeAPIKey: Endpoint {
    Endpoint(API.revokeAPIKey) {
      Operation(
        "Revokes the key of the request.", .apiKey, item: .turnUser,
        answers: .status("revoked"), errors: [.foreignKey])
    }
  }
}

extension Access {
  /// The key of a user of online-go.com.
  static let apiKey = Access(
    alternatives: [[.apiKey]],
    errors: [.unauthorized("API key required"), .unauthorized("Invalid API key")])
}

extension Operation.Item {
  static let turnUser = Self("The user at online-go.com. The key must be of this user.", .integer)
}

extension Operation.Answer {
  static func status(_ word: String) -> Self { .json(["status": .words([word])]) }
}

extension Schema {
  fileprivate static let apiKey: Schema = [
    "api_key": .string, "user_id": .string, "created_at": .time, "description": .string,
  ]
}

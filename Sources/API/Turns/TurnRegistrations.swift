import Base
import HTTP
import Store

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
  let isAdded = try context.records.turnRegistrations.add(
    try deviceToken(token), of: try user.owned(by: keyUser),
    by: try context.hashOfAPIKey(request))
  guard isAdded else { throw Failure.unauthorized("Invalid API key") }
  return .json { json in json.member("status", "registered") }
}

/// `DELETE /register`: removes a device from the turns of the key's user, whether it was registered
/// or not.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
func unregisterFromTurns(_ request: Request, in context: borrowing Context) throws -> Response {
  let keyUser = try context.userOfAPIKey(request)
  let body = try request.decode(Registration.self, orSay: "Invalid JSON")
  guard let token = body.deviceToken?.trimmed, !token.isEmpty else {
    throw Failure.badRequest("device_token is required")
  }
  if let user = body.userID, !user.isEmpty { _ = try user.owned(by: keyUser) }
  try context.records.turnRegistrations.remove(try deviceToken(token), of: keyUser)
  return .json { json in json.member("status", "unregistered") }
}

/// `GET /users-by-token/:device_token`: the users whose turns a device is told, if the key's user is
/// among them; else none.
///
/// - Throws: ``Failure/unauthorized(_:)``.
func getUsersByToken(_ request: Request, in context: borrowing Context) throws -> Response {
  let keyUser = try context.userOfAPIKey(request)
  let token = DeviceToken(context.pathItem)
  let registrations = context.records.turnRegistrations
  let users = try token.map { try registrations.users(ofDevice: $0, askedBy: keyUser) } ?? []
  return .json { json in
    json.member("device_token", token?.text ?? DeviceToken.normalized(context.pathItem))
    json.member(
      "user_ids",
      array: { array in
        for user in users { array.string(String(user)) }
      })
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

/// - Throws: ``Failure/badRequest(_:)``.
private func deviceToken(_ text: String) throws -> DeviceToken {
  guard let token = DeviceToken(text) else { throw Failure.badRequest("Invalid device token") }
  return token
}

import Base
import HTTP
import Store

/// `POST /api/push/register`: adds a push token to the signed-in device, and takes it from its previous
/// owner.
///
/// - Throws: ``Failure/badRequest(_:)``.
func addPushToken(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticateByName(request)
  let body = try context.pushBody(of: request, from: caller, PushRegistration.init)
  try context.records.pushTokens.register(body.token, platform: body.platform, by: caller)
  return .json { json in
    json.member("success", true)
    json.member("token", body.token.text)
    json.member("platform", body.platform.rawValue)
  }
}

/// `POST /api/push/unregister`: removes one push token of the account, or all without a `token`.
///
/// - Throws: ``Failure/badRequest(_:)``.
func removePushTokens(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticateByName(request)
  let token = try context.pushBody(of: request, from: caller) { try $0.pushToken() }
  let removed = try context.records.pushTokens.unregister(token, by: caller)
  let isLookup = token == nil && removed.tokens > 0
  return .json { json in
    json.member("success", true)
    json.member("removed", Int64(removed.tokens))
    json.member("metadataRemoved", Int64(removed.tokens))
    json.member("invalidStoredTokensRemoved", Int64(removed.malformed))
    json.member("skippedNonStringTokenCount", 0)
    json.member(
      "pushMetadataLookupConcurrency",
      isLookup ? Int64(context.settings.pushLookupConcurrency) : 0)
    json.member("removedUserTokenSet", isLookup ? 1 : 0)
  }
}

extension Context {
  /// The bearer of the access token. `X-Username` must name the account too.
  ///
  /// - Throws: ``Failure/noCredentials``; ``Failure/invalidToken``.
  func authenticateByName(_ request: Request) throws -> Caller {
    guard let username = request.firstValue("X-Username") else { throw Failure.noCredentials }
    var caller = try authenticate(request)
    caller.username = username.lowercased()
    return caller
  }

  /// The result of `read` for the body. If the body is invalid, checks the caller first, so that an unauthorized
  /// caller learns nothing about the body.
  ///
  /// - Throws: ``Failure/badRequest(_:)``; `Refusal`.
  func pushBody<Body>(
    of request: Request, from caller: Caller, _ read: (PushMembers) throws -> Body
  ) throws -> Body {
    do {
      return try read(PushMembers(request))
    } catch {
      try records.sessions.admit(caller)
      throw error
    }
  }
}

extension Endpoint {
  static var addPushToken: Endpoint {
    Endpoint(API.addPushToken) {
      Operation.push(
        "Adds a push token to the signed-in device, and takes it from its previous owner.",
        body: PushRegistration.schema,
        answer: .json(["success": .boolean, "token": .string, "platform": .string]),
        limits: [.pushTokens])
    }
  }

  static var removePushTokens: Endpoint {
    Endpoint(API.removePushTokens) {
      Operation.push(
        "Removes one push token of the account, or all without a `token`.",
        body: ["token?": PushToken.schema],
        answer: .json([
          "success": .boolean, "removed": .integer, "metadataRemoved": .integer,
          "invalidStoredTokensRemoved": .integer, "skippedNonStringTokenCount": .integer,
          "pushMetadataLookupConcurrency": .integer, "removedUserTokenSet": .integer,
        ]))
    }
  }
}

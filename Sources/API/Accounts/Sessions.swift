import HTTP
import Store

/// `POST /api/mobile/auth/token/refresh`: returns the next pair of tokens. Calls at once get the same pair;
/// a later call, whose answer was lost, gets another pair.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/conflict(_:code:)`` just after another call
///   has refreshed; ``Failure/accountBanned``; ``Failure/tooManyRequests(retryAfter:)``;
///   ``Failure/invalidDeviceCredential``.
func refreshTokens(_ request: Request, in context: borrowing Context) throws -> Response {
  let body = try request.decode(RefreshBody.self)
  var outcome = RefreshOutcome.dead
  if let claims = context.refreshClaims(of: body.refreshToken) {
    outcome = try context.records.sessions.refresh(
      claims.sid, at: claims.place, credentialHash: request.deviceCredentialHash)
  }
  switch outcome {
  case .refreshed(let session):
    return .json { json in context.write(tokensOf: session, into: &json) }
  case .tooLate:
    throw Failure.conflict(\.refreshedElsewhere)
  case .dead:
    try context.records.sessions.countDeadRefresh()
    throw Failure.unauthorized(\.invalidRefreshToken)
  case .reused:
    throw Failure.unauthorized(\.invalidRefreshToken)
  }
}

private struct RefreshBody: Decodable {
  let refreshToken: String
}

/// `POST /api/mobile/auth/logout`: ends the sessions of the device. `revokeAll` ends all sessions of the
/// account; `authenticators` also removes its passkeys and keys. Both flags are `true` or `false`, in the
/// query or in the body.
///
/// - Throws: ``Failure/validation``.
func logOut(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let extent = try LogoutExtent(request)
  try context.records.sessions.logOut(caller, extent)
  return .json { json in json.member("success", true) }
}

private struct LogoutBody: Decodable {
  let revokeAll: Bool?
  let authenticators: Bool?
}

extension LogoutExtent {
  /// - Throws: ``Failure/validation`` for a malformed flag, which must not count as
  ///   false, and for `authenticators` without `revokeAll`.
  fileprivate init(_ request: Request) throws {
    let body = request.body.isEmpty ? nil : try request.decode(LogoutBody.self)
    let everywhere = try request.flag("revokeAll") ?? body?.revokeAll ?? false
    let authenticators = try request.flag("authenticators") ?? body?.authenticators ?? false
    guard everywhere || !authenticators else {
      throw Failure.validation(field: "authenticators", reason: "needs_revokeAll")
    }
    self = authenticators ? .accountAndAuthenticators : everywhere ? .account : .device
  }
}

extension Request {
  /// A flag of the query.
  fileprivate func flag(_ name: String) throws -> Bool? {
    switch queryItem(name) {
    case nil: nil
    case "true": true
    case "false": false
    default: throw Failure.validation(field: name, reason: "not_true_or_false")
    }
  }
}

extension Endpoint {
  static var refreshTokens: Endpoint {
    Endpoint(API.refreshTokens) {
      Operation(
        """
        Returns the next pair of tokens. Calls with the same token within ten seconds, from the same network, get the same \
        pair. After a lost answer, the same token gets another pair, and no earlier one works any more. Once the new access \
        token has been used, the answer is 409 for a minute; after that the session ends.
        """, .device, body: .json(RefreshBody.self), answers: .json(.tokens),
        errors: [
          .unauthorized(\.invalidRefreshToken), .conflict(\.refreshedElsewhere), .accountBanned,
        ], limits: [.rotations, .deadRefreshes])
    }
  }

  static var logOut: Endpoint {
    Endpoint(API.logOut) {
      Operation(
        """
        Ends the sessions of the device. `revokeAll` ends all sessions of the account; `authenticators` also removes its passkeys \
        and keys. Both may be in the query or in the body.
        """, .bearer,
        query: ["revokeAll", "authenticators"].map {
          .init($0, "A flag.", .words(["true", "false"]))
        }, body: .json(LogoutBody.self, isRequired: false), answers: .success,
        errors: [.freshProofRequired])
    }
  }
}

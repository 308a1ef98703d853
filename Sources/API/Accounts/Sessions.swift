import HTTP
import Store

/// `POST /api/mobile/auth/token/refresh`: the next pair of tokens, or the same again where the
/// answer was lost.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/conflict(_:code:)`` just after another call
///   has refreshed; ``Failure/tooManyRequests(retryAfter:)``.
func refreshTokens(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let refreshToken: String
  }
  let body = try request.decode(Body.self)
  var outcome = RefreshOutcome.dead
  if let claims = context.refreshClaims(of: body.refreshToken) {
    outcome = try context.records.sessions.refresh(claims.sid, generation: claims.gen)
  }
  switch outcome {
  case .refreshed(let session):
    return .json { json in context.write(tokensOf: session, into: &json) }
  case .tooLate:
    throw Failure.conflict("The token has just been refreshed by another request")
  case .dead:
    try context.records.sessions.countDeadRefresh()
    throw Failure.unauthorized("Invalid or expired refresh token")
  case .reused:
    throw Failure.unauthorized("Invalid or expired refresh token")
  }
}

/// `POST /api/mobile/auth/logout`: ends the sessions of the device, with `?revokeAll=true` of the
/// account.
func logOut(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let everywhere = request.queryItem("revokeAll") == "true"
  try context.records.sessions.logOut(caller, everywhere: everywhere)
  return .json { json in json.member("success", true) }
}

import Base
import Cryptography
import HTTP
import Store

/// Of an access token.
private let accessLifetime = Duration.seconds(3600)

extension Context {
  /// Writes the tokens of a session: `accessToken`, `refreshToken`, `expiresIn` (seconds).
  ///
  /// The refresh token is made of nothing but the session's row and our keys, so that the same one
  /// can be made again.
  func write(tokensOf session: Session, into json: inout JSONWriter) {
    json.member("accessToken", accessToken(of: session))
    json.member("refreshToken", refreshToken(of: session))
    json.member("expiresIn", accessLifetime.components.seconds)
  }

  private func accessToken(of session: Session) -> String {
    let claims = JSONWriter.object { json in
      json.member("sub", session.accountID)
      json.member("iss", settings.publicURL)
      json.member("aud", "mwsim")
      json.member("iat", now.seconds)
      json.member("exp", (now + accessLifetime).seconds)
      json.member("deviceId", session.clientDeviceID)
      json.member("type", "access")
      json.member("sid", session.id)
      json.member("gen", session.generation)
    }
    return JSONWebToken.sign(claims, with: settings.jwtKeys.newest)
  }

  private func refreshToken(of session: Session) -> String {
    let claims = JSONWriter.object { json in
      json.member("sub", session.accountID)
      json.member("jti", Self.refreshID(session.id, session.generation, settings.hmacKeys.newest))
      json.member("iat", session.rotatedAt.seconds)
      json.member("exp", session.expiresAt.seconds)
      json.member("deviceId", session.clientDeviceID)
      json.member("type", "refresh")
      json.member("sid", session.id)
      json.member("gen", session.generation)
    }
    return JSONWebToken.sign(claims, with: settings.jwtKeys.newest)
  }

  /// The family and generation of a refresh token of ours that has not expired.
  func refreshClaims(of token: String) -> RefreshClaims? {
    // Any reason is the same answer: a refusal by either line is 401.
    guard let payload = try? JSONWebToken.verify(token, with: settings.jwtKeys),
      let claims = try? decode(RefreshClaims.self, from: payload),
      claims.type == "refresh", claims.exp > now.seconds,
      settings.hmacKeys.keys.contains(where: {
        let own = Self.refreshID(claims.sid, claims.gen, $0)
        return isEqualInConstantTime(Array(own.utf8), Array(claims.jti.utf8))
      })
    else { return nil }
    return claims
  }

  private static func refreshID(_ session: String, _ generation: Int64, _ key: Key) -> String {
    base64URLEncoded(hmacSHA256("refresh\n\(session)\n\(generation)", with: key))
  }
}

struct RefreshClaims: Decodable {
  let jti: String
  let exp: Int64
  let type: String
  let sid: String
  let gen: Int64
}

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
    outcome = try context.database.refresh(
      session: claims.sid, generation: claims.gen, from: context.origin, at: context.now)
  }
  switch outcome {
  case .refreshed(let session):
    return .json { json in context.write(tokensOf: session, into: &json) }
  case .tooLate:
    throw Failure.conflict("The token has just been refreshed by another request")
  case .dead:
    try context.database.countDeadRefresh(from: context.origin, at: context.now)
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
  try context.database.logOut(caller, everywhere: everywhere, at: context.now)
  return .json { json in json.member("success", true) }
}

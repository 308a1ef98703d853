import Base
import Cryptography
import Store

/// The lifetime of an access token.
private let accessLifetime = Duration.seconds(3600)

extension Context {
  /// Writes the tokens of a session: `accessToken`, `refreshToken`, `expiresIn` (seconds).
  ///
  /// The refresh token depends only on the session's row and our keys, so the same token can be made
  /// again.
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
      json.member("gen", session.place.number)
    }
    return JSONWebToken.sign(claims, with: settings.jwtKeys.newest)
  }

  private func refreshToken(of session: Session) -> String {
    let claims = JSONWriter.object { json in
      json.member("sub", session.accountID)
      json.member("jti", Self.refreshID(session.id, session.place, settings.hmacKeys.newest))
      json.member("iat", session.rotatedAt.seconds)
      json.member("exp", session.expiresAt.seconds)
      json.member("deviceId", session.clientDeviceID)
      json.member("type", "refresh")
      json.member("sid", session.id)
      json.member("gen", session.place.number)
    }
    return JSONWebToken.sign(claims, with: settings.jwtKeys.newest)
  }

  /// The session and place of our refresh token `token`; nil if it is invalid or expired.
  func refreshClaims(of token: String) -> RefreshClaims? {
    // try?: the answer is 401 for every problem of the token.
    guard let payload = try? JSONWebToken.verify(token, with: settings.jwtKeys),
      let claims = try? decode(RefreshClaims.self, from: payload),
      claims.type == "refresh", claims.exp > now.seconds,
      settings.hmacKeys.keys.contains(where: {
        let own = Self.refreshID(claims.sid, claims.place, $0)
        return isEqualInConstantTime(Array(own.utf8), Array(claims.jti.utf8))
      })
    else { return nil }
    return claims
  }

  /// In branch 0, it is what it was before tokens had branches: both programs read such tokens.
  private static func refreshID(_ session: String, _ place: TokenPlace, _ key: Key) -> String {
    var text = "refresh\n\(session)\n\(place.generation)"
    if place.branch > 0 { text += "\n\(place.branch)" }
    return base64URLEncoded(hmacSHA256(text, with: key))
  }
}

extension Schema {
  static let tokens: Schema =
    ([
      "accessToken": .token, "refreshToken": .token, "expiresIn": .integer,
    ] as Schema).named("Tokens")
}

struct RefreshClaims: Decodable {
  let jti: String
  let exp: Int64
  let type: String
  let sid: String
  let gen: Int64

  var place: TokenPlace { TokenPlace(number: gen) }
}

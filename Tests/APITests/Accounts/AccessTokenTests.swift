import Base
import Cryptography
import Foundation
import Store
import Testing

@testable import API

/// The claims of access tokens, and the tokens that are refused.
@Suite struct AccessTokenTests {
  private static let otherKey = try! Keyring(
    parsing: "k2:" + base64URLEncoded([UInt8](repeating: 8, count: 32)))
  private static let forgedKey = try! Keyring(
    parsing: "k1:" + base64URLEncoded([UInt8](repeating: 8, count: 32)))

  /// All routes that need a bearer token, with an example instead of `:name`.
  static let guarded = [
    ("GET", "/api/mobile/wallet/summary"), ("GET", "/api/mobile/devices"),
    ("DELETE", "/api/mobile/devices/device-1"), ("POST", "/api/mobile/device/push-token"),
    ("DELETE", "/api/mobile/device/push-token"),
    ("DELETE", "/api/mobile/device/push-token/device-1"), ("POST", "/api/mobile/auth/logout"),
  ]

  private func summary(_ site: TestApplication, authorization: String?) -> Answer {
    site.send(
      "GET", WalletPath.summary,
      fields: authorization.map { [(name: "Authorization", value: $0)] } ?? [])
  }

  private func isInvalidToken(_ answer: Answer) -> Bool {
    answer.isError(401, "unauthorized", "Invalid or expired access token")
      && answer.field("WWW-Authenticate") == #"Bearer error="invalid_token""#
  }

  /// The claims of a valid access token.
  private func claims(_ site: TestApplication) throws -> [String: Any?] {
    tokenClaims(try site.signUp().accessToken)
  }

  @Test func accessTokensHaveTheClaimsOfTheContract() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let claims = tokenClaims(ann.accessToken)
      #expect(
        Set(claims.keys) == ["sub", "iss", "aud", "iat", "exp", "deviceId", "type", "sid", "gen"])
      #expect(claims["sub"] as? String == ann.accountID)
      #expect(claims["iss"] as? String == "https://api.example.org")
      #expect(claims["aud"] as? String == "mwsim")
      #expect(claims["iat"] as? Int64 == site.now.seconds)
      #expect(claims["exp"] as? Int64 == site.now.seconds + 3600)
      #expect(claims["deviceId"] as? String == "device-1")
      #expect(claims["type"] as? String == "access")
      #expect(claims["sid"] as? String == site.sql("SELECT id FROM sessions"))
      #expect(
        tokenHeader(ann.accessToken) as? [String: String]
          == ["alg": "HS256", "typ": "JWT", "kid": "k1"])
    }
  }

  @Test(arguments: guarded)
  func everyRouteNeedsABearerToken(method: String, path: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let before = site.rows("sessions", "devices", "push_tokens")
      let without = site.send(method, path)
      #expect(
        without.isError(401, "unauthorized", "Missing or invalid authorization header"))
      #expect(without.field("WWW-Authenticate") == "Bearer")
      for token in ["garbage", ann.refreshToken] {
        #expect(isInvalidToken(site.send(method, path, token: token)))
      }
      #expect(site.rows("sessions", "devices", "push_tokens") == before)
    }
  }

  @Test(arguments: [nil, "", "Bearer", "Bearer ", "Bearer    ", "Basic dXNlcjpwYXNz", "token x"])
  func anAuthorizationWithoutABearerTokenCountsAsMissing(value: String?) throws {
    try withApplication { site in
      let answer = summary(site, authorization: value)
      #expect(answer.isError(401, "unauthorized", "Missing or invalid authorization header"))
      #expect(answer.field("WWW-Authenticate") == "Bearer")
    }
  }

  @Test(arguments: ["Bearer", "bearer", "BEARER", "bEaReR"])
  func theCaseOfTheSchemeDoesNotMatter(scheme: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(summary(site, authorization: "\(scheme) \(ann.accessToken)").status == 200)
    }
  }

  @Test(arguments: [
    "garbage", "a.b.c", "..", "Bearer", String(repeating: "x", count: 5000), "é",
    // alg none, with and without a signature
    "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJ4In0.",
    "eyJhbGciOiJub25lIiwia2lkIjoiazEiLCJ0eXAiOiJKV1QifQ.eyJzdWIiOiJ4In0.AAAA",
  ])
  func garbageIsAnInvalidToken(token: String) throws {
    try withApplication { site in
      #expect(isInvalidToken(summary(site, authorization: "Bearer \(token)")))
    }
  }

  @Test func aChangedTokenIsInvalid() throws {
    try withApplication { site in
      let token = Array(try site.signUp().accessToken.utf8)
      for index in stride(from: 0, to: token.count, by: 7) {
        var spoiled = token
        spoiled[index] = spoiled[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let text = String(decoding: spoiled, as: UTF8.self)
        #expect(isInvalidToken(summary(site, authorization: "Bearer \(text)")), "byte \(index)")
      }
      for text in [
        String(decoding: token.dropLast(), as: UTF8.self),
        String(decoding: token, as: UTF8.self) + "=",
        String(decoding: token, as: UTF8.self) + " ",
      ] {
        #expect(isInvalidToken(summary(site, authorization: "Bearer \(text)")))
      }
    }
  }

  @Test func aTokenSignedWithAnotherKeyIsInvalid() throws {
    try withApplication { site in
      let claims = try claims(site)
      #expect(site.summary(signedToken(claims)).status == 200)
      for keys in [Self.otherKey, Self.forgedKey] {
        #expect(isInvalidToken(site.summary(signedToken(claims, key: keys.newest))))
      }
    }
  }

  @Test(arguments: ["sub", "iss", "aud", "iat", "exp", "deviceId", "type", "sid", "gen"])
  func aTokenWithoutOneOfItsClaimsIsInvalid(claim: String) throws {
    try withApplication { site in
      var claims = try claims(site)
      claims[claim] = .some(nil)
      #expect(isInvalidToken(site.summary(signedToken(claims))))
    }
  }

  @Test(
    arguments: [
      ("sub", 5), ("iss", 5), ("iss", ["https://api.example.org"]), ("aud", ["mwsim"]), ("aud", 5),
      ("iat", "1795000000"), ("iat", true), ("iat", 1.5), ("exp", "9999999999"), ("exp", NSNull()),
      ("exp", 1e30), ("deviceId", 5), ("type", 5), ("sid", 5), ("sid", NSNull()), ("gen", "1"),
      ("gen", 1.5),
    ] as [(String, any Sendable)])
  func aClaimOfTheWrongTypeIsInvalid(claim: String, value: any Sendable) throws {
    try withApplication { site in
      var claims = try claims(site)
      claims[claim] = value
      #expect(isInvalidToken(site.summary(signedToken(claims))))
    }
  }

  @Test(arguments: [
    ("iss", "https://other.example.org"), ("iss", "https://api.example.org/"), ("iss", ""),
    ("aud", "other"), ("aud", "MWSIM"), ("aud", ""), ("type", "refresh"), ("type", "Access"),
    ("type", ""), ("sid", "01a1ee56-5e00-7b5a-ad5d-fe90beffbffd"), ("sid", "no uuid"), ("sid", ""),
  ])
  func aTokenForAnotherPurposeIsInvalid(claim: String, value: String) throws {
    try withApplication { site in
      var claims = try claims(site)
      claims[claim] = value
      let answer = site.summary(signedToken(claims))
      #expect(isInvalidToken(answer), "\(answer.text)")
    }
  }

  @Test func aTokenExpiresAtItsTime() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .milliseconds(3_599_999))
      #expect(site.summary(ann.accessToken).status == 200)
      site.advance(by: .milliseconds(1))
      #expect(isInvalidToken(site.summary(ann.accessToken)))
    }
  }

  @Test(arguments: [(0, true), (60, true), (61, false), (3000, false)] as [(Int64, Bool)])
  func aTokenMayBeIssuedAMinuteAhead(ahead: Int64, isGood: Bool) throws {
    try withApplication { site in
      var claims = try claims(site)
      claims["iat"] = site.now.seconds + ahead
      claims["exp"] = site.now.seconds + ahead + 3600
      let answer = site.summary(signedToken(claims))
      #expect(isGood ? answer.status == 200 : isInvalidToken(answer))
    }
  }

  @Test func accessAndRefreshTokensAreNotInterchangeable() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.refresh(ann.accessToken).isError(401, "unauthorized"))
      #expect(isInvalidToken(site.summary(ann.refreshToken)))
    }
  }

  @Test func afterAKeyRotationOldKeysVerifyAndTheNewOneSigns() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.requestCode().status == 200)
      let code = try site.mailedCode()
      let credential = try site.registerDevice("device-2")
      let keys = try Keyring(
        parsing: "k2:" + base64URLEncoded([UInt8](repeating: 8, count: 32)) + ",k1:"
          + base64URLEncoded([UInt8](repeating: 7, count: 32)))
      let rotated = site.sibling(
        settings: .ofTests(jwtKeys: keys, hmacKeys: keys, credentialKeys: keys))
      #expect(rotated.send("GET", WalletPath.summary, token: ann.accessToken).status == 200)
      let answer = rotated.send(
        "POST", AccountPath.refresh, jsonText(["refreshToken": ann.refreshToken]))
      let (access, refresh) = (
        try #require(answer.accessToken), try #require(answer.refreshToken)
      )
      #expect([access, refresh].map { tokenHeader($0)["kid"] as? String } == ["k2", "k2"])
      #expect(rotated.send("GET", WalletPath.summary, token: access).status == 200)
      #expect(
        rotated.send("POST", AccountPath.refresh, jsonText(["refreshToken": refresh])).status
          == 200)
      #expect(
        rotated.send(
          "POST", AccountPath.verify,
          jsonText(["email": ann.email, "deviceId": "device-1", "code": code])
        ).status == 200)
      #expect(!credential.hasPrefix("k2."))
      #expect(isInvalidToken(site.summary(access)))
    }
  }

  /// A token that one keyring signed or sealed is invalid for the other keyrings.
  @Test func eachKeyringServesItsOwnPurpose() throws {
    try withApplication { site in
      func ring(_ byte: UInt8) throws -> Keyring {
        try Keyring(parsing: "k1:" + base64URLEncoded([UInt8](repeating: byte, count: 32)))
      }
      let (jwt, hmac, credential) = (try ring(1), try ring(2), try ring(3))
      let other = site.sibling(
        settings: .ofTests(jwtKeys: jwt, hmacKeys: hmac, credentialKeys: credential))
      let registered = other.send(
        "POST", AccountPath.registerDevice,
        #"{"deviceId":"device-1","deviceName":"Phone","platform":"ios"}"#)
      let answer = other.send(
        "POST", AccountPath.register,
        #"{"email":"ann@example.org","name":"Ann","deviceId":"device-1"}"#)
      let (access, refresh) = (
        try #require(answer.accessToken), try #require(answer.refreshToken)
      )
      for token in [access, refresh] {
        #expect(throws: Never.self) { try JSONWebToken.verify(token, with: jwt) }
      }
      let session = site.sql("SELECT id FROM sessions")
      #expect(
        tokenClaims(refresh)["jti"] as? String
          == base64URLEncoded(hmacSHA256("refresh\n\(session)\n1", with: hmac.newest)))
      let sealed = String(try #require(registered.string("deviceCredential")).dropFirst(5))
      #expect(throws: Never.self) {
        try Cryptography.open(sealed, authenticating: "device-1", with: credential)
      }
    }
  }
}

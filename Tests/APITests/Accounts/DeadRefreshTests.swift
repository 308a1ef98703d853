import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// Refresh tokens without a live session, and the lifetime of sessions.
@Suite struct DeadRefreshTests {
  private let day = Duration.seconds(86_400)

  enum Dead: String, CaseIterable {
    case garbage, empty, long, wrongSignature, wrongKey, access, otherType, otherID, noID
    case unknownFamily, generationAhead, expired, loggedOut, revoked, reused, accountGone
  }

  private func token(_ dead: Dead, _ site: TestApplication) throws -> String {
    let ann = try site.signUp()
    let claims = tokenClaims(ann.refreshToken)
    func resigned(_ name: String, _ value: Any?) -> String {
      var changed: [String: Any?] = claims
      changed[name] = value
      return signedToken(changed)
    }
    switch dead {
    case .garbage: return "garbage"
    case .empty: return ""
    case .long: return String(repeating: "x", count: 60_000)
    case .wrongSignature:
      return String(ann.refreshToken.dropLast(43)) + String(repeating: "A", count: 43)
    case .wrongKey:
      let keys = try Keyring(parsing: "k1:" + base64URLEncoded([UInt8](repeating: 9, count: 32)))
      return signedToken(claims, key: keys.newest)
    case .access: return ann.accessToken
    case .otherType: return resigned("type", "access")
    case .otherID:
      let other = try site.signUp(email: "bob@example.org", device: "device-2")
      return resigned("jti", tokenClaims(other.refreshToken)["jti"])
    case .noID: return resigned("jti", nil)
    case .unknownFamily: return resigned("sid", "01a1ee56-5e00-7b5a-ad5d-fe90beffbffd")
    case .generationAhead: return resigned("gen", 2)
    case .expired: site.advance(by: day * 30)
    case .loggedOut: _ = site.send("POST", AccountPath.logout, token: ann.accessToken)
    case .revoked:
      _ = site.send("DELETE", AccountPath.devices + "/device-1", token: ann.accessToken)
    case .reused:
      _ = site.summary(try #require(site.refresh(ann.refreshToken).accessToken))
      site.advance(by: .seconds(61))
      _ = site.refresh(ann.refreshToken)
    case .accountGone: site.sql("DELETE FROM accounts")
    }
    return ann.refreshToken
  }

  @Test(arguments: Dead.allCases)
  func aDeadTokenIs401AndLater429(dead: Dead) throws {
    try withApplication { site in
      let token = try token(dead, site)
      let before = site.rows("sessions", "audit_log", "devices")
      for number in 1...30 {
        let answer = site.refresh(token, address: "203.0.113.9")
        #expect(
          answer.isError(401, "unauthorized", RefreshTests.deadText),
          "\(number) \(answer.text)")
      }
      site.advance(by: .seconds(20))
      let refused = site.refresh(token, address: "203.0.113.9")
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 40)
      #expect(site.rows("sessions", "audit_log", "devices") == before)
      #expect(site.refresh(token, address: "198.51.100.7").status == 401)
      site.advance(by: .seconds(40))
      #expect(site.refresh(token, address: "203.0.113.9").status == 401)
    }
  }

  @Test func fiftyDeadTokensAtOnceAre401ThirtyTimes() throws {
    try withApplication { site in
      let answers = inParallel(50) { _ in site.refresh("garbage") }
      #expect(answers.filter { $0.status == 401 }.count == 30)
      #expect(answers.filter { $0.status == 429 }.count == 20)
    }
  }

  @Test func deadTokensDoNotLimitLiveOnes() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for _ in 1...40 { _ = site.refresh("garbage") }
      #expect(site.refresh(ann.refreshToken).status == 200)
    }
  }

  @Test func anUnusedFamilyEndsAfterThirtyDays() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org")
      site.advance(by: day * 30 - .seconds(1))
      let answer = site.refresh(ann.refreshToken)
      #expect(answer.status == 200)
      site.advance(by: .seconds(1))
      #expect(site.refresh(bob.refreshToken).status == 401)
      site.advance(by: day * 30 - .seconds(2))
      #expect(site.refresh(try #require(answer.refreshToken)).status == 200)
    }
  }

  @Test func everyFamilyEndsAfterAYear() throws {
    try withApplication { site in
      let begin = site.now
      let end = begin + day * 365
      var answer = site.refresh(try site.signUp().refreshToken)
      for _ in 1...14 {
        site.advance(by: day * 25)
        answer = site.refresh(try #require(answer.refreshToken))
        #expect(answer.status == 200)
      }
      #expect(tokenClaims(try #require(answer.refreshToken))["exp"] as? Int64 == end.seconds)
      site.advance(by: end - site.now - .seconds(1))
      answer = site.refresh(try #require(answer.refreshToken))
      #expect(answer.status == 200)
      #expect(tokenClaims(try #require(answer.refreshToken))["exp"] as? Int64 == end.seconds)
      let access = try #require(answer.accessToken)
      #expect(site.summary(access).status == 200)
      site.advance(by: .seconds(1))
      #expect(site.summary(access).status == 401)
      #expect(site.refresh(try #require(answer.refreshToken)).status == 401)
    }
  }

  @Test func refreshTokensHaveTheClaimsOfTheContract() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let signedUpAt = site.now
      site.advance(by: .seconds(500))
      let second = try #require(site.refresh(ann.refreshToken).refreshToken)
      let session = site.sql("SELECT id FROM sessions")
      for (token, instant) in [(ann.refreshToken, signedUpAt), (second, site.now)] {
        let claims = tokenClaims(token)
        #expect(Set(claims.keys).isSuperset(of: ["sub", "jti", "deviceId", "type", "iat", "exp"]))
        #expect(claims["sub"] as? String == ann.accountID)
        #expect(claims["deviceId"] as? String == "device-1")
        #expect(claims["type"] as? String == "refresh")
        #expect(claims["sid"] as? String == session)
        #expect(claims["iat"] as? Int64 == instant.seconds)
        #expect(claims["exp"] as? Int64 == (instant + day * 30).seconds)
        #expect(
          tokenHeader(token) as? [String: String] == ["alg": "HS256", "typ": "JWT", "kid": "k1"])
      }
      let ids = [ann.refreshToken, second].map { tokenClaims($0)["jti"] as? String }
      #expect(ids[0] != ids[1])
    }
  }

  @Test func theDatabaseHoldsNoRefreshToken() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let id = try #require(tokenClaims(ann.refreshToken)["jti"] as? String)
      let bytes = try #require(base64URLDecoded(id))
      let dump = site.rows("sessions", "devices", "audit_log", "rate_limits")
      #expect(!dump.contains(id))
      #expect(bytes.count == 32)
      #expect(site.sql("SHOW COLUMNS FROM sessions LIKE '%token%'") == "")
    }
  }
}

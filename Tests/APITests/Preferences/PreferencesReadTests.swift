import Base
import Cryptography
import Foundation
import HTTP
import Store
import Testing

@testable import API

@Suite struct PreferencesReadTests {
  @Test func aDeviceThatNeverWroteHasTheDefaults() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(90))
      let answer = site.preferences(of: ann)
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"push_enabled":false,"push_token":null,"preferred_models":[],"#
          + #""archive_cache_quota_mb":512,"last_updated_at":"\#(startOfTests)","#
          + #""device_id":"\#(site.onlyDevice)","user_id":"\#(ann.accountID)","version":0}"#)
    }
  }

  @Test func aReadHasTheContractsShape() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(3))
      let body =
        #"{"push_enabled":true,"push_token":"apns_dev_ABC123","preferred_models":"#
        + #"["gpt-4o-mini","claude-3.5-sonnet"],"archive_cache_quota_mb":1024,"if_version":0}"#
      let written = site.post(body, by: ann)
      #expect(written.status == 200)
      #expect(
        written.text
          == #"{"push_enabled":true,"push_token":"apns_dev_ABC123","#
          + #""preferred_models":["gpt-4o-mini","claude-3.5-sonnet"],"#
          + #""archive_cache_quota_mb":1024,"last_updated_at":"2026-11-18T11:06:43Z","#
          + #""device_id":"\#(site.onlyDevice)","user_id":"\#(ann.accountID)","version":1}"#)
      #expect(site.preferences(of: ann).text == written.text)
    }
  }

  @Test func theDeviceIDIsAStableUUID() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let id = try #require(site.preferences(of: ann).string("device_id"))
      #expect(UUID(uuidString: id) != nil)
      #expect(id != ann.deviceID)
      site.post("{}", by: ann)
      #expect(site.preferences(of: ann).string("device_id") == id)
    }
  }

  @Test func readingWritesNothing() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let before = site.audited("preferences_written")
      for _ in 0..<3 { #expect(site.preferences(of: ann).version == 0) }
      #expect(site.audited("preferences_written") == before)
      #expect(site.hits("device-prefs") == "")
    }
  }

  @Test func twoAccountsOnOneDeviceHaveTheirOwnPreferences() throws {
    try withApplication { site in
      let ann = try site.signUp(email: "ann@example.org", device: "shared")
      let bob = try site.signUp(email: "bob@example.org", device: "shared")
      site.post(#"{"push_enabled":true,"archive_cache_quota_mb":1024}"#, by: ann)
      let (anns, bobs) = (site.preferences(of: ann), site.preferences(of: bob))
      #expect(anns.quota == 1024)
      #expect(bobs.quota == 512)
      #expect(bobs.version == 0)
      #expect(anns.string("device_id") != bobs.string("device_id"))
      #expect(bobs.string("user_id") == bob.accountID)
    }
  }

  @Test func twoDevicesOfOneAccountHaveTheirOwnPreferences() throws {
    try withApplication { site in
      let phone = try site.signUp(device: "phone")
      _ = site.send(
        "POST", "/api/mobile/auth/login",
        #"{"email":"ann@example.org","deviceId":"mac","deviceName":"Mac","platform":"macos"}"#)
      let signIn = site.send(
        "POST", "/api/mobile/auth/login/verify",
        #"{"email":"ann@example.org","deviceId":"mac","code":"\#(try site.mailedCode())"}"#)
      let token = try #require(signIn.string("tokens", "accessToken"))
      site.post(#"{"archive_cache_quota_mb":128}"#, by: phone)
      let mac = site.send("GET", "/api/v1/device-prefs", token: token)
      #expect(mac.quota == 512)
      #expect(mac.string("user_id") == phone.accountID)
      #expect(mac.string("device_id") != site.preferences(of: phone).string("device_id"))
    }
  }

  @Test(arguments: [
    ("GET", "/api/v1/device-prefs"), ("POST", "/api/v1/device-prefs"),
    ("POST", "/api/v1/push/register"), ("GET", "/api/v1/models"), ("GET", "/api/v1/nothing"),
    ("DELETE", "/api/v1/device-prefs"),
  ])
  func everyAnswerIsJSONWithTheRequestID(method: String, path: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let body = #"{"platform":"ios","token":"t"}"#
      for token in [ann.accessToken, nil] {
        let answer = site.send(
          method, path, method == "POST" ? body : "", token: token, requestID: "id-of-request")
        #expect(answer.field("X-Request-Id") == "id-of-request")
        #expect(answer.field("Content-Type") == "application/json")
        let isCatalogue = path == "/api/v1/models"
        #expect(
          answer.field("Cache-Control") == (isCatalogue ? "public, max-age=86400" : "no-store"))
        #expect(
          (try? JSONSerialization.jsonObject(with: Data(answer.response.body))) is [String: Any])
      }
    }
  }
}

@Suite struct PreferencesBearerTests {
  private static let protected = [
    ("GET", "/api/v1/device-prefs", ""), ("POST", "/api/v1/device-prefs", "{}"),
    ("POST", "/api/v1/push/register", #"{"platform":"ios","token":"t"}"#),
  ]

  private func expectUnauthorized(
    _ site: TestApplication, _ authorization: String?, challenge: String, message: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for (method, path, body) in Self.protected {
      let answer = site.send(
        method, path, body,
        fields: authorization.map { [(name: "Authorization", value: $0)] } ?? [])
      #expect(answer.status == 401, sourceLocation: sourceLocation)
      #expect(
        answer.text == #"{"error":{"code":"unauthorized","message":"\#(message)"}}"#,
        sourceLocation: sourceLocation)
      #expect(answer.field("WWW-Authenticate") == challenge, sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: [nil, "", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Bearerx.y.z"])
  func aRequestWithoutABearerTokenIs401(authorization: String?) throws {
    try withApplication { site in
      expectUnauthorized(
        site, authorization, challenge: "Bearer",
        message: "Missing or invalid authorization header")
    }
  }

  @Test(arguments: [
    "x", "a.b.c", "..", "eyJhbGciOiJub25lIn0.e30.", String(repeating: "A", count: 8000),
  ])
  func aMalformedTokenIs401(token: String) throws {
    try withApplication { site in
      expectUnauthorized(
        site, "Bearer \(token)", challenge: #"Bearer error="invalid_token""#,
        message: "Invalid or expired access token")
    }
  }

  @Test func aTokenOfAnotherTypeTimeKeyOrSiteIs401() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let session = site.sql("SELECT id FROM sessions")
      func token(
        type: String = "access", iss: String = TestApplication.publicURL, aud: String = "mwsim",
        iat: Int64 = 0, exp: Int64 = 60, keys: Keyring = TestApplication.keys
      ) -> String {
        let claims = JSONWriter.object { json in
          json.member("sub", ann.accountID)
          json.member("iss", iss)
          json.member("aud", aud)
          json.member("iat", site.now.seconds + iat)
          json.member("exp", site.now.seconds + exp)
          json.member("deviceId", ann.deviceID)
          json.member("type", type)
          json.member("sid", session)
          json.member("gen", 1)
        }
        return JSONWebToken.sign(claims, with: keys.newest)
      }
      func status(_ token: String) -> Int {
        site.send("GET", "/api/v1/device-prefs", token: token).status
      }
      let others = try Keyring(
        parsing: "k1:" + base64URLEncoded([UInt8](repeating: 8, count: 32)))
      #expect(status(token()) == 200)
      #expect(status(token(iat: 60)) == 200)
      #expect(status(token(exp: 1)) == 200)
      #expect(status(token(exp: 0)) == 401)
      #expect(status(token(iat: 61)) == 401)
      #expect(status(token(type: "refresh")) == 401)
      #expect(status(token(iss: "https://other.example.org")) == 401)
      #expect(status(token(aud: "other")) == 401)
      #expect(status(token(keys: others)) == 401)
      #expect(status(ann.refreshToken) == 401)
    }
  }

  @Test(arguments: [
    "UPDATE sessions SET ended_at = created_at, end_reason = 'logout'",
    "UPDATE devices SET revoked_at = created_at",
    "UPDATE sessions SET rotated_at = '2020-01-01', expires_at = '2020-01-02'",
    "DELETE FROM accounts",
  ])
  func aTokenOfAnEndedSessionIs401(ending: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.preferences(of: ann).status == 200)
      site.sql(ending)
      expectUnauthorized(
        site, "Bearer \(ann.accessToken)", challenge: #"Bearer error="invalid_token""#,
        message: "Invalid or expired access token")
      #expect(site.audited("preferences_written") == 0)
    }
  }

  @Test func theSchemeIsCaseInsensitive() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for scheme in ["bearer", "BEARER", "Bearer ", "bEaReR"] {
        let answer = site.send(
          "GET", "/api/v1/device-prefs",
          fields: [(name: "Authorization", value: "\(scheme) \(ann.accessToken)")])
        #expect(answer.status == 200)
      }
    }
  }

  @Test func aDeviceCredentialOfAnotherDeviceIs401() throws {
    try withApplication { site in
      let other = site.send(
        "POST", "/api/mobile/device/register",
        #"{"deviceId":"device-2","deviceName":"Other","platform":"ios"}"#)
      let own = site.send(
        "POST", "/api/mobile/device/register",
        #"{"deviceId":"device-1","deviceName":"Phone","platform":"ios"}"#)
      let ann = try site.signUp(device: "device-1")
      func status(_ credential: String) -> Int {
        site.preferences(
          of: ann, fields: [(name: "X-Device-Credential", value: credential)]
        ).status
      }
      #expect(status(try #require(own.string("deviceCredential"))) == 200)
      #expect(status(try #require(other.string("deviceCredential"))) == 401)
      #expect(status("nonsense") == 401)
    }
  }
}

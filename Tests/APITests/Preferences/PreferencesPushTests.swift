import Support
import Testing

@testable import API

/// Push tokens in `POST /api/v1/push/register` and `POST /api/v1/device-prefs`.
@Suite struct PreferencesPushTests {
  private static let wellFormed = "740f4707bebcf74f9b7c25d48e335894"
  private static let other = "01234567890123456789:_.-AZaz"

  /// All push tokens: token, e-mail of the owner, platform.
  private func tokens(_ site: TestApplication) -> String {
    site.sql(
      """
      SELECT t.token, a.email, t.platform FROM push_tokens t JOIN devices d ON d.id = t.device_id
      JOIN accounts a ON a.id = d.account_id ORDER BY t.token
      """)
  }

  @Test func aRegistrationAnswersInTheContractsShape() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(2))
      let answer = site.register("apns_dev_ABC123", by: ann)
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"device_id":"\#(site.onlyDevice)","registered_at":"2026-11-18T11:06:42Z"}"#)
      let preferences = site.preferences(of: ann)
      #expect(preferences.string("push_token") == "apns_dev_ABC123")
      #expect(preferences.version == 1)
      #expect(preferences.string("last_updated_at") == "2026-11-18T11:06:42Z")
    }
  }

  @Test(arguments: ["null", #""anything""#, "5"])
  func theDeviceIDInARegistrationIsIgnored(hint: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.send(
        "POST", "/api/v1/push/register",
        #"{"platform":"ios","token":"apns_dev_ABC123","device_id":\#(hint)}"#,
        token: ann.accessToken)
      #expect(answer.status == 200)
      #expect(answer.string("device_id") == site.onlyDevice)
    }
  }

  @Test func onlyANewTokenRaisesTheVersion() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for (token, version) in [("a", 1), ("a", 1), ("b", 2), ("b", 2), ("a", 3)] {
        site.advance(by: .seconds(1))
        #expect(site.register(token, by: ann).status == 200)
        #expect(site.preferences(of: ann).version == version)
      }
      #expect(site.audited("push_token_set") == 5)
      #expect(site.hits("push-register") == "5")
    }
  }

  @Test func aRegistrationChangesNothingElse() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post(
        #"{"push_enabled":true,"preferred_models":["gpt-4o"],"archive_cache_quota_mb":640}"#,
        by: ann)
      site.register("apns_dev_ABC123", by: ann)
      let preferences = site.preferences(of: ann)
      #expect(preferences["push_enabled"] as? Bool == true)
      #expect(preferences.models == ["gpt-4o"])
      #expect(preferences.quota == 640)
      #expect(preferences.version == 2)
    }
  }

  @Test(arguments: ["ios", "macos"])
  func thePlatformIsStored(platform: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.register(Self.wellFormed, platform: platform, by: ann).status == 200)
      #expect(tokens(site) == "\(Self.wellFormed)\tann@example.org\t\(platform)")
    }
  }

  @Test(arguments: [
    (#"{"platform":"android","token":"t"}"#, "platform: unknown_platform = android"),
    (#"{"platform":"windows","token":"t"}"#, "platform: unknown_platform = windows"),
    (#"{"platform":"","token":"t"}"#, "platform: empty"),
    (#"{"platform":null,"token":"t"}"#, "platform: must_not_be_null"),
    (#"{"platform":1,"token":"t"}"#, "platform: wrong_type"),
    (#"{"token":"t"}"#, "platform: missing"),
    (#"{"platform":"ios"}"#, "token: missing"),
    (#"{"platform":"ios","token":null}"#, "token: must_not_be_null"),
    (#"{"platform":"ios","token":""}"#, "token: empty"),
    (#"{"platform":"ios","token":7}"#, "token: wrong_type"),
    (
      #"{"platform":"ios","token":"\#(String(repeating: "t", count: 513))"}"#, "token: too_long"
    ),
    ("[]", ": wrong_type"), ("null", ": must_not_be_null"),
  ])
  func aMalformedRegistrationIs400AndNamesTheMember(body: String, complaint: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.send("POST", "/api/v1/push/register", body, token: ann.accessToken)
      #expect(answer.status == 400)
      #expect(answer.string("error", "code") == "validation_error")
      #expect(answer.complaint == complaint)
      #expect(site.preferences(of: ann).version == 0)
      #expect(site.hits("push-register") == "")
    }
  }

  private static let candidates: [(String, Bool)] = [
    (wellFormed, true), (String(repeating: "a", count: 20), true),
    (String(repeating: "a", count: 512), true), ("apns_dev_ABC123", false),
    (String(repeating: "a", count: 19), false), (wellFormed + " ", false),
    (wellFormed + "\\n", false), (wellFormed + "é", false), (wellFormed + "/", false),
  ]

  @Test(arguments: candidates)
  func onlyAWellFormedTokenIsAPushToken(token: String, isSentTo: Bool) throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.post(#"{"push_token":"\#(token)"}"#, by: ann).status == 200)
      #expect(tokens(site).isEmpty != isSentTo)
      #expect(site.register(token, by: ann).status == 200)
      #expect(tokens(site).isEmpty != isSentTo)
    }
  }

  @Test func aNewTokenReplacesTheOldOne() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post(#"{"push_token":"\#(Self.wellFormed)"}"#, by: ann)
      site.post(#"{"push_token":"\#(Self.other)"}"#, by: ann)
      #expect(tokens(site) == "\(Self.other)\tann@example.org\tios")
      site.register(Self.wellFormed, by: ann)
      #expect(tokens(site) == "\(Self.wellFormed)\tann@example.org\tios")
      site.post(#"{"push_token":"opaque"}"#, by: ann)
      #expect(tokens(site) == "")
    }
  }

  @Test func nullRemovesTheToken() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.register(Self.wellFormed, by: ann)
      #expect(site.post(#"{"push_token":null}"#, by: ann).text.contains(#""push_token":null"#))
      #expect(tokens(site) == "")
    }
  }

  @Test func switchingPushOffKeepsTheToken() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post(#"{"push_enabled":true,"push_token":"\#(Self.wellFormed)"}"#, by: ann)
      site.post(#"{"push_enabled":false}"#, by: ann)
      #expect(site.preferences(of: ann).string("push_token") == Self.wellFormed)
      #expect(tokens(site) == "\(Self.wellFormed)\tann@example.org\tios")
    }
  }

  /// The first write, which makes version 1, may omit push.
  @Test(arguments: [nil, true, false] as [Bool?])
  func aWriteThatDoesNotNamePushSwitchesNothing(named: Bool?) throws {
    try withApplication { site in
      let ann = try site.signUp()
      if let named { site.post(#"{"push_enabled":\#(named)}"#, by: ann) }
      site.register(Self.wellFormed, by: ann)
      for body in ["{}", #"{"archive_cache_quota_mb":256}"#, #"{"push_token":"\#(Self.other)"}"#] {
        #expect(site.post(body, by: ann)["push_enabled"] as? Bool == (named ?? false))
        let list = site.send("GET", AccountPath.devices, token: ann.accessToken)
        #expect(list["devices", 0, "pushEnabled"] as? Bool == (named ?? true), "\(body)")
        #expect(site.preferences(of: ann)["push_enabled"] as? Bool == (named ?? false))
      }
      #expect(site.preferences(of: ann).version == (named == nil ? 4 : 5))
    }
  }

  @Test(arguments: ["POST /api/mobile/auth/logout", "DELETE /api/mobile/devices/device-1"])
  func signingOutForgetsTheTokenOfTheDevice(request: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      let write = #"{"push_token":"\#(Self.wellFormed)","push_enabled":true,"if_version":0}"#
      site.post(write, by: ann)
      site.post(#"{"push_token":"\#(Self.other)"}"#, by: elsewhere)
      site.advance(by: .seconds(5))
      let words = request.split(separator: " ").map(String.init)
      #expect(site.send(words[0], words[1], token: ann.accessToken).status == 200)
      #expect(tokens(site) == "\(Self.other)\tann@example.org\tios")
      #expect(site.preferences(of: elsewhere).string("push_token") == Self.other)

      let again = try site.signIn()
      let preferences = site.preferences(of: again)
      #expect(preferences.text.contains(#""push_enabled":true,"push_token":null"#))
      #expect(preferences.version == 2)
      #expect(preferences.string("last_updated_at") == "2026-11-18T11:06:45Z")
      // The same write is not treated as a repetition, because a repetition would omit the token.
      #expect(site.post(write, by: again).status == 409)
    }
  }

  @Test func signingOutEverywhereForgetsAllTokens() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      for person in [ann, elsewhere] { site.register("opaque", by: person) }
      let path = "/api/mobile/auth/logout"
      #expect(
        site.send("POST", path, token: ann.accessToken, query: "revokeAll=true").status == 200)
      #expect(site.count("device_preferences WHERE push_token IS NOT NULL") == 0)
      #expect(site.count("device_preferences WHERE version = 2") == 2)
    }
  }

  @Test func signingOutWithoutATokenChangesNoPreferences() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post(#"{"push_enabled":true}"#, by: ann)
      let before = site.rows("device_preferences")
      #expect(
        site.send("POST", "/api/mobile/auth/logout", token: ann.accessToken).status == 200)
      #expect(site.rows("device_preferences") == before)
    }
  }

  @Test func aTokenBelongsToWhoeverRegisteredItLast() throws {
    try withApplication { site in
      let ann = try site.signUp(email: "ann@example.org", device: "device-1")
      let bob = try site.signUp(
        email: "bob@example.org", device: "device-2", platform: "macos")
      site.register(Self.wellFormed, by: ann)
      site.post(#"{"push_token":"\#(Self.wellFormed)"}"#, by: bob)
      #expect(tokens(site) == "\(Self.wellFormed)\tbob@example.org\tmacos")
      // The token now belongs to Bob, so Ann cannot remove it.
      site.post(#"{"push_token":null}"#, by: ann)
      #expect(tokens(site) == "\(Self.wellFormed)\tbob@example.org\tmacos")
      site.register(Self.wellFormed, by: ann)
      #expect(tokens(site) == "\(Self.wellFormed)\tann@example.org\tios")
    }
  }

  @Test(arguments: [false, true])
  func aSessionThatEndsDuringItsWriteSetsNoToken(isRegistration: Bool) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let write: @Sendable () -> Answer = {
        isRegistration
          ? site.register(Self.wellFormed, by: ann)
          : site.post(#"{"push_token":"\#(Self.wellFormed)"}"#, by: ann)
      }
      // The preferences are locked too, so that a write that does not look at the session waits as well.
      let answer = try site.answer(
        whileCommitting: """
          UPDATE sessions s JOIN device_preferences p ON p.device_id = s.device_id
          SET s.ended_at = UTC_TIMESTAMP(3), s.end_reason = 'logout', p.archive_cache_quota_mb = 256
          """, to: write)
      #expect(answer.status == 401)
      #expect(tokens(site) == "")
      #expect(site.sql("SELECT version FROM device_preferences") == "0")
    }
  }

  @Test func tokensAreCaseSensitive() throws {
    try withApplication { site in
      let ann = try site.signUp(email: "ann@example.org", device: "device-1")
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      site.register(Self.wellFormed, by: ann)
      site.register(Self.wellFormed.uppercased(), by: bob)
      #expect(site.sql("SELECT COUNT(*) FROM push_tokens") == "2")
    }
  }

  @Test func aTokenRegisteredByManyInParallelHasOneOwner() throws {
    try withApplication { site in
      let people = try (0..<12).map {
        try site.signUp(email: "p\($0)@example.org", device: "device-\($0)")
      }
      let answers = inParallel(people.count) { site.register(Self.wellFormed, by: people[$0]) }
      #expect(answers.allSatisfy { $0.status == 200 })
      #expect(site.sql("SELECT COUNT(*) FROM push_tokens") == "1")
    }
  }
}

import HTTP
import Testing

@testable import API

/// Rows of the audit log about a write.
@Suite struct PreferencesAuditTests {
  typealias Fields = [(name: String, value: String)]

  static let device: Fields = [
    ("X-iOS-App-Attest-Key", "a2V5"), ("X-iOS-App-Attest-Assertion", "omlzaWduYXR1cmU="),
    ("X-iOS-App-Bundle-ID", "app.hamrah.ios"),
  ]
  static let simulator: Fields = [
    ("X-iOS-Development", "simulator"), ("X-iOS-Bundle-ID", "app.hamrah.ios"),
    ("X-iOS-Simulator-ID", "6C0C7C3E-6C8B-4E5E-9F59-6C4B41E7E0F1"), ("X-iOS-App-Version", "1.0"),
  ]
  static let mac: Fields = [
    ("X-Platform", "macOS"), ("X-App-Bundle-ID", "app.hamrah.ios"), ("X-App-Version", "1.0"),
    ("X-App-Build", "1"), ("X-App-NonSecure-Fingerprint", "00ff"),
    ("X-App-Attestation-Mode", "none"),
  ]
  private static let challenge: Fields = [
    (
      "X-Request-Challenge",
      "R0VUOmh0dHBzOi8vYXBpLmhhbXJhaC5hcHAvYXBpL3YxL2RldmljZS1wcmVmczoxNzU4MzY5NjAwLjEyMzQ1Ng=="
    )
  ]

  private static let clients: [(Fields, String)] = [
    (device, "iOS\tapp.hamrah.ios\tNULL\tunverified"),
    ([device[2]], "iOS\tapp.hamrah.ios\tNULL\tnone"),
    (simulator, "iOS simulator\tapp.hamrah.ios\t1.0\tstub"),
    (mac, "macOS\tapp.hamrah.ios\t1.0\tstub"),
    ([], "NULL\tNULL\tNULL\tnone"),
  ]

  @Test(arguments: clients.indices)
  func aWriteIsAuditedWithTheAppsFacts(number: Int) throws {
    try withApplication { site in
      let (fields, facts) = Self.clients[number]
      let ann = try site.signUp()
      _ = site.send(
        "POST", "/api/v1/device-prefs", #"{"push_enabled":true}"#, token: ann.accessToken,
        fields: fields + Self.challenge, address: "2001:db8::1", requestID: "write")
      _ = site.send(
        "POST", "/api/v1/push/register", #"{"platform":"ios","token":"apns_dev_ABC123"}"#,
        token: ann.accessToken, fields: fields + Self.challenge, address: "2001:db8::1",
        requestID: "registration")
      let columns =
        "event, detail, account_id, device_id, address, platform, bundle_id, app_version, attestation, LEFT(at, 19)"
      func row(_ request: String) -> String {
        site.sql("SELECT \(columns) FROM audit_log WHERE request_id = '\(request)'")
      }
      let who = "\(ann.accountID)\t\(site.onlyDevice)\t2001:db8::1"
      let at = "2026-11-18 11:06:40"
      #expect(row("write") == "preferences_written\tversion 1\t\(who)\t\(facts)\t\(at)")
      #expect(row("registration") == "push_token_set\tNULL\t\(who)\t\(facts)\t\(at)")
    }
  }

  @Test(arguments: ["\u{1B}", "\u{7F}", "\u{9B}", "\u{202E}", "\u{2066}"])
  func controlCharactersDoNotEnterTheAuditTrail(control: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let given = "a\(control)b"
      let answer = site.send(
        "POST", "/api/v1/device-prefs", "{}", token: ann.accessToken,
        fields: [("X-Platform", given), ("X-App-Bundle-ID", given), ("X-App-Version", given)],
        address: given, requestID: given)
      #expect(answer.status == 200)
      let row = site.sql(
        """
        SELECT platform, bundle_id, app_version, address, request_id REGEXP '^[0-9a-f]{32}$'
        FROM audit_trail WHERE event = 'preferences_written'
        """)
      // A request id with such a character is replaced by a new one.
      #expect(row == repeatElement("a\u{FFFD}b", count: 4).joined(separator: "\t") + "\t1")
    }
  }

  @Test func longFactsAreCutToTheirColumns() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let long = String(repeating: "é", count: 500)
      let answer = site.post(
        "{}", by: ann,
        fields: [
          ("X-Platform", long), ("X-App-Bundle-ID", long), ("X-App-Version", long),
        ])
      #expect(answer.status == 200)
      #expect(
        site.sql(
          """
          SELECT CHAR_LENGTH(platform), CHAR_LENGTH(bundle_id), CHAR_LENGTH(app_version)
          FROM audit_log WHERE event = 'preferences_written'
          """) == "20\t128\t32")
    }
  }

  @Test func pushTokensAndBearerTokensAreNotAudited() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post(#"{"push_token":"secret-push-token-0123"}"#, by: ann, fields: Self.device)
      site.register("secret-push-token-4567", by: ann)
      let log = site.sql("SELECT * FROM audit_log")
      #expect(log.contains("push_token_set"))
      #expect(!log.contains("secret-push-token"))
      #expect(!log.contains(ann.accessToken))
      #expect(!log.contains("omlzaWduYXR1cmU="))
    }
  }

  @Test func aRefusedWriteIsNotAudited() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post(#"{"preferred_models":["foo"]}"#, by: ann)
      site.post(#"{"if_version":7}"#, by: ann)
      _ = site.send("POST", "/api/v1/device-prefs", "{}")
      #expect(site.audited("preferences_written") == 0)
    }
  }
}

import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// The assertion that an app sends with each request.
@Suite struct AssertionTests {
  enum Shown: String, CaseIterable {
    case nothing, stub, valid, wrong, outOfOrder
  }

  /// Status, outcome and reason of a write, by mode and proof.
  private static func expected(
    _ mode: AttestationPolicy.Mode, _ shown: Shown, acceptsStubs: Bool
  ) -> (Int, String, String) {
    switch (mode, shown) {
    case (.off, .nothing), (.observe, .nothing): (200, "none", "NULL")
    case (.off, .stub), (.observe, .stub): (200, "stub", "NULL")
    case (.off, _): (200, "unverified", "NULL")
    case (_, .valid): (200, "verified", "NULL")
    case (.observe, .wrong): (200, "refused", "signature")
    case (.observe, .outOfOrder): (200, "refused", "assertion_out_of_order")
    case (.enforce, .nothing): (403, "refused", "assertion_missing")
    case (.enforce, .stub): acceptsStubs ? (200, "stub", "NULL") : (403, "refused", "stub")
    case (.enforce, .wrong): (403, "refused", "signature")
    case (.enforce, .outOfOrder): (403, "refused", "assertion_out_of_order")
    }
  }

  @Test(arguments: AttestationPolicy.Mode.allCases, [false, true])
  func theModeAndTheProofDecideAboutAWrite(
    mode: AttestationPolicy.Mode, acceptsStubs: Bool
  ) throws {
    try withApplication(attestation: .ofTests(mode, acceptsStubs: acceptsStubs)) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      var version = 0
      for path in ["/api/v1/device-prefs", "/api/v1/push/register"] {
        for shown in Shown.allCases {
          let signed = site.signedRequest("POST", path)
          var fields: AttestedPhone.Fields
          switch shown {
          case .nothing: fields = []
          case .stub: fields = PreferencesAuditTests.simulator
          case .valid: fields = phone.proof(of: signed, counter: path.count == 20 ? 5 : 6)
          case .wrong:
            fields = phone.proof(of: signed, counter: 100)
            fields[2].value = AttestedPhone(appID: ourApp)
              .assertion(of: Array(signed.utf8), counter: 100)
          case .outOfOrder: fields = phone.proof(of: signed, counter: 5)
          }
          let token = "apns_dev_\(shown)_\(version)"
          let answer = site.send(
            "POST", path, #"{"platform":"ios","token":"\#(token)"}"#, token: ann.accessToken,
            fields: fields)
          let (status, outcome, reason) = Self.expected(mode, shown, acceptsStubs: acceptsStubs)
          #expect(answer.status == status, "\(path) \(shown): \(answer.text)")
          if status == 403 { #expect(answer.isUnproved(reason), "\(answer.text)") }
          let event =
            status == 403
            ? "write_refused" : path.count == 20 ? "preferences_written" : "push_token_set"
          #expect(site.lastOutcome == "\(event)\t\(outcome)\t\(reason)", "\(path) \(shown)")
          if status == 200 { version += 1 }
          #expect(site.preferences(of: ann).version == version, "\(path) \(shown)")
        }
      }
    }
  }

  @Test func oneOfManyWritesWithTheSameAssertionWins() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      for round in 1...rounds(default: 3) {
        let fields = phone.proof(of: site.signedRequest(), counter: UInt32(round))
        let answers = inParallel(8) { _ in site.post("{}", by: ann, fields: fields) }
        #expect(answers.filter { $0.status == 200 }.count == 1)
        #expect(answers.filter { $0.isUnproved("assertion_out_of_order") }.count == 7)
        #expect(site.preferences(of: ann).version == round)
        #expect(site.sql("SELECT COUNT(*) FROM audit_log WHERE event = 'key_bound'") == "1")
        site.sql("UPDATE rate_limits SET hits = 0")
      }
    }
  }

  @Test func anAssertionThatIsOvertakenDuringItsRequestIsRefused() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      let answer = try site.answer(whileCommitting: "UPDATE attestation_keys SET counter = 9") {
        site.post(provenBy: phone, counter: 5, by: ann)
      }
      #expect(answer.isUnproved("assertion_out_of_order"), "\(answer.text)")
      #expect(site.sql("SELECT counter FROM attestation_keys") == "9")
    }
  }

  @Test func anAssertionIsNotSpentBySessionsThatEndDuringItsRequest() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      let answer = try site.answer(
        whileCommitting: "UPDATE sessions SET ended_at = UTC_TIMESTAMP(3), end_reason = 'logout'"
      ) { site.post(provenBy: phone, counter: 5, by: ann) }
      #expect(answer.status == 401)
      #expect(site.sql("SELECT counter FROM attestation_keys") == "1")
    }
  }

  @Test func anOvertakenAssertionIsRefusedAsOutOfOrder() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: 2, by: ann).status == 200)
      let overtaken = site.post(provenBy: phone, counter: 1, by: ann)
      #expect(overtaken.isUnproved("assertion_out_of_order"))
      #expect(overtaken.complaint == "X-iOS-App-Attest-Assertion: assertion_out_of_order")
    }
  }

  @Test func theCounterMayReachItsMaximum() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: .max - 1, by: ann).status == 200)
      #expect(site.post(provenBy: phone, counter: .max, by: ann).status == 200)
      #expect(site.keyState(phone) == "4294967295\tann@example.org")
      for counter in [0, 1, .max] as [UInt32] {
        #expect(
          site.post(provenBy: phone, counter: counter, by: ann)
            .isUnproved("assertion_out_of_order"))
      }
    }
  }

  private static let url = "https://api.example.org/api/v1/device-prefs"
  /// Texts that an app signs at 1795000000 for `POST` of ``url``, and the reason of each refusal.
  private static let signed: [(String, String?)] = [
    ("POST:\(url):1795000000.0", nil),
    ("POST:\(url):1795000000", nil),
    ("POST:\(url):1795000299.999999", nil),
    ("POST:\(url):1794999700", nil),
    ("POST:\(url):push_enabled:1,when:12:30:1795000000.123456", nil),
    ("POST:\(url):models:(\n    \"gpt-4o\"\n):1795000000.5", nil),
    ("POST:\(url):1795000300.1", "challenge_time"),
    ("POST:\(url):1794999699.9", "challenge_time"),
    ("POST:\(url):0", "challenge_time"),
    ("POST:\(url):99999999999999999999999999", "challenge_time"),
    ("GET:\(url):1795000000.0", "challenge_mismatch"),
    ("POST:https://api.example.org/api/v1/push/register:1795000000.0", "challenge_mismatch"),
    ("POST:https://api.example.com/api/v1/device-prefs:1795000000.0", "challenge_mismatch"),
    ("POST:http://api.example.org/api/v1/device-prefs:1795000000.0", "challenge_mismatch"),
    ("POST:\(url)/:1795000000.0", "challenge_mismatch"),
    ("POST:\(url)?a=1:1795000000.0", "challenge_mismatch"),
    // These texts do not name a request, so only the signature counts.
    ("", nil), ("something of its own", nil), ("post:\(url):0", nil), ("a:b:12", nil),
    ("POST:\(url)", nil), ("POST:\(url):12:30pm", nil), ("POST:\(url):1e9", nil),
    ("POST:\(url):", nil),
  ]

  @Test(arguments: signed)
  func theSignedTextMustMatchTheRequest(text: String, reason: String?) throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      site.advance(to: Timestamp(seconds: 1_795_000_000))
      let answer = site.post(provenBy: phone, counter: 1, by: ann, signed: text)
      if let reason {
        #expect(answer.isUnproved(reason), "\(answer.text)")
        #expect(site.keyState(phone) == "0\tNULL")
      } else {
        #expect(answer.status == 200, "\(answer.text)")
      }
    }
  }

  @Test func theSignedTextIncludesTheQuery() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      for (signed, status) in [("?a=1", 200), ("", 403), ("?a=2", 403), ("?a=1&b", 403)] {
        let text = site.signedRequest("POST", "/api/v1/device-prefs" + signed)
        let answer = site.send(
          "POST", "/api/v1/device-prefs", "{}", token: ann.accessToken, query: "a=1",
          fields: phone.proof(of: text, counter: 1))
        #expect(answer.status == status, "\(signed)")
      }
    }
  }

  private static let broken: [(Int, String?, String)] = [
    (0, nil, "challenge_missing"), (0, "no base64", "challenge_malformed"),
    (1, nil, "key_unknown"), (1, "no base64", "key_unknown"), (1, "AAAA", "key_unknown"),
    (1, AttestedPhone(appID: ourApp).keyID, "key_unknown"),
    (2, "no base64", "malformed"), (2, "AAAA", "malformed"), (2, "", "malformed"),
    (0, base64Encoded(Array("else".utf8)), "signature"),
  ]

  @Test(arguments: broken)
  func aMalformedProofIsRefusedAndChangesNoKey(
    field: Int, value: String?, reason: String
  ) throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      var fields = phone.proof(of: site.signedRequest(), counter: 1)
      if let value { fields[field].value = value } else { fields.remove(at: field) }
      #expect(site.post("{}", by: ann, fields: fields).isUnproved(reason))
      #expect(site.lastOutcome == "write_refused\trefused\t\(reason)")
      #expect(site.sql("SELECT COUNT(*), MAX(counter) FROM attestation_keys") == "1\t0")
    }
  }

  @Test func aRefusedWriteIsAuditedAndWritesNothing() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let answer = site.send(
        "POST", "/api/v1/device-prefs", #"{"push_enabled":true}"#, token: ann.accessToken,
        fields: PreferencesAuditTests.mac, address: "2001:db8::1", requestID: "write")
      #expect(
        answer.text
          == #"{"error":{"code":"forbidden","message":"The app has not proved that it is genuine: stub","details":{"field":"X-iOS-App-Attest-Assertion","reason":"stub"}}}"#
      )
      #expect(
        site.sql(
          """
          SELECT event, account_id, device_id, address, platform, bundle_id, app_version, attestation,
            attestation_reason FROM audit_log WHERE request_id = 'write'
          """)
          == "write_refused\t\(ann.accountID)\t\(site.onlyDevice)\t2001:db8::1\tmacOS\tapp.hamrah.ios\t1.0\trefused\tstub"
      )
      #expect(site.preferences(of: ann).version == 0)
      #expect(site.hits("device-prefs") == "")
    }
  }

  @Test func aFailedWriteSpendsItsAssertion() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      let fields = phone.proof(of: site.signedRequest(), counter: 1)
      #expect(site.post("{", by: ann, fields: fields).status == 400)
      #expect(site.post("{}", by: ann, fields: fields).isUnproved("assertion_out_of_order"))
      #expect(site.keyState(phone) == "1\tann@example.org")
    }
  }

  @Test func aWrongDeviceCredentialSpendsAndBindsNothing() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      let fields = phone.proof(of: site.signedRequest(), counter: 1)
      let wrong = [(name: "X-Device-Credential", value: "wrong")]
      #expect(site.post("{}", by: ann, fields: fields + wrong).status == 401)
      #expect(site.keyState(phone) == "0\tNULL")
      #expect(site.post("{}", by: ann, fields: fields).status == 200)
    }
  }

  @Test func modeOffSpendsAndBindsNothing() throws {
    try withApplication(attestation: .ofTests(.off)) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      let signed = site.signedRequest("GET")
      #expect(
        site.preferences(of: ann, fields: phone.proof(of: signed, counter: 2)).status == 200)
      #expect(site.keyState(phone) == "0\tNULL")
    }
  }

  @Test func refusedWritesAreLimited() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      #expect(site.post("{}", by: ann).isUnproved("assertion_missing"))
      site.sql("UPDATE rate_limits SET hits = 600 WHERE name = 'attestation-refused'")
      #expect(site.post("{}", by: ann).status == 429)
      #expect(site.audited("write_refused") == 1)
    }
  }

  @Test func anEndedSessionIs401AndSpendsNothing() throws {
    for mode in [AttestationPolicy.Mode.observe, .enforce] {
      try withApplication(attestation: .ofTests(mode)) { site in
        let ann = try site.signUp()
        let phone = try site.enrolledPhone()
        #expect(
          site.send("POST", AccountPath.logout, "{}", token: ann.accessToken).status == 200)
        #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 401)
        #expect(site.post("{}", by: ann).status == 401)
        #expect(site.send("POST", "/api/v1/device-prefs", "{}").status == 401)
        #expect(
          site.preferences(of: ann, fields: phone.proof(of: "x", counter: 1)).status == 401)
        #expect(site.keyState(phone) == "0\tNULL")
        #expect(site.audited("write_refused") == 0)
      }
    }
  }

  @Test func withoutATeamAnAssertionIsNotVerified() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let phone = AttestedPhone(appID: ourApp)
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      #expect(site.lastOutcome == "preferences_written\tunverified\tNULL")
      #expect(site.preferences(of: ann, fields: phone.proof(of: "x", counter: 2)).status == 200)
    }
  }
}

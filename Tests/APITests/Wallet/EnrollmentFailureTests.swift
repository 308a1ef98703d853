import Base
import Cryptography
import Delivery
import Foundation
import MariaDB
import Store
import Support
import Testing

@testable import API

/// Failed enrollments: the app gets a clear error word, and no partial data are stored.
@Suite struct EnrollmentFailureTests {
  // MARK: - States

  @Test(arguments: [
    "", "?code=c", "?code=c&state=", "?state=00000000000000000000000000000000&code=c",
    "?error=access_denied&state=x", "?code=c&state=%00%ff&state=y",
  ])
  func unknownStatesAreInvalid(query: String) throws {
    try withBank { site, ann, bank throws in
      _ = try site.startEnrollment(by: ann)
      site.expectInvalidState(
        bank, "\(TestApplication.publicURL)/api/enrollment/callback/test-bank\(query)")
      #expect(site.count("enrollment_states WHERE spent_at IS NULL") == 1)
    }
  }

  @Test(arguments: [
    "UPDATE sessions SET ended_at = NOW(3), end_reason = 'logout'",
    "UPDATE devices SET revoked_at = NOW(3)",
    "UPDATE sessions SET rotated_at = '2020-01-01', expires_at = '2020-01-02'",
    "UPDATE enrollment_states SET spent_at = '2020-01-01'",
    "UPDATE enrollment_states SET bsim_id = 'other-bank'", "DELETE FROM accounts",
  ])
  func aStateEndsWithItsSessionBankAndAccount(statement: String) throws {
    try withBank { site, ann, bank throws in
      site.addBank("other-bank", "Other", logo: nil)
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      site.sql(statement)
      site.expectInvalidState(bank, location)
    }
  }

  @Test func aStateIsValidForTenMinutes() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      site.advance(by: .seconds(600))
      site.expectInvalidState(bank, location)
      let start = try site.startEnrollmentInBrowser(by: ann)
      let page = try #require(bank.consent(to: start.url))
      site.advance(by: .seconds(600))
      let answer = site.comeBack(to: page, cookie: start.cookie)
      #expect(answer.status == 400)
      #expect(answer.text.contains("has expired"))
      let last = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      site.advance(by: .milliseconds(599_990))
      let success = try site.withCompanion(of: .banks) { site.comeBack(to: last) }
      #expect(success.field("Location") == EnrollmentTests.success)
    }
  }

  @Test func aStateIsValidOnlyAtItsOwnBank() throws {
    try withBank { site, ann, bank throws in
      let other = try #require(FakeBank())
      defer { other.end() }
      try site.connect(other, "other-bank")
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let elsewhere = location.replacing("/test-bank?", with: "/other-bank?")
      site.expectInvalidState(other, elsewhere)
      #expect(
        site.sql("SELECT event, detail FROM audit_log WHERE event = 'bank_refused'")
          == "bank_refused\tother-bank: the state was spent, has expired or is another bank's"
      )
      let answer = try site.withCompanion(of: .banks) { site.comeBack(to: location) }
      #expect(answer.field("Location") == EnrollmentTests.success)
      #expect(other.exchanges == 0)
    }
  }

  @Test func oneOfManyCallbacksAtOnceIsExchanged() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let locations = try site.withCompanion(of: .banks) {
        inParallel(64) { _ in site.comeBack(to: location).field("Location") }
      }
      #expect(locations.contains(EnrollmentTests.success))
      #expect(locations.allSatisfy { $0 == nil || $0 == EnrollmentTests.success })
      #expect(bank.exchanges == 1)
      #expect(site.count("jobs") == 1)
      #expect(site.cards(of: ann) == ["4242*", "0005"])
    }
  }

  /// A program that scans links neither begins nor ends an enrollment.
  @Test func headIsRefusedAndSpendsNothing() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let before = site.rows("enrollment_states", "jobs", "audit_log")
      let query = String(location.split(separator: "?")[1])
      for (path, allowed) in [("callback", "GET, POST"), ("start", "GET")] {
        let answer = site.send(
          "HEAD", "/api/enrollment/\(path)/test-bank", token: ann.accessToken, query: query)
        #expect(answer.status == 405)
        #expect(
          answer.isEnrollmentError(405, Messages.english.unknownRequest) == (path == "callback"))
        #expect(answer.field("Allow") == allowed)
      }
      #expect(site.rows("enrollment_states", "jobs", "audit_log") == before)
      let answer = try site.withCompanion(of: .banks) { site.comeBack(to: location) }
      #expect(answer.field("Location") == EnrollmentTests.success)
    }
  }

  @Test func anUnknownBankIsNotFound() throws {
    try withBank { site, _, _ throws in
      let answer = site.send("GET", "/api/enrollment/callback/x", query: "state=a&code=b")
      #expect(answer.isEnrollmentError(404, "This bank cannot be added here. Choose another one."))
    }
  }

  @Test func everyErrorIsAPage() throws {
    let away = Application.ofTests(
      on: ConnectionSettings(socket: "/none", database: "x", user: "x"))
    for method in ["GET", "POST"] {
      let answer = away.send(
        method, "/api/enrollment/callback/test-bank", "state=a", query: "state=a",
        fields: [("Content-Type", "application/x-www-form-urlencoded")])
      #expect(answer.isEnrollmentError(503, Messages.english.unavailable), "\(answer.text)")
      #expect(answer.retryAfter == 2)
    }
  }

  // MARK: - Refusals by the bank

  @Test(arguments: [
    ("access_denied", "user_cancelled", "access_denied"),
    ("server_error", "bank_unavailable", "server_error"),
    ("temporarily_unavailable", "bank_unavailable", "temporarily_unavailable"),
    ("invalid_scope", "bank_refused", "invalid_scope"),
    ("</script><b>&\r\n", "bank_refused", "an error without a name"),
    ("", "bank_refused", "an error without a name"),
  ])
  func aRefusalByPersonOrBankIsReported(word: String, error: String, detail: String) throws {
    try withBank { site, ann, bank throws in
      bank.play { $0.faults[.authorize] = .refusal(word) }
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      #expect(failedEnrollment(error, in: site.comeBack(to: location).field("Location")))
      #expect(bank.exchanges == 0)
      #expect(site.count("jobs") == 0)
      #expect(
        site.sql("SELECT detail, account_id FROM audit_log WHERE event = 'bank_refused'")
          == "test-bank: \(detail)\t\(ann.accountID)")
      #expect(failedEnrollment(error, in: site.comeBack(to: location).field("Location")))
      let start = try site.startEnrollmentInBrowser(by: ann)
      let page = try #require(bank.consent(to: start.url))
      let said = site.comeBack(to: page, cookie: start.cookie)
      #expect(said.status == 400)
      #expect(!said.text.contains("was used before"))
    }
  }

  private func expectFailure(
    _ error: String, _ site: TestApplication, _ ann: SignedIn, _ bank: FakeBank,
    changing change: (StartedEnrollment) -> String = { $0.url },
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let start = try site.startEnrollment(by: ann)
    let location = try #require(bank.consent(to: change(start)), sourceLocation: sourceLocation)
    let answer = try site.withCompanion(of: .banks) { site.comeBack(to: location) }
    #expect(answer.status == 302, sourceLocation: sourceLocation)
    #expect(
      failedEnrollment(error, in: answer.field("Location")),
      "\(answer.field("Location") ?? answer.text)", sourceLocation: sourceLocation)
    #expect(site.stored == 0, sourceLocation: sourceLocation)
    #expect(
      site.sql("SELECT event FROM audit_log ORDER BY id DESC LIMIT 1") == "bank_refused",
      sourceLocation: sourceLocation)
  }

  @Test func aWrongVerifierIsRefused() throws {
    try withBank { site, ann, bank throws in
      let other = base64URLEncoded([UInt8](repeating: 1, count: 32))
      try expectFailure("bank_refused", site, ann, bank) {
        $0.changing("code_challenge", to: other)
      }
      #expect(bank.exchanges == 1)
      #expect(
        site.sql("SELECT detail FROM audit_log ORDER BY id DESC LIMIT 1")
          == "test-bank: bank_refused, token 400 invalid_grant")
    }
  }

  @Test func anIDTokenOfAnotherEnrollmentIsRefused() throws {
    try withBank { site, ann, bank throws in
      try expectFailure("bank_refused", site, ann, bank) {
        $0.changing("nonce", to: hexEncoded(randomBytes(16)))
      }
      #expect(bank.exchanges == 1)
    }
  }

  @Test func aCodeThatWasExchangedBeforeIsRefused() throws {
    try withBank { site, ann, bank throws in
      let first = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      _ = try site.withCompanion(of: .banks) { site.comeBack(to: first) }
      let second = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      func part(_ name: String, of location: String) -> String {
        location.split(whereSeparator: { "?&".contains($0) }).first { $0.hasPrefix("\(name)=") }
          .map(String.init) ?? ""
      }
      let mixed = second.replacing(part("code", of: second), with: part("code", of: first))
      let before = site.rows("cards", "enrollments")
      let answer = try site.withCompanion(of: .banks) { site.comeBack(to: mixed) }
      #expect(failedEnrollment("bank_refused", in: answer.field("Location")))
      #expect(site.rows("cards", "enrollments") == before)
    }
  }

  @Test func aWrongSecretIsRefused() throws {
    try withBank { site, ann, bank throws in
      let other = seal(
        Array("other".utf8), authenticating: BankConnection.sealingContext(ofSecret: "test-bank"),
        for: TestApplication.boxKeys.publicKeys)
      site.sql("UPDATE banks SET client_secret = '\(other)'")
      try expectFailure("bank_refused", site, ann, bank)
    }
  }

  @Test(arguments: [
    "UPDATE banks SET client_secret = 'k1.AAAA'", "UPDATE enrollment_states SET verifier = 'k9.x'",
    "UPDATE banks SET token_url = 'http://bank.example/token'",
    "UPDATE banks SET token_url = 'http://127.evil.example/token'",
    "UPDATE banks SET token_url = REPLACE(token_url, 'http:', 'https:')",
    "UPDATE banks SET token_url = 'http://127.0.0.1:1/token'",
    "UPDATE banks SET cards_url = 'http://bank.example/cards'",
  ])
  func aBankThatCannotBeAskedIsUnavailable(statement: String) throws {
    try withBank { site, ann, bank throws in
      let start = try site.startEnrollment(by: ann)
      site.sql(statement)
      let location = try #require(bank.consent(to: start.url))
      let answer = try site.withCompanion(of: .banks) { site.comeBack(to: location) }
      #expect(failedEnrollment("bank_unavailable", in: answer.field("Location")))
      #expect(site.stored == 0)
    }
  }

  @Test func aBankThatIsRemovedMeanwhileIsUnavailable() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      site.sql(
        """
        UPDATE banks SET authorization_url = NULL, token_url = NULL, cards_url = NULL, client_id = NULL,
          client_secret = NULL, scope = NULL
        """)
      let answer = try site.withCompanion(of: .banks) { site.comeBack(to: location) }
      #expect(failedEnrollment("bank_unavailable", in: answer.field("Location")))
      #expect(bank.exchanges == 0)
    }
  }

  static let faults: [(FakeBank.Endpoint, FakeBank.Fault, String)] = [
    (.token, .status(500), "bank_unavailable"), (.token, .status(503), "bank_unavailable"),
    (.token, .status(429), "bank_unavailable"), (.token, .status(302), "bank_unavailable"),
    (.token, .status(404), "bank_unavailable"), (.token, .status(400), "bank_refused"),
    (.token, .status(401), "bank_refused"), (.token, .status(403), "bank_refused"),
    (.token, .body("<html>"), "bank_unavailable"), (.token, .body(""), "bank_unavailable"),
    (.token, .body("{}"), "bank_unavailable"), (.token, .body("[]"), "bank_unavailable"),
    (.token, .body(#"{"access_token":""}"#), "bank_unavailable"),
    (.token, .body(#"{"access_token":7}"#), "bank_unavailable"),
    (.token, .body(#"{"access_token":"a\r\nX: y"}"#), "bank_unavailable"),
    (.token, .body(#"{"access_token":"a","token_type":"mac"}"#), "bank_unavailable"),
    (.token, .body(#"{"access_token":"a","id_token":"a.b.c"}"#), "bank_refused"),
    (.token, .body(#"{"access_token":"a"} "#), "bank_refused"),  // `cards` refuses it
    (.token, .large, "bank_unavailable"),
    (.cards, .status(500), "bank_unavailable"), (.cards, .status(302), "bank_unavailable"),
    (.cards, .status(401), "bank_refused"), (.cards, .status(403), "bank_refused"),
    (.cards, .large, "bank_unavailable"), (.cards, .body("<html>"), "bank_unavailable"),
    (.cards, .body(#"{"cards":null}"#), "bank_unavailable"),
    (.cards, .body("{}"), "bank_unavailable"), (.cards, .body("[]"), "bank_unavailable"),
  ]

  @Test(arguments: faults)
  func aFailingBankLeavesNothingBehind(
    endpoint: FakeBank.Endpoint, fault: FakeBank.Fault, error: String
  ) throws {
    try withBank { site, ann, bank throws in
      bank.play { $0.faults[endpoint] = fault }
      try expectFailure(error, site, ann, bank)
    }
  }

  @Test(arguments: [FakeBank.Endpoint.token, .cards])
  func aSilentBankIsUnavailableInTime(endpoint: FakeBank.Endpoint) throws {
    try withBank { site, ann, bank throws in
      bank.play { $0.faults[endpoint] = .silence }
      try expectFailure("bank_unavailable", site, ann, bank)
    }
  }

  @Test(arguments: [
    #""id":"""#, #""id":"\u0000""#, #""id":7"#, #""id":null"#, #""lastFour":"424""#,
    #""lastFour":"42424""#, #""lastFour":"４２４２""#, #""lastFour":4242"#, #""cardType":"""#,
    #""cardType":"Vi\nsa""#, #""cardType":"<b>""#, #""cardType":"ABCDEFGHIJKLMNOPQRSTU""#,
    #""expiryMonth":0"#, #""expiryMonth":13"#, #""expiryMonth":"1""#, #""expiryMonth":1.5"#,
    #""expiryYear":1999"#, #""expiryYear":2200"#, #""expiryYear":99999999999999999999"#,
  ])
  func oneWrongCardPreventsAllFromBeingStored(member: String) throws {
    try withBank { site, ann, bank throws in
      let good = #""id":"a","lastFour":"4242","cardType":"VISA","expiryMonth":1,"expiryYear":2030"#
      bank.play {
        $0.cards =
          #"{"cards":[{\#(good)},{\#(good.replacing(#""id":"a""#, with: #""id":"b""#)),\#(member)}]}"#
      }
      try expectFailure("bank_unavailable", site, ann, bank)
    }
  }

  @Test func duplicateOrTooManyCardsAreRefused() throws {
    try withBank { site, ann, bank throws in
      func cards(_ ids: [String]) -> String {
        let list = ids.map {
          #"{"id":"\#($0)","lastFour":"4242","cardType":"VISA","expiryMonth":1,"expiryYear":2030}"#
        }
        return #"{"cards":[\#(list.joined(separator: ","))]}"#
      }
      for ids in [["a", "b", "a"], (1...101).map { "\($0)" }] {
        bank.play { $0.cards = cards(ids) }
        try expectFailure("bank_unavailable", site, ann, bank)
      }
      bank.play { $0.cards = cards((1...100).map { "\($0)" }) }
      #expect(try site.enroll(ann, at: bank).hasSuffix("&cardCount=100"))
      #expect(site.count("cards WHERE active") == 100)
    }
  }
}

import Base
import Dispatch
import Foundation
import Support
import Synchronization
import Testing

/// Enrollments at a bank through nginx, responder and companion. curl plays the app and the
/// browser.
@Suite(.serialized) struct BankTests {
  @Test func theBanksCardsAreInTheWallet() async throws {
    try await withBank { site, ann, bank in
      let banks = site.curl("/api/mobile/enrollment/banks")
      #expect(
        banks.body == #"{"banks":[{"bsimId":"test-bank","name":"Test Bank","logoUrl":null}]}"#)
      let location = try site.consent(of: ann, at: bank.url)
      // HEAD does not use the state.
      #expect(site.curl(location, "--head").fields["allow"] == "GET, POST")
      // One of many parallel callbacks calls the bank; the others wait, or get the same answer.
      let ends = Mutex<[String]>([])
      DispatchQueue.concurrentPerform(iterations: 64) { _ in
        let end = site.end(location)
        ends.withLock { $0.append(end) }
      }
      #expect(ends.withLock { $0.contains(Self.success) })
      #expect(ends.withLock { Set($0).isSubset(of: [Self.success, ""]) })
      #expect(bank.exchanges == 1)
      let summary = site.curl("/api/mobile/wallet/summary", "--header", ann.bearer).body
      #expect(
        summary.contains(
          #""lastFour":"4242","cardType":"VISA","bankName":"Test Bank","expiryMonth":12,"#
            + #""expiryYear":2030,"isDefault":true"#))
      #expect(
        summary.contains(
          #""enrolledBanks":[{"bsimId":"test-bank","name":"Test Bank","cardCount":2}]"#))
      #expect(
        try site.administrator("SELECT email, bsim_id, cards FROM enrolled_banks")
          == "ann@example.org\ttest-bank\t2")

      let jar = "\(site.state)/cookies"
      let back = try site.consent(of: ann, at: bank.url, cookies: jar)
      let elsewhere = "127.0.0.2"
      let question = site.curl(back, "--interface", elsewhere)
      #expect(question.status == 400)
      #expect(question.body.contains(">Open the app</a>"))
      let page = site.curl(back, "--interface", elsewhere, "--cookie", jar)
      #expect(page.status == 200)
      #expect(page.fields["content-type"] == "text/html; charset=utf-8")
      #expect(page.fields["cache-control"] == "no-store")
      #expect(page.body.contains("2 cards are in your wallet."))
      #expect(try site.stored() == 3)
    }
  }

  @Test func thePersonIsAskedFirst() async throws {
    try await withBank { site, ann, bank in
      let location = try site.consent(of: ann, at: bank.url)
      let elsewhere = ["--interface", "127.0.0.2"]
      let page = site.curl(location, elsewhere[0], elsewhere[1])
      #expect(page.status == 200)
      #expect(page.body.contains("<bdi>ann@example.org</bdi>"))
      #expect(try site.sql("SELECT spent_at FROM enrollment_states") == "NULL\n")
      let parts = location.split(separator: "?").map(String.init)
      for _ in 1...2 {
        let answer = site.curl(parts[0], elsewhere[0], elsewhere[1], "--data", parts[1])
        #expect(answer.status == 302)
        #expect(answer.fields["location"] == Self.success, "\(answer.fields)")
      }
      #expect(try site.stored() == 3)
      #expect(
        try site.administrator(
          "SELECT detail FROM audit_trail WHERE event = 'bank_enrollment_begun'") == "test-bank")
    }
  }

  @Test func administratorsManageBanksFromATerminal() async throws {
    try await withBank { site, ann, bank in
      let list = site.companion("banks")
      #expect(list.status == 0)
      let line = try #require(list.output.split(separator: "\n").last)
      #expect(line.hasPrefix("test-bank "))
      #expect(line.hasSuffix("  yes                Test Bank  \(bank.url)/authorize"), "\(line)")
      #expect(!list.output.contains(bank.clientSecret))

      let before = try site.sql("SELECT * FROM banks")
      let refused = site.companion(
        "banks", "add", "--bsim-id", "a/b", "--name", " ", "--authorization-url", "ftp://a",
        "--token-url", "http://bank.example/token", "--cards-url", "https://c/#x", "--client-id",
        "c")
      #expect(refused.status != 0)
      for name in [
        "--bsim-id", "--name", "--authorization-url", "--token-url", "--cards-url", "secret",
      ] {
        #expect(refused.output.contains(name), "\(name) in \(refused.output)")
      }
      #expect(try site.sql("SELECT * FROM banks") == before)

      #expect(site.connect(bank, name: "Renamed").status == 0)
      #expect(try site.sql("SELECT name FROM banks") == "Renamed\n")
      #expect(site.end(try site.consent(of: ann, at: bank.url)).contains("&bankName=Renamed&"))
      #expect(site.companion("banks", "remove", "test-bank").status == 0)
      #expect(site.companion("banks", "remove", "test-bank").status != 0)
      #expect(site.companion("banks").output.hasSuffix("  no                 Renamed  -\n"))
      #expect(site.start(ann).status == 404)
      #expect(try site.stored() == 3)
    }
  }

  @Test func failuresAreReportedAndLeaveNothingBehind() async throws {
    try await withBank { site, ann, bank in
      func expect(_ error: String, at location: String) throws {
        let end = site.end(location)
        #expect(
          end.hasPrefix("mwsim://enrollment/callback?success=false&error=\(error)&message="),
          "\(end)")
        #expect(try site.stored() == 0, "\(error)")
      }
      #expect(site.connect(bank, "other-bank").status == 0)
      let callback = "/api/enrollment/callback/test-bank"
      try expect(
        "invalid_state", at: "\(callback)?code=c&state=\(String(repeating: "0", count: 32))")
      try expect("invalid_state", at: callback)
      let elsewhere = try site.consent(of: ann, at: bank.url)
      try expect("invalid_state", at: elsewhere.replacing("/test-bank?", with: "/other-bank?"))
      let late = try site.consent(of: ann, at: bank.url)
      _ = try site.sql("UPDATE enrollment_states SET expires_at = UTC_TIMESTAMP(3)")
      try expect("invalid_state", at: late)
      #expect(bank.exchanges == 0)

      let other = "code_challenge=\(String(repeating: "A", count: 43))&"
      let tampered = try site.consent(of: ann, at: bank.url) {
        $0.replacing(#/code_challenge=[^&]*&/#, with: other)
      }
      // A second visit gets the same answer.
      for _ in 1...2 { try expect("bank_refused", at: tampered) }
      let faults: [(FakeBank.Endpoint, FakeBank.Fault, String)] = [
        (.authorize, .refusal("access_denied"), "user_cancelled"),
        (.token, .status(500), "bank_unavailable"), (.token, .silence, "bank_unavailable"),
        (.cards, .silence, "bank_unavailable"), (.cards, .body("<html>"), "bank_unavailable"),
        (.cards, .status(403), "bank_refused"),
      ]
      for (endpoint, fault, error) in faults {
        bank.play { $0.faults = [endpoint: fault] }
        try expect(error, at: try site.consent(of: ann, at: bank.url))
      }
      #expect(
        try site.administrator(
          "SELECT detail FROM audit_trail WHERE event = 'bank_refused' ORDER BY at DESC LIMIT 1")
          == "test-bank: bank_refused, cards 403")
    }
  }

  @Test func errorsOfTheServerAtTheCallbackArePages() async throws {
    try await withBank { site, _, _ in
      let file = "\(site.state)/body"
      try Data(repeating: 32, count: 65_537).write(to: URL(filePath: file))
      let answer = site.curl(
        "/api/enrollment/callback/test-bank", "--data-binary", "@\(file)")
      #expect(answer.status == 413)
      #expect(answer.fields["content-type"] == "text/html; charset=utf-8")
      #expect(answer.fields["cache-control"] == "no-store")
      #expect(answer.body.contains(">Open the app</a>"))
      #expect(answer.body.hasPrefix("<!DOCTYPE html>"))
    }
  }

  @Test func withoutACompanionThereIsNoAnswerAndNothingIsStoredLater() async throws {
    try await withBank { site, ann, bank in
      let location = try site.consent(of: ann, at: bank.url)
      // The companion is killed after the exchange of the code and before anything is stored.
      bank.play { $0.beforeCards = { site.pid(of: "companion").map { _ = kill($0, SIGKILL) } } }
      #expect(site.end(location).contains("&error=no_answer&"))
      #expect(bank.exchanges == 1)
      bank.play { $0.beforeCards = nil }

      let second = try site.consent(of: ann, at: bank.url)
      kill(try #require(site.keeper(of: "companion")), SIGKILL)
      if let companion = site.pid(of: "companion") { kill(companion, SIGKILL) }
      let start = ContinuousClock.now
      #expect(site.end(second).contains("&error=no_answer&"))
      #expect(ContinuousClock.now - start >= .seconds(10))
      #expect(try site.sql("SELECT DISTINCT state FROM jobs") == "dead\n")
      #expect(site.start().status == 0)
      #expect(site.end(second).contains("&error=no_answer&"))

      // The companion runs again, and no old job was waiting for it.
      #expect(site.end(try site.consent(of: ann, at: bank.url)) == Self.success)
      #expect(try site.stored() == 3)
      #expect(bank.exchanges == 2)
    }
  }

  /// The example that `nginx/run --fakes` prints.
  @Test func aNewcomerEnrollsAtTheFakeBank() async throws {
    try await withSite(hasFakes: true) { site in
      let ann = try site.signUp()
      let bank = "http://127.0.0.1:\(try text("port", of: site))"
      let cards =
        #"{"cards":[{"id":"a","lastFour":"1111","cardType":"DEBIT","expiryMonth":1,"expiryYear":2030}]}"#
      for (cards, faults, end) in [
        (nil, "token status 500", "&error=bank_unavailable&"),
        (nil, "authorize refusal access_denied", "&error=user_cancelled&"),
        (nil, "cards body x", "&error=bank_unavailable&"), (nil, "", "&cardCount=2"),
        (cards, "", "&cardCount=1"),
      ] as [(String?, String, String)] {
        try faults.write(toFile: "\(site.state)/bank/faults", atomically: true, encoding: .utf8)
        try cards?.write(
          toFile: "\(site.state)/bank/cards.json", atomically: true, encoding: .utf8)
        #expect(site.end(try site.consent(of: ann, at: bank)).contains(end), "\(faults)")
      }
      let secret = try text("client-secret", of: site)
      #expect(secret.count > 30)
      #expect(!site.dump().contains(secret))
    }
  }

  private func text(_ file: String, of site: Site) throws -> String {
    try String(contentsOfFile: "\(site.state)/bank/\(file)", encoding: .utf8).trimmed
  }

  @Test func secretsOfEnrollmentsAreNeitherInDatabaseNorLogs() async throws {
    try await withBank { site, ann, bank in
      var secrets = [bank.clientSecret]
      for fault in [nil, FakeBank.Fault.status(400), .body("<html>")] {
        bank.play { $0.faults[.token] = fault }
        let location = try site.consent(of: ann, at: bank.url) { url in
          secrets += url.matches(of: #/(?:state|nonce)=([0-9a-f]+)/#).map { String($0.1) }
          return url
        }
        secrets += location.matches(of: #/(?:code|state)=([^&]+)/#).map { String($0.1) }
        _ = site.curl(location, "--interface", "127.0.0.2")
        _ = site.end(location)
        _ = site.end(location)
      }
      // Without a responder the web server logs the failed requests.
      if WebServer.ofTests.hasResponder {
        kill(try #require(site.keeper(of: "responder")), SIGKILL)
        kill(try #require(site.pid(of: "responder")), SIGKILL)
      }
      for secret in secrets {
        _ = site.curl("/api/enrollment/callback/test-bank?state=\(secret.urlEncoded)&code=x")
      }
      secrets += bank.secrets
      #expect(secrets.count > 20)
      let dump = site.dump()
      #expect(dump.contains("INSERT INTO `enrollment_states`"))
      for log in Site.logs {
        let text = try site.log(log)
        for secret in secrets { #expect(!text.contains(secret), "\(log)") }
      }
      for secret in secrets { #expect(!dump.contains(secret)) }
    }
  }

  private static let success =
    "mwsim://enrollment/callback?success=true&bsimId=test-bank&bankName=Test%20Bank&cardCount=2"
}

extension String {
  fileprivate var urlEncoded: String {
    addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }
}

extension Site {
  /// Connects `bank`, like an administrator.
  @discardableResult
  fileprivate func connect(
    _ bank: FakeBank, _ id: String = "test-bank", name: String = "Test Bank"
  ) -> Outcome {
    companion(
      "banks", "add", "--bsim-id", id, "--name", name, "--authorization-url",
      "\(bank.url)/authorize", "--token-url", "\(bank.url)/token", "--cards-url",
      "\(bank.url)/cards", "--client-id", bank.clientID, input: "\(bank.clientSecret)\n")
  }

  fileprivate func start(_ person: Person) -> Answer {
    post("/api/mobile/enrollment/start/test-bank", "", person.bearer)
  }

  /// Sends a person to the bank, who consents.
  ///
  /// - Parameters:
  ///   - cookies: a file for the browser's cookies; nil if the app begins.
  ///   - tamper: changes the URL for the bank.
  /// - Returns: the path and query to which the bank redirects the browser.
  fileprivate func consent(
    of person: Person, at bank: String, cookies: String? = nil,
    tamper: (String) -> String = { $0 }
  ) throws -> String {
    let url: String
    if let cookies {
      let answer = curl(
        "/api/enrollment/start/test-bank", "--header", person.bearer, "--cookie-jar", cookies)
      try #require(answer.status == 302, "\(answer.body)")
      url = answer.fields["location"] ?? ""
    } else {
      url = try start(person).string("authUrl")
    }
    try #require(url.hasPrefix("\(bank)/authorize?"))
    let sent = Self.run([
      "curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out",
      "%{redirect_url}", tamper(url),
    ]).output
    try #require(sent.hasPrefix("\(self.url)/api/enrollment/callback/test-bank?"), "\(sent)")
    return String(sent.dropFirst(self.url.count))
  }

  /// The URL to which the callback redirects the app after the person has agreed.
  fileprivate func end(_ location: String) -> String {
    let parts = location.split(separator: "?", maxSplits: 1).map(String.init)
    let form = ["--data", parts.count > 1 ? parts[1] : ""]
    return curl(parts[0], form[0], form[1]).fields["location"] ?? ""
  }

  /// The number of rows that enrollments have written.
  fileprivate func stored() throws -> Int {
    Int(try sql("SELECT (SELECT COUNT(*) FROM enrollments) + COUNT(*) FROM cards").trimmed) ?? -1
  }
}

/// Calls `body` with Ann and a site with a connected bank.
private func withBank(
  isolation: isolated (any Actor)? = #isolation,
  _ body: (Site, Person, FakeBank) async throws -> Void
) async throws {
  let bank = try #require(FakeBank())
  defer { bank.end() }
  // The interval is too long for the test, so only wake-ups start the companion in time.
  try await withSite(environment: ["CHECK_INTERVAL_SECONDS": "3600"]) { site in
    let outcome = site.connect(bank)
    try #require(outcome.status == 0, "\(outcome.output)")
    try await body(site, site.signUp(), bank)
  }
}

import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// An enrollment ends in the browser or app where it began, so an attacker cannot trick a person
/// into adding cards to the attacker's wallet.
@Suite struct EnrollmentBindingTests {
  private static let elsewhere = "198.51.100.7"

  // MARK: - A browser

  @Test func theBrowserGetsACookieAndOnlyItsHashIsStored() throws {
    try withBank { site, ann, _ throws in
      let start = try site.startEnrollmentInBrowser(by: ann)
      let cookie = try #require(start.cookie?.wholeMatch(of: /__Host-enrollment=([\w-]{43})/))
      let hash = hexEncoded(sha256(String(cookie.1)))
      #expect(
        site.sql("SELECT LOWER(HEX(browser_hash)), address FROM enrollment_states")
          == "\(hash)\t192.0.2.1")
    }
  }

  @Test(arguments: [
    ("https://a.example", "__Host-enrollment=v", "; Secure"),
    ("http://a.example", "enrollment=v", ""),
  ])
  func theCookieIsBoundToTheHostAndHiddenFromScripts(url: String, pair: String, end: String) {
    #expect(
      BrowserCookie.enrollment(at: url).setting("v")
        == "\(pair); Path=/; Max-Age=600; HttpOnly; SameSite=Lax\(end)")
  }

  @Test func anotherBrowserIsRefused() throws {
    try withBank { site, ann, bank throws in
      let start = try site.startEnrollmentInBrowser(by: ann)
      let other = try site.startEnrollmentInBrowser(by: ann)
      let location = try #require(bank.consent(to: start.url))
      let cookie = try #require(start.cookie)
      let unspent = site.rows("enrollment_states", "jobs", "audit_log")
      for wrong in [
        nil, "", other.cookie, cookie + "x", String(cookie.dropLast()), "x\(cookie)",
        cookie.replacing("__Host-", with: ""), "__Host-enrollment=", "__Host-enrollment",
      ] {
        for address in ["192.0.2.1", Self.elsewhere] {
          for page in [
            site.visit(location, cookie: wrong, address: address),
            site.confirm(location, address: address, cookie: wrong),
          ] {
            #expect(page.isEnrollmentError(400, Self.otherBrowser), "\(page.text)")
          }
        }
      }
      #expect(site.rows("enrollment_states", "jobs", "audit_log") == unspent)
      #expect(bank.exchanges == 0)
      // The right cookie is enough at any address, even among other cookies.
      let answer = try site.withCompanion(of: .banks) {
        site.comeBack(
          to: location, cookie: "a=b; \(cookie) ;c=d", address: Self.elsewhere)
      }
      #expect(answer.text.contains("2 cards are in your wallet."))
      let again = site.visit(location, address: Self.elsewhere)
      #expect(again.isEnrollmentError(400, Self.otherBrowser), "\(again.text)")
    }
  }

  /// The bank redirects to the main address, and the browser does not send a cookie of another
  /// address there.
  @Test(arguments: [
    ("api.example.org", true), ("unknown.example", true), ("API.old.example", false),
  ])
  func atAnotherAddressThePersonIsAsked(host: String, hasCookie: Bool) throws {
    try withBank { site, ann, bank throws in
      let application = site.sibling(
        settings: .ofTests(
          publicURLs: [TestApplication.publicURL, "https://api.old.example"]))
      let start = application.send(
        "GET", "/api/enrollment/start/test-bank", token: ann.accessToken,
        fields: [("Host", host)])
      #expect(start.status == 302, "\(start.text)")
      #expect((start.field("Set-Cookie") != nil) == hasCookie)
      guard !hasCookie else { return }
      let url = try #require(start.field("Location"))
      let location = try #require(bank.consent(to: url))
      let question = site.visit(location, application: application, address: Self.elsewhere)
      #expect(question.text.contains(#"<form method="post""#), "\(question.text)")
      #expect(question.text.contains("ann@example.org"))
      let answer = try site.withCompanion(of: .banks) {
        site.confirm(location, application: application, address: Self.elsewhere)
      }
      #expect(answer.text.contains("2 cards are in your wallet."), "\(answer.text)")
    }
  }

  @Test func aBrowserKeepsItsCookieForAllEnrollments() throws {
    try withBank { site, ann, bank throws in
      let first = try site.startEnrollmentInBrowser(by: ann)
      let cookie = try #require(first.cookie)
      let again = site.send(
        "GET", "/api/enrollment/start/test-bank", token: ann.accessToken,
        fields: [("Cookie", cookie)])
      #expect(again.field("Set-Cookie")?.hasPrefix("\(cookie);") == true)
      for bad in ["", "x", "\(cookie.dropLast())é", "\(cookie)x"] {
        let value = bad.isEmpty ? "__Host-enrollment=" : bad
        let other = site.send(
          "GET", "/api/enrollment/start/test-bank", token: ann.accessToken,
          fields: [("Cookie", value)])
        #expect(other.field("Set-Cookie")?.hasPrefix("\(cookie);") == false)
      }
      let location = try #require(bank.consent(to: first.url))
      let answer = try site.withCompanion(of: .banks) {
        site.comeBack(to: location, cookie: cookie)
      }
      #expect(answer.status == 200)
    }
  }

  private static let otherBrowser =
    "This enrollment began in another browser. Go on there, or open the app and start again."

  // MARK: - The app

  @Test(arguments: ["192.0.2.1", elsewhere])
  func thePersonIsAskedFirst(address: String) throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let before = site.rows("enrollment_states", "jobs", "audit_log")
      for _ in 1...2 {
        let page = site.visit(location, address: address)
        #expect(page.status == 200)
        #expect(page.field("Content-Type") == "text/html; charset=utf-8")
        #expect(page.field("Cache-Control") == "no-store")
        // Browsers would send `Origin: null` with the form of a page without a referrer.
        #expect(page.field("Referrer-Policy") == "strict-origin")
        let policy = try #require(page.field("Content-Security-Policy"))
        #expect(policy.hasPrefix("default-src 'none'; "))
        // The answer to the form is a redirect to the app.
        #expect(policy.contains("; form-action 'self' mwsim:; "))
        #expect(policy.hasSuffix("; frame-ancestors 'none'"))
        #expect(page.text.contains("<strong>Test Bank</strong>"))
        #expect(page.text.contains("<bdi>ann@example.org</bdi>"))
        #expect(
          page.text.contains(
            #"<form method="post" action="/api/enrollment/callback/test-bank">"#))
      }
      #expect(site.rows("enrollment_states", "jobs", "audit_log") == before)

      let answer = try site.withCompanion(of: .banks) { site.confirm(location) }
      #expect(answer.status == 302)
      #expect(answer.field("Location") == EnrollmentTests.success)
      #expect(site.cards(of: ann) == ["4242*", "0005"])
      // A second visit gets the same answer.
      for again in [
        site.confirm(location), site.visit(location), site.visit(location, address: Self.elsewhere),
      ] {
        #expect(again.status == 302)
        #expect(again.field("Location") == EnrollmentTests.success)
      }
      #expect(bank.exchanges == 1)
    }
  }

  /// The form's fields equal the bank's values, octet by octet.
  @Test func theFormSendsWhatTheBankSent() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let page = site.visit(location, address: Self.elsewhere).text
      let sent = URLComponents(string: location.replacing("+", with: "%20"))?.queryItems ?? []
      let fields = page.matches(of: /<input type="hidden" name="(\w+)" value="([^"<>]*)">/)
      #expect(fields.map { String($0.1) } == ["code", "state"])
      for field in fields {
        let value = sent.first { $0.name == field.1 }?.value
        #expect(String(field.2) == value?.htmlEscaped)
      }
    }
  }

  @Test func oneOfManyConfirmationsSucceeds() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let ends = try site.withCompanion(of: .banks) {
        inParallel(16) { _ in site.confirm(location).field("Location") }
      }
      // Requests during the exchange with the bank get the answer to wait.
      #expect(ends.contains(EnrollmentTests.success), "\(ends)")
      #expect(ends.allSatisfy { $0 == nil || $0 == EnrollmentTests.success }, "\(ends)")
      #expect(bank.exchanges == 1)
      #expect(site.confirm(location).field("Location") == EnrollmentTests.success)
    }
  }

  @Test func anInvalidStateAsksNoQuestion() throws {
    try withBank { site, ann, bank throws in
      site.addBank("other-bank", "Other", logo: nil)
      for statement in [
        "UPDATE enrollment_states SET spent_at = '2020-01-01'",
        "UPDATE enrollment_states SET expires_at = '2020-01-01'",
        "UPDATE enrollment_states SET bsim_id = 'other-bank'",
        "UPDATE sessions SET ended_at = NOW(3), end_reason = 'logout'",
      ] {
        let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
        site.sql(statement)
        for answer in [
          site.comeBack(to: location, address: Self.elsewhere), site.confirm(location),
        ] {
          #expect(failedEnrollment("invalid_state", in: answer.field("Location")), "\(statement)")
        }
      }
      #expect(bank.exchanges == 0)
    }
  }

  @Test func aRefusalByTheBankAsksNoQuestion() throws {
    try withBank { site, ann, bank throws in
      bank.play { $0.faults[.authorize] = .refusal("access_denied") }
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let answer = site.comeBack(to: location, address: Self.elsewhere)
      #expect(failedEnrollment("user_cancelled", in: answer.field("Location")))
    }
  }

  @Test func hostileNamesAreEscaped() throws {
    try withBank { site, ann, bank throws in
      site.sql(#"UPDATE banks SET name = '<script>"\'&'"#)
      site.sql("UPDATE accounts SET email = '<b>@x<script>.example'")
      let start = try site.startEnrollment(by: ann)
      let location =
        "\(TestApplication.publicURL)/api/enrollment/callback/test-bank"
        + "?code=%22%3E%3Cscript%3E%27%26&state=\(try #require(start.item("state")))"
      let page = site.visit(location, address: Self.elsewhere)
      #expect(page.text.contains("<strong>&lt;script&gt;&quot;&#39;&amp;</strong>"))
      #expect(page.text.contains("<bdi>&lt;b&gt;@x&lt;script&gt;.example</bdi>"))
      #expect(page.text.contains(#"value="&quot;&gt;&lt;script&gt;&#39;&amp;""#))
      #expect(!page.text.contains("<script"))
      #expect(!page.text.contains("<b>"))
    }
  }

  @Test func onlyAFormConfirms() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let before = site.rows("enrollment_states", "jobs")
      for type in [nil, "", "application/json", "multipart/form-data", "text/plain"] {
        let answer = site.confirm(location, type: type)
        #expect(
          answer.isEnrollmentError(400, "The page sent no form. Go back and try again."))
      }
      for body in [
        "", "code=c", "state=x&code=c", "{}", "\0&=%",
        "code=\(String(repeating: "c", count: 60_000))",
      ] {
        let answer = site.confirm("\(location.split(separator: "?")[0])?\(body)")
        #expect(failedEnrollment("invalid_state", in: answer.field("Location")))
      }
      #expect(site.rows("enrollment_states", "jobs") == before)
      let answer = try site.withCompanion(of: .banks) {
        site.confirm(location, type: "Application/X-WWW-Form-URLencoded; charset=UTF-8")
      }
      #expect(answer.field("Location") == EnrollmentTests.success)
    }
  }

  @Test func onlyAFormOfThisSiteConfirms() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let before = site.rows("enrollment_states", "jobs")
      for origin in [
        "https://evil.example", "null", "http://api.example.org", "https://api.example.org.evil",
        "",
      ] {
        let answer = site.confirm(location, origin: origin)
        #expect(
          answer.isEnrollmentError(
            403, "This form came from another site. Open the app and start again."))
      }
      #expect(site.rows("enrollment_states", "jobs") == before)
      // Old browsers send no Origin.
      let answer = try site.withCompanion(of: .banks) { site.confirm(location, origin: nil) }
      #expect(answer.field("Location") == EnrollmentTests.success)
    }
  }

  @Test func whoComesWhileTheBankIsAskedWaits() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      site.sql("UPDATE enrollment_states SET spent_at = '\(sqlText(of: site))'")
      for answer in [site.visit(location), site.confirm(location)] {
        #expect(answer.status == 503 && answer.retryAfter == 2)
        let state = try #require(location.firstMatch(of: /state=(\w+)/)?.1)
        #expect(
          answer.field("Refresh")
            == "2; url=/api/enrollment/callback/test-bank?state=\(state)")
      }
      site.advance(by: .seconds(15))
      #expect(failedEnrollment("invalid_state", in: site.visit(location).field("Location")))
      #expect(bank.exchanges == 0)
    }
  }

  private func sqlText(of site: TestApplication) -> String {
    iso8601(site.now).replacing("T", with: " ").replacing("Z", with: "")
  }

  @Test func theAddressOfTheStartIsAudited() throws {
    try withBank { site, ann, bank throws in
      let start = try site.startEnrollment(by: ann)
      #expect(
        site.sql(
          "SELECT detail, account_id, address FROM audit_log WHERE event = 'bank_enrollment_begun'")
          == "test-bank\t\(ann.accountID)\t192.0.2.1")
      #expect(
        site.sql("SELECT browser_hash, address FROM enrollment_states") == "NULL\t192.0.2.1")
      let location = try #require(bank.consent(to: start.url))
      _ = try site.withCompanion(of: .banks) { site.confirm(location) }
      #expect(
        site.sql("SELECT address FROM audit_log WHERE event = 'bank_enrolled'") == Self.elsewhere)
    }
  }
}

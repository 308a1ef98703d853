import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// Signing in at `/account`.
@Suite struct AccountSignInTests {
  @Test func thePageAsksAStrangerToSignInAndKeepsNothing() throws {
    try withApplication { site in
      var visitor = PageVisitor(site)
      let page = visitor.open()
      #expect(page.status == 200)
      #expect(page.text.contains(#"<label for="email">E-mail address</label>"#))
      #expect(page.field("Set-Cookie") == nil)
      #expect(page.field("Referrer-Policy") == "same-origin")
      let policy = try #require(page.field("Content-Security-Policy"))
      for rule in [
        "default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
      ] { #expect(policy.contains(rule)) }
      #expect(policy.contains("script-src 'self'; connect-src 'self';"))
      #expect(page.text.contains(#"autocomplete="username webauthn""#))
      #expect(!page.text.contains("data-challenge"))
      #expect(site.count("account_visits") == 0)
      #expect(site.send("HEAD", "/account").status == 405)
    }
  }

  @Test func aMailedCodeSignsIn() throws {
    try withApplication { site in
      _ = try site.signUp()
      let devices = site.rows("devices", "sessions")
      var visitor = PageVisitor(site)
      let asked = visitor.sent("/code", ["email": " Ann@Example.org "])
      #expect(asked.status == 303)
      let cookie = try #require(asked.field("Set-Cookie"))
      #expect(
        cookie.wholeMatch(
          of:
            /__Host-account=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure/
        ) != nil, "\(cookie)")
      let page = try visitor.signIn()
      #expect(page.text.contains("<bdi>ann@example.org</bdi>"))
      #expect(
        site.sql("SELECT HEX(id) FROM account_visits WHERE account_id IS NOT NULL").lowercased()
          == hexEncoded(sha256(try #require(visitor.cookie))))
      #expect(site.rows("devices", "sessions") == devices)
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'sign_in' ORDER BY id DESC LIMIT 1")
          == "account page, code")
    }
  }

  /// Only the mail reveals whether an account has the address.
  @Test func anUnknownAddressIsAnsweredLikeAnyOther() throws {
    try withApplication { site in
      _ = try site.signUp()
      var (ann, eve) = (PageVisitor(site), PageVisitor(site))
      let known = ann.send("/code", ["email": "ann@example.org"])
      let unknown = eve.send("/code", ["email": "eve@example.org"])
      #expect(
        known.text.replacing(ann.token, with: "") == unknown.text.replacing(eve.token, with: ""))
      #expect(
        site.sql("SELECT recipient, state FROM outbox WHERE kind = 'login_code' ORDER BY state")
          == "ann@example.org\topen\neve@example.org\tsuppressed")
      let wrong = ann.sent("/sign-in", ["code": "000000x"])
      let wrongToo = eve.sent("/sign-in", ["code": "000000x"])
      #expect(wrong.status == wrongToo.status)
      #expect(site.count("audit_log WHERE event = 'code_requested'") == 2)
    }
  }

  @Test func aWrongCodeIsToldAtItsField() throws {
    try withApplication { site in
      _ = try site.signUp()
      var visitor = PageVisitor(site)
      _ = visitor.send("/code", ["email": "ann@example.org"])
      let code = try site.mailedCode()
      for code in ["", "12345x"] {
        let page = visitor.send("/sign-in", ["code": code])
        #expect(page.status == 400)
        #expect(page.text.contains(#"aria-invalid="true" aria-describedby="code-error" autofocus"#))
        #expect(page.text.contains(#"<p class="error" id="code-error">"#))
      }
      for _ in 1...4 { _ = visitor.send("/sign-in", ["code": "12345x"]) }
      // The code expires after five attempts.
      #expect(visitor.send("/sign-in", ["code": code]).status == 400)
      #expect(site.count("account_visits WHERE account_id IS NOT NULL") == 0)
    }
  }

  @Test func anAddressThatIsNoneIsToldAtItsField() throws {
    try withApplication { site in
      var visitor = PageVisitor(site)
      let page = visitor.send("/code", ["email": #"ann"><b>"#])
      #expect(page.status == 400)
      #expect(page.text.contains("Enter an address such as name@example.org."))
      #expect(page.text.contains(#"value="ann&quot;&gt;&lt;b&gt;""#))
      #expect(site.count("outbox") + site.count("account_visits") == 0)
    }
  }

  @Test func theLimitsOfCodesHold() throws {
    try withApplication { site in
      _ = try site.signUp()
      let statuses = (1...11).map { _ in
        PageVisitor(site).sent("/code", ["email": "ann@example.org"]).status
      }
      #expect(statuses == Array(repeating: 303, count: 10) + [429])
      #expect(site.count("account_visits") == 10)
    }
  }

  @Test func oneOf64ParallelSignInsSucceeds() throws {
    try withApplication { site in
      _ = try site.signUp()
      var visitor = PageVisitor(site)
      _ = visitor.send("/code", ["email": "ann@example.org"])
      let (sender, code) = (visitor, try site.mailedCode())
      let answers = inParallel(64) { _ in sender.sent("/sign-in", ["code": code]) }
      #expect(answers.filter { $0.status == 303 }.count == 1)
      // A later request finds the form used, or the visit replaced.
      #expect(
        answers.allSatisfy { [303, 403, 409].contains($0.status) }, "\(answers.map(\.status))")
      #expect(site.count("account_visits") == 1)
      #expect(site.count("audit_log WHERE event = 'sign_in'") == 2)
    }
  }

  @Test func aVisitLastsAnHour() throws {
    try withVisitor { site, _, visitor in
      let end = try site.instant("SELECT expires_at FROM account_visits")
      site.advance(to: end - .milliseconds(1))
      #expect(visitor.open().text.contains("Signed in as"))
      site.advance(to: end)
      #expect(!visitor.open().text.contains("Signed in as"))
      #expect(visitor.sent("/name", ["name": "Eve"]).status == 403)
    }
  }

  @Test func signingOutEndsTheVisit() throws {
    try withVisitor { site, _, visitor in
      let page = visitor.send("/sign-out")
      #expect(page.text.contains("You are signed out."))
      #expect(site.count("account_visits") == 0)
      #expect(!visitor.open().text.contains("Signed in as"))
    }
  }

  @Test func signingOutEverywhereEndsVisitsToo() throws {
    try withVisitor { site, ann, visitor in
      _ = site.send("POST", AccountPath.logout, token: ann.accessToken, query: "revokeAll=true")
      #expect(!visitor.open().text.contains("Signed in as"))
    }
  }

  // Passkeys -----------------------------------------------------------------------------------------

  private func answer(
    _ page: Answer, with authenticator: Authenticator, of account: String
  ) throws -> String {
    let challenge = try #require(page.text.firstMatch(of: /data-challenge="([^"]+)"/)).1
    #expect(page.text.contains(#"data-party="api.example.org""#))
    return jsonText(
      authenticator.asserted(
        answering: String(challenge), userHandle: userHandle(ofAccount: account)))
  }

  @Test func aPasskeySignsIn() throws {
    try withPasskey { site, ann, authenticator in
      var visitor = PageVisitor(site)
      let asked = visitor.send("/passkey")
      #expect(
        asked.field("Content-Security-Policy")?.contains("default-src 'none'; script-src 'self';")
          == true)
      #expect(
        asked.text.contains(/<script src="\/account\/passkey\.js\?[0-9a-f]{8}" defer><\/script>/))
      let credential = try answer(asked, with: authenticator, of: ann.accountID)
      let page = visitor.send("/passkey/sign-in", ["credential": credential])
      #expect(page.text.contains("Signed in as"))
      #expect(site.sql("SELECT uses FROM passkeys") == "1")
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'sign_in' ORDER BY id DESC LIMIT 1")
          == "account page, passkey")
      #expect(site.count("outbox WHERE kind = 'browser_signed_in'") == 1)

      // The challenge is used, and belongs to another visit.
      var other = PageVisitor(site)
      _ = other.send("/passkey")
      #expect(other.send("/passkey/sign-in", ["credential": credential]).status == 400)
    }
  }

  @Test func anythingElseThanTheRightPasskeyIsRefused() throws {
    try withPasskey { site, ann, authenticator in
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      for number in 0...3 {
        var visitor = PageVisitor(site)
        let page = visitor.send("/passkey")
        let credential =
          switch number {
          case 0: ""
          case 1: "{}"
          case 2: try answer(page, with: Authenticator(), of: ann.accountID)
          default: try answer(page, with: authenticator, of: bob.accountID)
          }
        let refused = visitor.send("/passkey/sign-in", ["credential": credential])
        #expect(refused.status == 400, "\(number)")
        #expect(refused.text.contains("The passkey was not accepted."))
        // The next page has another challenge.
        let again = try answer(refused, with: authenticator, of: ann.accountID)
        #expect(
          visitor.send("/passkey/sign-in", ["credential": again]).text.contains("Signed in as"))
      }
    }
  }

  /// Passkeys of an unproven account may belong to a stranger.
  @Test func aPasskeyOfAnUnprovenAccountIsRefused() throws {
    try withPasskey { site, ann, authenticator in
      site.sql("UPDATE accounts SET email_verified_at = NULL")
      var visitor = PageVisitor(site)
      let page = visitor.send("/passkey")
      let credential = try answer(page, with: authenticator, of: ann.accountID)
      #expect(visitor.send("/passkey/sign-in", ["credential": credential]).status == 400)
    }
  }

  @Test func theScriptIsServed() throws {
    try withApplication { site in
      let script = site.send("GET", "/account/passkey.js")
      #expect(script.status == 200)
      #expect(script.field("Content-Type") == "text/javascript; charset=utf-8")
      #expect(script.text.contains("navigator.credentials.get"))
    }
  }
}

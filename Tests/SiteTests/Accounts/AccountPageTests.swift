import Base
import Foundation
import Support
import Testing

/// The page at `/account` in a browser.
@Suite(.serialized) struct AccountPageSiteTests {
  /// Uses `localhost`, where passkeys work without https.
  private func withPage(_ body: (Site, Browser) throws -> Void) async throws {
    try await withSite(host: "localhost") { site in
      let browser = try Browser(size: (900, 1000))
      try body(site, browser)
      // The pages' Content Security Policy blocked nothing, and every request went to the site.
      let complaints = browser.parameters(of: "Log.entryAdded").map { "\($0)" }
      #expect(complaints.filter { $0.contains("Content Security Policy") } == [])
      let urls = browser.parameters(of: "Network.requestWillBeSent").compactMap {
        ($0["request"] as? [String: Any])?["url"] as? String
      }
      #expect(
        urls.allSatisfy {
          $0.hasPrefix(site.url) || $0 == "about:blank" || $0.hasPrefix("data:image/svg")
        }, "\(urls)")
    }
  }

  private func code(of person: Person, at site: Site) throws -> String {
    try wait(for: "a mail with a code") { try site.mailedCode(to: person.email) != nil }
    return try #require(try site.mailedCode(to: person.email))
  }

  /// Signs up a person with a proven address, a bank, a card and a payment.
  private func signUp(at site: Site) throws -> Person {
    let person = try site.signUp()
    try site.confirm(person, "yes")
    try addWallet(of: person, at: site)
    return person
  }

  private func addWallet(of person: Person, at site: Site) throws {
    let account = "(SELECT id FROM accounts WHERE email = '\(person.email)')"
    _ = try site.sql(
      """
      INSERT INTO banks (bsim_id, name) VALUES ('bank', 'Bank');
      INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at)
        VALUES (UUID(), \(account), 'bank', UTC_TIMESTAMP(3));
      INSERT INTO cards (id, enrollment_id, last_four, card_type, added_at)
        SELECT UUID(), id, '4242', 'VISA', UTC_TIMESTAMP(3) FROM enrollments;
      INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at)
        VALUES (UUID(), REPEAT('Shop', 40), REPEAT('k', 32), 'msk', UTC_TIMESTAMP(3));
      INSERT INTO payments (id, merchant_id, account_id, card_id, amount, currency, challenge_hash,
          created_at, expires_at)
        SELECT 'pay_aaaaaaaaaaaaaaaaaaaaaa', m.id, \(account), c.id, 99.99, 'CAD', REPEAT('c', 32),
          UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM merchants m, cards c;
      """)
  }

  /// Presses Tab until `selector` has the focus, and expects a visible focus.
  private func tab(to selector: String, in browser: Browser) throws {
    for _ in 1...60 {
      try browser.press("Tab", code: 9)
      let focused = try browser.text(
        of: #"Promise.resolve(String(document.activeElement.matches("\#(selector)")))"#)
      guard focused == "true" else { continue }
      #expect(try browser.style("outline-style", of: selector) == "solid", "\(selector)")
      return
    }
    Issue.record("the keyboard does not reach \(selector)")
  }

  private func enter(in browser: Browser) throws {
    try browser.awaiting("Page.loadEventFired") {
      try browser.press("Enter", code: 13, text: "\r")
    }
  }

  private func press(_ selector: String, in browser: Browser) throws {
    try browser.awaiting("Page.loadEventFired") { try browser.click(selector) }
  }

  @Test func everythingWorksByKeyboard() async throws {
    try await withPage { site, browser in
      let person = try signUp(at: site)
      try browser.open("\(site.url)/account")
      try tab(to: "#email", in: browser)
      try browser.type(person.email)
      try enter(in: browser)
      try tab(to: "#code", in: browser)
      try browser.type(try code(of: person, at: site))
      try enter(in: browser)
      #expect(try browser.html().contains("<bdi>ann@example.org</bdi>"))

      // Tab selects the content of a field.
      try tab(to: "#name", in: browser)
      try browser.type("Ann B.")
      try enter(in: browser)
      #expect(try browser.html().contains("Your name is changed."))
      #expect(try site.sql("SELECT name FROM accounts").trimmed == "Ann B.")

      try tab(to: "#section-banks ~ ul button", in: browser)
      try enter(in: browser)
      #expect(try browser.html().contains("Remove this bank?"))
      try tab(to: "button.primary", in: browser)
      try enter(in: browser)
      #expect(try browser.html().contains("The bank and its cards are removed."))

      try tab(to: "a[href='/account/delete']", in: browser)
      try enter(in: browser)
      try tab(to: "form[action='/account/delete'] button", in: browser)
      try enter(in: browser)
      #expect(try browser.html().contains("Your account is deleted."))
      #expect(try site.sql("SELECT COUNT(*) FROM accounts").trimmed == "0")
    }
  }

  @Test func everythingWorksByMouseWithoutScripts() async throws {
    try await withPage { site, browser in
      let person = try signUp(at: site)
      try browser.call("Emulation.setScriptExecutionDisabled", ["value": true])
      try browser.open("\(site.url)/account")
      try browser.click("#email")
      try browser.type(person.email)
      try press("form[action='/account/code'] button", in: browser)
      try browser.click("#code")
      try browser.type("wrong")
      try press("form[action='/account/sign-in'] button", in: browser)
      #expect(try browser.html().contains("This code is wrong or too old."))
      try browser.click("#code")
      try browser.type(try code(of: person, at: site))
      try press("form[action='/account/sign-in'] button", in: browser)
      #expect(try browser.html().contains("Signed in as"))

      try press("#section-devices ~ ul button", in: browser)
      #expect(try browser.html().contains("Remove this device?"))
      try press("button.primary", in: browser)
      #expect(try browser.html().contains("The device is removed and signed out."))
      let summary = site.curl("/api/mobile/wallet/summary", "--header", person.bearer)
      #expect(summary.status == 401)

      try press("form[action='/account/sign-out'] button", in: browser)
      #expect(try browser.html().contains("You are signed out."))
      #expect(try site.sql("SELECT COUNT(*) FROM account_visits").trimmed == "0")
    }
  }

  @Test func axeSeesAFieldWithoutALabel() async throws {
    try await withPage { site, browser in
      try browser.open("\(site.url)/account")
      try browser.call(
        "Runtime.evaluate", ["expression": "document.querySelector('label').remove()"])
      #expect(try browser.violations(by: axeSource()).contains("label"))
    }
  }

  /// axe-core finds no problem, a small phone needs no horizontal scrolling, buttons and links are
  /// high enough for a thumb, and at most one button is filled.
  @Test(arguments: [
    ("light", 900, "en"), ("dark", 320, "en"), ("light", 320, "fa"), ("dark", 900, "fa"),
    ("light", 320, "de"),
  ])
  func everyPageIsAccessible(scheme: String, width: Int, language: String) async throws {
    try await withPage { site, browser in
      try browser.show(scheme, width: width)
      try browser.call(
        "Network.setExtraHTTPHeaders", ["headers": ["Accept-Language": language]])
      let axe = try axeSource()
      func check(_ page: String) throws {
        #expect(try browser.violations(by: axe) == "[]", "\(page)")
        #expect(try browser.html().hasPrefix("<html lang=\"\(language)\""), "\(page)")
        let scrolled = try browser.text(
          of: "Promise.resolve(String(document.documentElement.scrollWidth))")
        #expect(Int(scrolled).map { $0 <= width } == true, "\(page): \(scrolled)")
        let small = try browser.text(
          of: """
            Promise.resolve(Array.from(document.querySelectorAll("a, button, input:not([type=hidden])"))
              .filter(part => part.getBoundingClientRect().height < 44).map(part => part.outerHTML).join())
            """)
        #expect(small == "", "\(page)")
        let filled = try browser.text(
          of: "Promise.resolve(String(document.querySelectorAll('.primary').length))")
        #expect(["0", "1"].contains(filled), "\(page)")
      }
      for path in ["/", "/pair", "/pair/phones", "/account/nowhere"] {
        try browser.open("\(site.url)\(path)")
        try check(path)
      }
      let person = try site.signUp()
      let token = try site.mailedToken(/account\/confirm\?token=(\S+)/, to: person.email)
      try browser.open("\(site.url)/account/confirm?token=\(token)")
      try check("confirm")
      try press("button[value='yes']", in: browser)
      try check("confirmed")
      try addWallet(of: person, at: site)

      try browser.open("\(site.url)/account")
      try check("sign in")
      try browser.click("#email")
      try browser.type(person.email)
      try press("form[action='/account/code'] button", in: browser)
      try check("code")
      try browser.click("#code")
      try browser.type("wrong")
      try press("form[action='/account/sign-in'] button", in: browser)
      try check("wrong code")
      try browser.click("#code")
      try browser.type(try code(of: person, at: site))
      try press("form[action='/account/sign-in'] button", in: browser)
      try check("overview")

      try press("#section-devices ~ ul button", in: browser)
      try check("remove a device")
      try browser.open("\(site.url)/account")
      try browser.call(
        "Runtime.evaluate", ["expression": "document.getElementById('email').select()"])
      let address = "\(String(repeating: "new", count: 20))@example.org"
      try browser.type(address)
      try press("form[action='/account/email'] button", in: browser)
      try check("overview with a new address")
      let link = try site.mailedToken(/account\/address\?token=(\S+)/, to: address)
      try browser.open("\(site.url)/account/address?token=\(link)")
      try check("address")
      try press("button", in: browser)
      try check("address changed")
      try browser.open("\(site.url)/account/delete")
      try check("delete")
    }
  }
}

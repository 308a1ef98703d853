import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// Browsers that are signed in at `/account`: the mail to the owner, and the ways to sign them out.
@Suite struct AccountBrowserTests {
  /// The link token and the browser's network address in the mail about the newest browser.
  private func notice(_ site: TestApplication) throws -> (token: String, address: String) {
    let row = site.sql(
      """
      SELECT id, sealed FROM outbox WHERE kind = 'browser_signed_in' AND recipient = 'ann@example.org'
      ORDER BY id DESC LIMIT 1
      """
    ).split(separator: "\t").map(String.init)
    try #require(row.count == 2)
    let content = try site.mailContent(row[1], ofMail: row[0])
    return (content.secret, content.address)
  }

  @Test func theOwnerIsToldAndTheLinkSignsAllBrowsersOut() throws {
    try withVisitor { site, ann, visitor in
      #expect(site.count("outbox WHERE kind = 'browser_signed_in'") == 1)
      let (token, address) = try notice(site)
      #expect(address == "192.0.2.1")
      var other = PageVisitor(site)
      _ = try other.signIn()
      let before = site.rows("account_visits", "audit_log")
      let page = site.send("GET", "/account/end", query: "token=\(token)")
      #expect(page.status == 200)
      #expect(
        page.text.contains(#"<button class="primary">Sign all browsers out</button>"#),
        "\(page.text)")
      #expect(site.rows("account_visits", "audit_log") == before)

      _ = site.send(
        "PUT", "/api/mobile/profile", #"{"email":"thief@example.org"}"#, token: ann.accessToken)
      #expect(site.count("address_changes") == 1)
      let ended = site.send("POST", "/account/end", "token=\(token)")
      #expect(ended.status == 200)
      #expect(ended.text.contains("The browsers are signed out."))
      #expect(!visitor.open().text.contains("Signed in as"))
      #expect(!other.open().text.contains("Signed in as"))
      #expect(site.count("address_changes") == 0)
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'logout'")
          == "all browsers, by the link in a mail")
      // The phone stays signed in.
      #expect(site.send("GET", "/api/mobile/devices", token: ann.accessToken).status == 200)
    }
  }

  /// The thief may have signed out and still wait for the requested address.
  @Test func theLinkWorksWhenTheBrowserHasSignedOut() throws {
    try withVisitor { site, ann, visitor in
      let token = try notice(site).token
      _ = visitor.send("/email", ["email": "thief@example.org"])
      #expect(site.count("address_changes") == 1)
      _ = visitor.send("/sign-out")
      #expect(site.count("account_visits") == 0)
      #expect(site.send("GET", "/account/end", query: "token=\(token)").status == 200)
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 200)
      #expect(site.count("address_changes") == 0)
      site.sql("DELETE FROM accounts")
      #expect(site.send("GET", "/account/end", query: "token=\(token)").status == 404)
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 404)
    }
  }

  /// Whoever has read one mail must not keep the owner out for ever.
  @Test func theLinkEndsNoLaterSignIn() throws {
    try withVisitor { site, ann, visitor in
      let token = try notice(site).token
      site.advance(by: .seconds(3601))
      var later = PageVisitor(site)
      _ = try later.signIn()
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 200)
      #expect(later.open().text.contains("Signed in as"))
      // The first browser was signed in for an hour, and a new address can be confirmed for a day.
      site.advance(by: .seconds(3600))
      _ = site.send(
        "PUT", "/api/mobile/profile", #"{"email":"new@example.org"}"#,
        token: try site.signIn().accessToken)
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 200)
      #expect(site.count("address_changes") == 1)
      site.advance(by: .seconds(86_400))
      #expect(site.send("GET", "/account/end", query: "token=\(token)").status == 404)
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 404)
    }
  }

  /// MariaDB stores a UUID of version 1 in another order, and a cookie's hash may look like any version.
  @Test(arguments: (0...15).map { String($0, radix: 16) })
  func aBrowserWithAnyIdIsListedAndSignedOut(digit: String) throws {
    try withVisitor { site, ann, visitor in
      let id = "aabbccdd-eeff-\(digit)122-8344-556677889900"
      site.sql(
        """
        INSERT INTO account_visits (id, account_id, proved_at, expires_at)
        SELECT UNHEX(RPAD(REPLACE('\(id)', '-', ''), 64, '0')), id, NOW(3),
          UTC_TIMESTAMP(3) + INTERVAL 1 HOUR FROM accounts
        """)
      let page = visitor.open().text
      #expect(page.contains(#"name="id" value="\#(id)""#))
      #expect(page.contains(">Unknown address</h3>"))
      let done = visitor.send("/remove", ["kind": "browsers", "id": id])
      #expect(done.text.contains("The browser is signed out."))
      #expect(site.count("account_visits") == 1)
    }
  }

  private func id(of visitor: PageVisitor) throws -> String {
    uuid(of: sha256(try #require(visitor.cookie)).prefix(16))
  }

  @Test func oneBrowserSignsAnotherOut() throws {
    try withVisitor { site, _, visitor in
      var other = PageVisitor(site)
      _ = try other.signIn()
      let id = try id(of: visitor)
      let list = other.open().text
      #expect(list.contains(#"<input type="hidden" name="id" value="\#(id)">"#))
      #expect(
        list.components(separatedBy: "<bdi>192.0.2.1</bdi> (this browser)</h3>").count == 2)
      let page = other.send("/remove", ["kind": "browsers", "id": id])
      #expect(page.text.contains("The browser is signed out."), "\(page.text)")
      #expect(!visitor.open().text.contains("Signed in as"))
      #expect(other.open().text.contains("Signed in as"))
    }
  }

  @Test func nobodyEndsTheBrowserOfAnotherAccount() throws {
    try withVisitor { site, _, visitor in
      _ = try site.signUp(email: "bob@example.org", device: "device-2")
      var bob = PageVisitor(site)
      _ = try bob.signIn("bob@example.org")
      let id = try id(of: visitor)
      #expect(bob.send("/remove", ["kind": "browsers", "id": id]).status == 404)
      #expect(visitor.open().text.contains("Signed in as"))
    }
  }
}

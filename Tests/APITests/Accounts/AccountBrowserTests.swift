import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// Browsers in which somebody has signed in at the page for people: who is told, and who can end them.
@Suite struct AccountBrowserTests {
  /// The mail about the newest browser: what its link has, and where the browser was.
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

  @Test func theOwnerIsToldAndTheLinkSignsTheBrowserOut() throws {
    try withVisitor { site, ann, visitor in
      #expect(site.count("outbox WHERE kind = 'browser_signed_in'") == 1)
      let (token, address) = try notice(site)
      #expect(address == "192.0.2.1")
      let before = site.rows("account_visits", "audit_log")
      let page = site.send("GET", "/account/end", query: "token=\(token)")
      #expect(page.status == 200)
      #expect(page.text.contains("<bdi>192.0.2.1</bdi>"), "\(page.text)")
      #expect(site.rows("account_visits", "audit_log") == before)
      #expect(visitor.open().text.contains("Signed in as"))

      _ = site.send(
        "PUT", "/api/mobile/profile", #"{"email":"thief@example.org"}"#, token: ann.accessToken)
      #expect(site.count("address_changes") == 1)
      let ended = site.send("POST", "/account/end", "token=\(token)")
      #expect(ended.status == 200)
      #expect(ended.text.contains("The browser is signed out."))
      #expect(!visitor.open().text.contains("Signed in as"))
      #expect(site.count("address_changes") == 0)
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'logout'")
          == "a browser, by the link in a mail")
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 404)
      #expect(site.send("GET", "/account/end", query: "token=\(token)").status == 404)
      // The phone goes on.
      #expect(site.send("GET", "/api/mobile/devices", token: ann.accessToken).status == 200)
    }
  }

  private func id(of visitor: PageVisitor) throws -> String {
    uuid(of: sha256(try #require(visitor.cookie)).prefix(16))
  }

  @Test func oneBrowserSignsAnotherOut() throws {
    try withVisitor { site, _, visitor in
      var other = PageVisitor(site)
      _ = try other.signIn()
      // The list goes by the database's clock, which is ahead of the test's.
      site.sql("UPDATE account_visits SET expires_at = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR")
      let id = try id(of: visitor)
      #expect(other.open().text.contains(#"<input type="hidden" name="id" value="\(id)">"#))
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

import Base
import Foundation
import Support
import Testing

@testable import API

/// Removals at `/account`: a page asks for a confirmation, and its form works once.
@Suite struct AccountRemovalTests {
  @Test(arguments: [
    ("devices", "Phone", "devices WHERE revoked_at IS NULL", "device_revoked"),
    ("passkeys", "Blue key", "passkeys", "passkey_removed"),
    ("banks", "Bank", "enrollments WHERE removed_at IS NULL", "enrollment_removed"),
  ])
  func eachThingCanBeRemoved(kind: String, name: String, rows: String, event: String) throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      #expect(site.count(rows) == 1)
      let id = try visitor.open().id(of: kind, name)
      let page = visitor.send("/remove", ["kind": kind, "id": id])
      #expect(page.status == 200)
      #expect(page.text.contains(#"<p role="status">The "#))
      #expect(site.count(rows) == 0)
      #expect(site.count("audit_log WHERE event = '\(event)'") == 1)
      #expect(visitor.send("/remove", ["kind": kind, "id": id]).status == 404)
      let isOut = kind == "devices"
      #expect(site.summary(ann.accessToken).status == (isOut ? 401 : 200))
      #expect(site.count("push_tokens") == (isOut ? 0 : 1))
      if kind == "banks" { #expect(site.count("cards WHERE active") == 0) }
    }
  }

  @Test func removingAPasskeyNeedsASignInOfTenMinutes() throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      let passkey = try visitor.open().id(of: "passkeys", "Blue key")
      site.advance(by: .seconds(600))
      _ = visitor.open()
      let refused = visitor.send("/remove", ["kind": "passkeys", "id": passkey])
      #expect(refused.status == 403)
      #expect(refused.text.contains("Please sign in again"))
      #expect(site.count("passkeys") == 1)
      let device = try visitor.open().id(of: "devices", "Phone")
      #expect(visitor.send("/remove", ["kind": "devices", "id": device]).status == 200)
    }
  }

  @Test func theOwnerIsToldOfARemovedPasskey() throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      let passkey = try visitor.open().id(of: "passkeys", "Blue key")
      #expect(visitor.send("/remove", ["kind": "passkeys", "id": passkey]).status == 200)
      #expect(site.sql("SELECT recipient FROM outbox WHERE kind = 'keys_removed'") == ann.email)
    }
  }

  @Test func nothingOfAnotherAccountIsRemoved() throws {
    try withVisitor { site, _, visitor in
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      try site.fill(bob)
      let before = site.rows("devices", "sessions", "passkeys", "enrollments", "cards")
      for (kind, query) in [
        ("devices", "SELECT id FROM devices WHERE client_device_id = 'device-2'"),
        (
          "sessions",
          "SELECT s.id FROM sessions s JOIN devices d ON d.id = s.device_id WHERE client_device_id = 'device-2'"
        ),
        ("passkeys", "SELECT id FROM passkeys"), ("banks", "SELECT id FROM enrollments"),
        ("payments", "SELECT id FROM payments"), ("devices", "SELECT 'x'"), ("x", "SELECT UUID()"),
        ("account", "SELECT id FROM accounts WHERE name = 'Ann' LIMIT 1"),
      ] {
        let page = visitor.send("/remove", ["kind": kind, "id": site.sql(query)])
        #expect(page.status == 404, "\(kind)")
        #expect(page.text.contains("That is not there any more."))
      }
      #expect(site.rows("devices", "sessions", "passkeys", "enrollments", "cards") == before)
    }
  }

  // The question -------------------------------------------------------------------------------------

  @Test(arguments: [
    ("devices", "Phone", "Remove this device?"), ("passkeys", "Blue key", "Remove this passkey?"),
    ("banks", "Bank", "Remove this bank?"),
    ("browsers", "192.0.2.1", "Sign this browser out?"),
  ])
  func theButtonAsksOnceAndChangesNothing(kind: String, name: String, title: String) throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      let shown = visitor.open()
      let id =
        kind == "browsers"
        ? String(
          try #require(
            shown.text.firstMatch(
              of: /value="browsers">\s*<input type="hidden" name="id" value="([^"]+)"/)
          ).1) : try shown.id(of: kind, name)
      let tables = ["devices", "sessions", "passkeys", "enrollments", "cards", "audit_log"]
      let before = tables.map { site.rows($0) }
      let page = visitor.askToRemove(kind, id)
      #expect(page.status == 200)
      #expect(page.text.contains("<h1>\(title)</h1>"))
      #expect(page.text.contains("<bdi>\(name)</bdi>"))
      #expect(page.text.contains(#"<a class="button" href="/account">Keep</a>"#))
      #expect(tables.map { site.rows($0) } == before)
      #expect(
        visitor.send("/remove", ["kind": kind, "id": id]).text.contains(#"role="status">The "#))
      #expect(visitor.askToRemove(kind, id).status == (kind == "browsers" ? 200 : 404))
    }
  }

  @Test func aDeviceIsOneRowWithItsSignIn() throws {
    try withVisitor { site, ann, visitor in
      site.advance(by: .seconds(3 * 86_400 + 60))
      _ = try visitor.signIn()
      let page = visitor.open().text
      #expect(page.components(separatedBy: "<bdi>Phone</bdi>").count == 2)
      #expect(page.contains(">3 days ago</time>"))
      #expect(page.contains("<dt>Signed in</dt><dd>until <time"))
      #expect(!page.contains(#"value="sessions""#))
    }
  }

  @Test func aDeviceCanBeSignedOutAndStay() throws {
    try withVisitor { site, ann, visitor in
      let id = try visitor.open().id(of: "devices", "Phone")
      let question = visitor.askToRemove("devices", id)
      let session = try #require(
        question.text.firstMatch(
          of: /value="sessions">\s*<input type="hidden" name="id" value="([^"]+)"/)
      ).1
      #expect(question.text.contains("<button>Only sign it out</button>"))
      let page = visitor.send("/remove", ["kind": "sessions", "id": String(session)])
      #expect(page.text.contains(#"<p role="status">The device is signed out.</p>"#))
      #expect(page.text.contains("<dt>Signed in</dt><dd>no</dd>"))
      #expect(site.summary(ann.accessToken).status == 401)
      #expect(site.count("devices WHERE revoked_at IS NULL") == 1)
      // Nothing is left to sign out, so the page now offers only the removal.
      #expect(!visitor.askToRemove("devices", id).text.contains("Only sign it out"))
      #expect(
        visitor.send("/remove", ["kind": "sessions", "id": String(session)]).status == 404)
    }
  }

  @Test func theQuestionAboutSomethingElseIs404() throws {
    try withVisitor { site, ann, visitor in
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      try site.fill(bob)
      let own = try visitor.open().id(of: "devices", "Phone")
      for (kind, id) in [
        ("devices", site.sql("SELECT id FROM devices WHERE client_device_id = 'device-2'")),
        ("passkeys", site.sql("SELECT id FROM passkeys")), ("sessions", own), ("events", own),
        ("devices", ""), ("devices", "x"), ("x", own), ("account", ann.accountID), ("", ""),
        ("payments", site.sql("SELECT id FROM payments")),
      ] {
        let page = visitor.askToRemove(kind, id)
        #expect(page.status == 404, "\(kind) \(id)")
        #expect(page.text.contains("That is not there any more."))
        #expect(!page.text.contains("bob@example.org"))
      }
      // The forms of the error page work.
      #expect(visitor.send("/name", ["name": "Ann B."]).status == 200)
    }
  }

  @Test func theQuestionHasATokenOfItsOwnThatIsGoodOnce() throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      let id = try visitor.open().id(of: "devices", "Phone")
      let old = visitor.token
      _ = visitor.askToRemove("devices", id)
      #expect(visitor.token != old)
      let stale = visitor.sent("/remove", ["kind": "devices", "id": id, "token": old])
      #expect(stale.status == 409)
      #expect(site.count("devices WHERE revoked_at IS NULL") == 1)
      _ = visitor.askToRemove("devices", id)
      let sender = visitor
      let statuses = inParallel(8) { _ in
        sender.sent("/remove", ["kind": "devices", "id": id]).status
      }
      #expect(statuses.filter { $0 == 303 }.count == 1, "\(statuses)")
      #expect(site.count("audit_log WHERE event = 'device_revoked'") == 1)
    }
  }

  @Test func aPasskeyIsAskedAboutAfterAFreshSignIn() throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      let id = try visitor.open().id(of: "passkeys", "Blue key")
      site.advance(by: .seconds(600))
      let page = visitor.askToRemove("passkeys", id)
      #expect(page.status == 403)
      #expect(page.text.contains("Please sign in again"))
      #expect(page.text.contains(#"value="ann@example.org""#))
    }
  }

  @Test func whoIsNotSignedInIsAskedToSignIn() throws {
    try withApplication { site in
      var visitor = PageVisitor(site)
      let page = visitor.askToRemove("devices", "x")
      #expect(page.status == 200)
      #expect(page.text.contains(#"action="/account/code""#))
    }
  }

  @Test func namesOnTheQuestionAreText() throws {
    try withVisitor { site, _, visitor in
      site.sql("UPDATE devices SET name = '<b>\"x'")
      let id = site.sql("SELECT id FROM devices")
      let page = visitor.askToRemove("devices", id).text
      #expect(page.contains("<strong><bdi>&lt;b&gt;&quot;x</bdi></strong>"))
    }
  }
}

import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// `/account` for a person who is signed in.
@Suite struct AccountPageTests {
  @Test func thePageShowsWhatTheAccountHas() throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      let page = visitor.open()
      #expect(page.status == 200)
      for text in [
        "<h2 id=\"section-devices\">Devices</h2>", "<bdi>Phone</bdi>",
        "<dt>Signed in</dt><dd>until <time", "Blue key",
        "<bdi>Bank</bdi>", "<bdi>Shop</bdi>", "99.99", "order-xyz", "4242", "A passkey was added.",
        "18 November 2026, 11:06 UTC", "<dd>iOS</dd>",
      ] { #expect(page.text.contains(text), "\(text)") }
      #expect(!page.text.contains(ann.accountID))
      #expect(!page.text.contains(pushTokenText()))
      #expect(page.field("Cache-Control") == "no-store")
    }
  }

  @Test func whatPeopleTypeIsText() throws {
    try withVisitor { site, _, visitor in
      let name = #"<script>"&'</script>"#
      let page = visitor.send("/name", ["name": name])
      #expect(page.text.contains("Your name is changed."))
      #expect(page.text.contains(#"value="&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;""#))
      #expect(!page.text.contains("<script>"))
      #expect(site.sql("SELECT name FROM accounts") == name)
    }
  }

  @Test func aWrongNameIsToldAtItsField() throws {
    try withVisitor { site, _, visitor in
      for name in ["", " ", String(repeating: "a", count: 201)] {
        let page = visitor.send("/name", ["name": name])
        #expect(page.status == 400)
        #expect(page.text.contains(#"aria-describedby="name-error""#))
        #expect(page.text.contains("<title>Your account: not done</title>"))
      }
      #expect(site.sql("SELECT name FROM accounts") == "Ann")
    }
  }

  // Forms --------------------------------------------------------------------------------------------

  @Test func aFormIsGoodOnce() throws {
    try withVisitor { site, _, visitor in
      let token = visitor.token
      _ = visitor.send("/name", ["name": "One"])
      for old in [token, "", "x"] {
        let page = visitor.send("/name", ["name": "Two", "token": old])
        #expect(page.status == 409)
        #expect(page.text.contains("Nothing was changed, because that page was out of date."))
      }
      #expect(site.sql("SELECT name FROM accounts") == "One")
      #expect(visitor.send("/name", ["name": "Two"]).status == 200)
      #expect(site.sql("SELECT name FROM accounts") == "Two")
    }
  }

  @Test func oneOf64ParallelFormsIsTaken() throws {
    try withVisitor { site, _, visitor in
      // The first transaction of a kind prepares its statements twice; the others would wait for
      // it.
      #expect(visitor.send("/name", ["name": "First"]).status == 200)
      let sender = visitor
      let statuses = inParallel(64) { number in
        sender.sent("/name", ["name": "Name \(number)"]).status
      }
      #expect(statuses.filter { $0 == 303 }.count == 1)
      #expect(statuses.filter { $0 == 409 }.count == 63)
      #expect(site.count("audit_log WHERE event = 'profile_changed'") == 2)
    }
  }

  /// Without an earlier form, some of the forms may wait too long on a busy machine.
  @Test func noneOf64FirstFormsIsTakenTwice() throws {
    try withVisitor { site, _, visitor in
      let sender = visitor
      let statuses = inParallel(64) { number in
        sender.sent("/name", ["name": "Name \(number)"]).status
      }
      let taken = statuses.filter { $0 == 303 }.count
      #expect(taken <= 1)
      #expect(site.count("audit_log WHERE event = 'profile_changed'") == taken)
      #expect(Set(statuses).isSubset(of: [303, 409, 503]), "\(Set(statuses))")
    }
  }

  @Test(arguments: ["https://evil.example", "null", "http://api.example.org", ""])
  func aFormOfAnotherSiteIsRefused(origin: String) throws {
    try withVisitor { site, _, visitor in
      for path in ["/name", "/delete", "/sign-out", "/code", "/passkey", "/remove", "/email"] {
        let answer = visitor.sent(path, ["name": "Eve", "email": "e@e.example"], origin: origin)
        #expect(answer.status == 403)
        #expect(answer.text.contains(#"href="/account">"#))
      }
      #expect(site.sql("SELECT name FROM accounts") == "Ann")
      let own = visitor.send("/name", ["name": "Ann B."], origin: "https://api.example.org")
      #expect(own.status == 200)
    }
  }

  // Address ------------------------------------------------------------------------------------------

  @Test func anotherAddressIsAskedForByMail() throws {
    try withVisitor { site, _, visitor in
      let page = visitor.send("/email", ["email": "New@example.org"])
      #expect(page.text.contains("We have mailed a link to that address."))
      #expect(page.text.contains("We have mailed a link to <bdi>new@example.org</bdi>."))
      let used = site.send("POST", "/account/address", "token=\(try site.addressToken())")
      #expect(used.status == 200)
      #expect(visitor.open().text.contains("Signed in as <strong><bdi>new@example.org"))
      #expect(visitor.send("/email", ["email": "x"]).text.contains("email-error"))
    }
  }

  @Test(arguments: ["/email", "/delete"])
  func anAddressAndADeletionNeedASignInOfTenMinutes(path: String) throws {
    try withVisitor { site, _, visitor in
      site.advance(by: .seconds(600))
      let page = visitor.send(path, ["email": "new@example.org"])
      #expect(page.status == 403)
      #expect(page.text.contains("Please sign in again"))
      #expect(page.text.contains(#"value="ann@example.org""#))
      #expect(site.count("address_changes") == 0)
      #expect(site.count("accounts") == 1)
      // The page offers a new sign-in.
      _ = visitor.send("/code", ["email": "ann@example.org"])
      let code = try site.mailedCode()
      _ = visitor.send("/sign-in", ["code": code])
      #expect(visitor.send(path, ["email": "new@example.org"]).status == 200)
    }
  }

  /// The clock was ahead at the sign-in.
  @Test(arguments: ["/email", "/delete"])
  func anAddressAndADeletionNeedASignInOfThePast(path: String) throws {
    try withVisitor { site, _, visitor in
      site.advance(by: .seconds(-3600))
      let page = visitor.send(path, ["email": "new@example.org"])
      #expect(page.status == 403)
      #expect(page.text.contains("Please sign in again"))
      #expect(site.count("address_changes") == 0)
      #expect(site.count("accounts") == 1)
    }
  }

  // Download and deletion ----------------------------------------------------------------------------

  @Test func theDownloadHasEverythingButSecrets() throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      _ = visitor.send("/email", ["email": "new@example.org"])
      let file = visitor.open("/account/export")
      #expect(file.status == 200)
      #expect(file.field("Content-Type") == "application/json")
      #expect(file.field("Content-Disposition") == #"attachment; filename="account.json""#)
      #expect(file.string("accountId") == ann.accountID)
      #expect(file["account", 0, "email"] as? String == "ann@example.org")
      #expect(file["pendingAddresses", 0, "email"] as? String == "new@example.org")
      #expect(file["payments", 0, "amount"] as? String == "99.99")
      for kind in [
        "devices", "sessions", "passkeys", "biometricKeys", "pushRegistrations", "preferences",
        "banks", "cards", "events",
      ] { #expect(file[kind, 0] != nil, "\(kind)") }
      #expect(file["attestedKeys"] as? [Any] != nil)
      for word in [
        "hash", "token\"", "publicKey", "sealed", pushTokenText(), PhoneKey.one.publicKey,
      ] {
        #expect(!file.text.contains(word), "\(word)")
      }
      #expect(site.send("GET", "/account/export").status == 403)
    }
  }

  @Test func deletingIsAskedForOnAPageOfItsOwn() throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      let page = visitor.open("/account/delete")
      #expect(page.text.contains("Delete your account?"))
      #expect(page.text.contains("<button>Sign out</button>"))
      #expect(site.count("accounts") == 1)
      let done = visitor.send("/delete")
      #expect(done.text.contains("Your account is deleted."))
      #expect(site.count("accounts") + site.count("account_visits") + site.count("devices") == 0)
      #expect(site.count("payments WHERE account_id IS NULL") == 1)
      #expect(site.count("audit_log WHERE event = 'account_deleted'") == 1)
      #expect(site.summary(ann.accessToken).status == 404)
    }
  }

  @Test func anOldSignInIsAskedToRepeatItBeforeDeleting() throws {
    try withVisitor { site, _, visitor in
      site.advance(by: .seconds(600))
      let page = visitor.open("/account/delete")
      #expect(page.text.contains("You signed in more than ten minutes ago."))
      #expect(!page.text.contains("Delete my account"))
    }
  }

  @Test func oneOf64ParallelDeletionsSucceeds() throws {
    try withApplication { site in
      let ann = try site.signUp()
      var visitors: [PageVisitor] = []
      for _ in 1...8 {
        site.sql("DELETE FROM rate_limits")
        var visitor = PageVisitor(site)
        _ = try visitor.signIn()
        visitors.append(visitor)
      }
      let senders = visitors
      let statuses = inParallel(64) { number in
        if number % 8 == 7 {
          return site.send("DELETE", AccountPath.account, token: ann.accessToken).status == 200
            ? 303 : 403
        }
        return senders[number % 8].sent("/delete").status
      }
      #expect(statuses.filter { $0 == 303 }.count == 1)
      #expect(statuses.allSatisfy { [303, 403, 409].contains($0) }, "\(statuses)")
      #expect(site.count("accounts") + site.count("account_visits") == 0)
      #expect(site.count("audit_log WHERE event = 'account_deleted'") == 1)
    }
  }
}

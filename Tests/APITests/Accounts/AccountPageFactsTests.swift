import Base
import Foundation
import Support
import Testing

@testable import API

/// What `/account` says of values that an account has, and of those that it does not have.
@Suite struct AccountPageFactsTests {
  /// A passkey that was never used, an unpaid payment, a card without an expiry, a device without a session.
  @Test func onlyFactsThatThereAreAreShown() throws {
    try withVisitor { site, ann, visitor in
      try site.fill(ann)
      site.sql(
        """
        UPDATE sessions SET ended_at = NOW(3), end_reason = 'logout';
        UPDATE payments SET order_id = NULL, card_id = NULL;
        """)
      let page = visitor.open().text
      #expect(page.contains("<dt>Signed in</dt><dd>no</dd>"))
      #expect(!page.contains("<dd>-</dd>"))
      #expect(!page.contains("<dd></dd>"))
      #expect(page.matches(of: /\(this browser\)/).count == 1)
      // Each event has its time once.
      let events = try #require(
        page.firstMatch(of: /<section aria-labelledby="section-events">(?s:.*?)<\/section>/))
      let times = events.output.matches(of: /<time/).count
      #expect(times == events.output.matches(of: /<li class="row">/).count)
    }
  }

  @Test func theRuleOfANewAddressStandsThereUntilOneIsAskedFor() throws {
    let rule = "We mail a link to a new address. The address counts when you use the link."
    try withVisitor { _, _, visitor in
      #expect(visitor.open().text.contains("<p>\(rule)</p>"))
      let page = visitor.send("/email", ["email": "new@example.org"]).text
      #expect(!page.contains(rule))
      #expect(page.contains("We have mailed a link to <bdi>new@example.org</bdi>."))
    }
  }

  /// One more than the page shows. The download has them all.
  @Test func thePageShowsSixtyItemsAndTheDownloadAll() throws {
    try withVisitor { site, ann, visitor in
      site.sql(
        """
        INSERT INTO passkeys (id, account_id, credential_id, public_key, sign_count, is_backup_eligible, is_backed_up, name,
            created_at)
          SELECT UUID(), '\(ann.accountID)', seq, 'p', 7, TRUE, TRUE, CONCAT('Key ', seq), '2026-11-01' FROM seq_1_to_61;
        """)
      #expect(visitor.open().text.matches(of: /<bdi>Key \d+<\/bdi>/).count == 60)
      #expect((visitor.open("/account/export")["passkeys"] as? [Any])?.count == 61)
    }
  }

  /// A passkey can be removed for ten minutes after the sign-in, and from then on only after another one.
  @Test func aPasskeyIsRemovedForTenMinutesAfterTheSignIn() throws {
    try withVisitor { site, ann, visitor in
      for (name, letter) in [("One", "1"), ("Two", "2")] {
        site.sql(
          """
          INSERT INTO passkeys (id, account_id, credential_id, public_key, sign_count, is_backup_eligible, is_backed_up, name,
              created_at)
            VALUES (UUID(), '\(ann.accountID)', '\(letter)', 'p', 7, TRUE, TRUE, '\(name)', '2026-11-01')
          """)
      }
      let proof = try #require(
        Int64(
          site.sql(
            "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', proved_at) DIV 1000 FROM account_visits"
          )))
      func goTo(_ milliseconds: Int64) {
        site.advance(to: Timestamp(milliseconds: proof + milliseconds))
      }
      let (first, second) = (
        try visitor.open().id(of: "passkeys", "One"), try visitor.open().id(of: "passkeys", "Two")
      )
      goTo(600_000)
      #expect(visitor.askToRemove("passkeys", first).status == 403)
      goTo(600_000)
      _ = visitor.open()
      goTo(600_000)
      #expect(visitor.send("/remove", ["kind": "passkeys", "id": first]).status == 403)
      #expect(site.count("passkeys") == 2)
      // The clock was ahead at the sign-in, by more than the tolerated minute, and by that minute.
      goTo(-60_001)
      #expect(visitor.askToRemove("passkeys", first).status == 403)
      goTo(-60_000)
      #expect(visitor.askToRemove("passkeys", first).status == 200)
      goTo(599_999)
      #expect(visitor.askToRemove("passkeys", second).status == 200)
      goTo(599_999)
      #expect(visitor.sent("/remove", ["kind": "passkeys", "id": first]).status == 303)
      #expect(site.sql("SELECT name FROM passkeys") == "Two")
    }
  }
}

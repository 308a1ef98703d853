import Base
import MariaDB
import Support
import Testing

@testable import Store

/// The accounts, devices, sessions and push tokens that administrators list, and what they end.
@Suite struct AccountListTests {
  private typealias Site = ViewedSite

  /// Preferences that were never written, of which push_enabled does not count; that switch pushes off; that allow them; and none.
  private static let rows = """
    -- So many that the server reads the others by an index, and not in the order of their ids.
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
      SELECT UUID(), \(Site.id(3)), seq, 'Other', 'ios', '2026-11-01', '2026-11-01' FROM seq_1_to_60;
    UPDATE accounts SET email_verified_at = '2026-11-04', banned_at = '2026-11-05', ban_reason = 'Spam' WHERE id = \(Site.id(2));
    UPDATE devices SET last_used_at = '2026-11-10' WHERE id IN (\(Site.id(11)), \(Site.id(13)));
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at) VALUES
      (\(Site.id(15)), \(Site.id(1)), 'p5', 'Tab', 'android', '2026-11-01', '2026-11-11');
    INSERT INTO device_preferences (device_id, version, push_enabled, last_updated_at) VALUES
      (\(Site.id(11)), 0, FALSE, '2026-11-01'), (\(Site.id(13)), 1, FALSE, '2026-11-01'), (\(Site.id(15)), 1, TRUE, '2026-11-01');
    INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, ended_at, end_reason) VALUES
      (\(Site.id(21)), \(Site.id(11)), '2026-11-05', '2026-11-06', \(Site.justAfter), NULL, NULL),
      (\(Site.id(22)), \(Site.id(13)), '2026-11-05', '2026-11-07', \(Site.now), NULL, NULL),
      (\(Site.id(23)), \(Site.id(13)), '2026-11-05', '2026-11-07', '2026-12-01', NULL, NULL),
      (\(Site.id(24)), \(Site.id(15)), '2026-11-05', '2026-11-08', '2026-12-01', '2026-11-09', 'logout'),
      (\(Site.id(25)), \(Site.id(15)), '2026-11-06', '2026-11-06', '2026-12-01', NULL, NULL),
      (\(Site.id(26)), \(Site.id(14)), '2026-11-05', '2026-11-08', '2026-12-01', NULL, NULL);
    INSERT INTO push_tokens (token, device_id, platform, registered_at) VALUES
      (\(Site.token("b")), \(Site.id(11)), 'ios', '2026-11-03'), (\(Site.token("a")), \(Site.id(13)), 'macos', '2026-11-02'),
      (\(Site.token("d")), \(Site.id(15)), 'android', '2026-11-02'), (\(Site.token("c")), \(Site.id(14)), 'android', '2026-11-02'),
      (CONCAT('b', REPEAT('z', 63)), \(Site.id(12)), 'android', '2026-11-02');
    """

  @Test func accountsAreListedInTheOrderOfTheirAddresses() throws {
    try withViewedSite(Self.rows) { site throws in
      let accounts = site.records().accounts
      site.expect(
        try accounts.list(after: "", limit: 2).rows,
        ["01 ann@example.org 11-01 - - -", "02 bob@example.org 11-02 11-04 11-05 Spam"])
      for (after, limit, names, isMore) in [
        ("", 2, ["ann", "bob"], true), ("", 3, ["ann", "bob", "cid"], false),
        ("ann@example.org", 3, ["bob", "cid"], false), ("cid@example.org", 1, [], false),
      ] {
        let found = try accounts.list(after: after, limit: limit)
        #expect(found.rows.map(\.email) == names.map { "\($0)@example.org" })
        #expect(found.isMore == isMore, "\(after) \(limit)")
      }
      #expect(try accounts.find("BOB@example.org")?.id == Site.value(Site.id(2)))
      #expect(try accounts.find("bo@example.org") == nil)
    }
  }

  @Test func devicesAreListedWithRevokedOnesTheLastUsedFirst() throws {
    try withViewedSite(Self.rows) { site throws in
      let ann = Site.value(Site.id(1))
      let lines = [
        "15 android 11-01 11-11 - true", "11 ios 11-01 11-10 - true",
        "13 macos 11-01 11-10 - false", "12 ios 11-01 11-01 11-02 true",
      ]
      for limit in [3, 4] {
        let found = try site.records().accounts.devices(of: ann, limit: limit)
        site.expect(found.rows, Array(lines.prefix(limit)))
        #expect(found.isMore == (limit == 3))
      }
    }
  }

  @Test func sessionsAreListedThatAreLiveTheNewestFirst() throws {
    try withViewedSite(Self.rows) { site throws in
      let ann = Site.value(Site.id(1))
      let lines = [
        "25 15 11-06 11-06 12-01", "21 11 11-05 11-06 11-18 noon", "23 13 11-05 11-07 12-01",
      ]
      for limit in [2, 3] {
        let found = try site.records().accounts.sessions(of: ann, limit: limit)
        site.expect(found.rows, Array(lines.prefix(limit)))
        #expect(found.isMore == (limit == 2))
      }
    }
  }

  @Test func pushTokensAreListedByAccountAndByTheirBeginning() throws {
    try withViewedSite(Self.rows) { site throws in
      let tokens = site.records().pushTokens
      let ann = [
        "aa macos 11-02 13 01 ann@example.org false", "bb ios 11-03 11 01 ann@example.org true",
        "bz android 11-02 12 01 ann@example.org true",
        "dd android 11-02 15 01 ann@example.org true",
      ]
      let bob = "cc android 11-02 14 02 bob@example.org true"
      for limit in [1, 4, 5] {
        site.expect(
          try tokens.list(of: Site.value(Site.id(1)), limit: limit), Array(ann.prefix(limit)))
      }
      site.expect(try tokens.list(of: Site.value(Site.id(2)), limit: 5), [bob])
      for (prefix, limit, lines) in [
        ("b", 5, [ann[1], ann[2]]), ("b", 1, [ann[1]]), ("bb", 5, [ann[1]]), ("c", 5, [bob]),
        ("", 5, [ann[0], ann[1], ann[2], bob, ann[3]]),
        (String(repeating: "a", count: 64), 5, [ann[0]]), ("e", 5, []),
      ] {
        site.expect(try tokens.find(beginning: prefix, limit: limit), lines)
      }
    }
  }

  /// Only the first is of the account, used up, and for another moment.
  @Test func limitsThatRefuseAnAccountsDevicesNowAreNamed() throws {
    let ann = Site.value(Site.id(1))
    let limit = Limit.pushTokens.name
    func rows(_ subject: String, _ name: String, started: String, hits: Int) -> String {
      """
      REPLACE INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
        VALUES ('\(name)', '\(subject)', '2026-11-18 \(started)', 60, \(hits), 5);
      """
    }
    for (started, hits, isUsedUp) in [
      ("11:59:00.001", 5, true), ("11:59:00.000", 5, false), ("11:59:00.001", 4, false),
    ] {
      let others =
        rows("x", limit, started: started, hits: 5) + rows(ann, "x", started: started, hits: 5)
      try withViewedSite(rows(ann, limit, started: started, hits: hits) + others) { site throws in
        let found = try site.records().pushTokens.limitsUsedUp(by: ann)
        #expect(found.map(\.subject) == (isUsedUp ? [ann] : []), "\(started) \(hits)")
      }
    }
  }

  @Test func anAdministratorEndsOnlyASessionThatIsLive() throws {
    try withViewedSite(Self.rows) { site throws in
      let sessions = site.records().sessions
      for number in [22, 24, 99] {
        #expect(try !sessions.endByAdministrator(Site.value(Site.id(number))))
      }
      #expect(try sessions.endByAdministrator(Site.value(Site.id(21))))
      #expect(
        site.sql(
          "SELECT RIGHT(id, 2), ended_at, end_reason FROM sessions WHERE end_reason = 'administrator'"
        )
          == "21\t2026-11-18 12:00:00.000\tadministrator")
      #expect(
        site.sql(
          "SELECT GROUP_CONCAT(LEFT(token, 1) ORDER BY token) FROM push_tokens WHERE token NOT LIKE 'bz%'"
        ) == "a,c,d")
    }
  }

  @Test func anAccountIsBannedOnceAndFreedOnce() throws {
    try withViewedSite(Self.rows) { site throws in
      let bans = site.records().accountBans
      let (ann, bob) = (Site.value(Site.id(1)), Site.value(Site.id(2)))
      #expect(try !bans.ban(bob, because: "Again"))
      #expect(try !bans.lift(ann, because: "Not banned"))
      #expect(try bans.ban(ann, because: "Eggs"))
      #expect(try bans.lift(bob, because: "Better"))
      site.expect(
        try site.records().accounts.list(after: "", limit: 3).rows,
        [
          "01 ann@example.org 11-01 - 11-18 noon Eggs", "02 bob@example.org 11-02 11-04 - -",
          "03 cid@example.org 11-03 - - -",
        ])
      // Only Bob's address is proven.
      #expect(site.sql("SELECT kind, recipient FROM outbox") == "account_unbanned\tbob@example.org")
    }
  }

  /// A link in a mail ends browsers that signed in up to an hour later, and address changes that they can have begun.
  @Test func theLinkInAMailEndsTheBrowsersOfItsTime() throws {
    let rows = """
      INSERT INTO account_visits (id, account_id, proved_at, expires_at) VALUES
        (REPEAT('1', 32), \(Site.id(1)), '2026-11-18 11:00:00', '2026-11-19'),
        (REPEAT('2', 32), \(Site.id(1)), '2026-11-18 12:00:00.000', '2026-11-19'),
        (REPEAT('3', 32), \(Site.id(1)), '2026-11-18 12:00:00.001', '2026-11-19'),
        (REPEAT('4', 32), \(Site.id(2)), '2026-11-18 11:00:00', '2026-11-19');
      INSERT INTO address_changes (account_id, email, token_hash, expires_at) VALUES
        (\(Site.id(1)), 'a@b', REPEAT('1', 32), \(Site.now) + INTERVAL 1 HOUR + INTERVAL \(NewAddressChange.lifetime.components.seconds) SECOND),
        (\(Site.id(2)), 'b@b', REPEAT('2', 32), \(Site.now));
      """
    try withViewedSite(rows) { site throws in
      let browsers = site.records("responder").browsers
      func link(_ account: Int, hoursAgo: Int) -> BrowserLink {
        BrowserLink(
          accountID: Site.value(Site.id(account)),
          signedInAt: Site.moment - .seconds(3600 * hoursAgo))
      }
      // One that can end nothing any more: at the end of what its browsers can have begun.
      let last = BrowserLink(
        accountID: Site.value(Site.id(1)),
        signedInAt: Site.moment - .seconds(7200) - NewAddressChange.lifetime)
      #expect(try !browsers.canEnd(last))
      #expect(try !browsers.endAll(last))
      #expect(site.sql("SELECT COUNT(*) FROM account_visits") == "4")
      #expect(try browsers.canEnd(link(1, hoursAgo: 1)))
      #expect(try browsers.endAll(link(1, hoursAgo: 1)))
      #expect(site.sql("SELECT LEFT(id, 1) FROM account_visits ORDER BY id") == "3\n4")
      #expect(site.sql("SELECT email FROM address_changes") == "b@b")
      #expect(try !browsers.endAll(link(99, hoursAgo: 1)))
      // A link of an earlier sign-in does not reach a later request.
      site.sql(
        "UPDATE address_changes SET account_id = \(Site.id(1)), expires_at = \(Site.now) + INTERVAL 86400001000 MICROSECOND"
      )
      #expect(try browsers.endAll(link(1, hoursAgo: 2)))
      #expect(site.sql("SELECT COUNT(*) FROM address_changes") == "1")
    }
  }
}

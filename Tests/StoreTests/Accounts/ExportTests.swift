import Base
import MariaDB
import Support
import Testing

@testable import Store

/// What an account's owner sees on the page `/account`, and downloads there: the account's own items, and no others.
@Suite struct ExportTests {
  private typealias Site = ViewedSite

  /// Ann has several items of each kind: with equal times, nulls, and some that have ended, or that end at this moment. Bob has one of each.
  private static let items = """
    -- So many that the server reads the others by an index, and not in the order of their ids.
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
      SELECT UUID(), \(Site.id(3)), seq, 'Other', 'ios', '2026-11-01', '2026-11-01' FROM seq_1_to_60;
    UPDATE accounts SET created_from = '192.0.2.9', email_verified_at = '2026-11-04', language = 'de' WHERE id = \(Site.id(1));
    UPDATE devices SET last_used_at = '2026-11-10' WHERE id IN (\(Site.id(11)), \(Site.id(13)));
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at) VALUES
      (\(Site.id(15)), \(Site.id(1)), 'p5', 'Tab', 'android', '2026-11-01', '2026-11-11'),
      (\(Site.id(16)), \(Site.id(1)), 'p6', 'Pad', 'ios', '2026-11-01', '2026-11-09');
    INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, ended_at, end_reason, began_by) VALUES
      (\(Site.id(21)), \(Site.id(11)), '2026-11-05', '2026-11-06', \(Site.justAfter), NULL, NULL, 'code'),
      (\(Site.id(22)), \(Site.id(13)), '2026-11-05', '2026-11-07', \(Site.now), NULL, NULL, 'code'),
      (\(Site.id(23)), \(Site.id(13)), '2026-11-04', '2026-11-06', '2026-12-01', NULL, NULL, 'passkey'),
      (\(Site.id(24)), \(Site.id(15)), '2026-11-05', '2026-11-08', '2026-12-01', '2026-11-09', 'logout', 'code'),
      (\(Site.id(25)), \(Site.id(16)), '2026-11-03', '2026-11-07', '2026-12-01', NULL, NULL, 'sign_up'),
      (\(Site.id(26)), \(Site.id(14)), '2026-11-05', '2026-11-08', '2026-12-01', NULL, NULL, 'code');
    INSERT INTO passkeys (id, account_id, credential_id, public_key, sign_count, is_backup_eligible, is_backed_up, name,
        created_at, last_used_at, uses) VALUES
      (\(Site.id(31)), \(Site.id(1)), '1', 'p', 7, TRUE, TRUE, 'Old', '2026-11-02', '2026-11-09', 1),
      (\(Site.id(32)), \(Site.id(1)), '2', 'p', 7, TRUE, TRUE, 'New', '2026-11-03', NULL, 0),
      (\(Site.id(33)), \(Site.id(1)), '3', 'p', 7, TRUE, TRUE, 'Also old', '2026-11-02', NULL, 0),
      (\(Site.id(34)), \(Site.id(2)), '4', 'p', 7, TRUE, TRUE, 'Bobs', '2026-11-02', NULL, 0);
    INSERT INTO biometric_keys (device_id, id, type, public_key, enrolled_at) VALUES
      (\(Site.id(11)), \(Site.id(35)), 'face', 'QUJD', '2026-11-02'), (\(Site.id(13)), \(Site.id(36)), 'fingerprint', 'QUJD', '2026-11-02'),
      (\(Site.id(14)), \(Site.id(37)), 'face', 'QUJD', '2026-11-02');
    INSERT INTO push_tokens (token, device_id, platform, registered_at) VALUES
      (\(Site.token("a")), \(Site.id(11)), 'ios', '2026-11-03'), (\(Site.token("b")), \(Site.id(15)), 'android', '2026-11-02'),
      (\(Site.token("c")), \(Site.id(14)), 'android', '2026-11-02');
    INSERT INTO address_changes (account_id, email, token_hash, expires_at) VALUES
      (\(Site.id(1)), 'ann@new.example', REPEAT('t', 32), '2026-11-19'), (\(Site.id(2)), 'bob@new.example', REPEAT('u', 32), '2026-11-19');
    INSERT INTO account_visits (id, account_id, proved_at, address, expires_at) VALUES
      (REPEAT('A', 32), \(Site.id(1)), '2026-11-16', '192.0.2.1', \(Site.justAfter)),
      (REPEAT('B', 32), \(Site.id(1)), '2026-11-17', '', '2026-11-19'),
      (REPEAT('C', 32), \(Site.id(1)), '2026-11-15', 'gone', \(Site.now)),
      (REPEAT('D', 32), \(Site.id(2)), '2026-11-15', 'bob', '2026-11-19');
    INSERT INTO device_preferences (device_id, version, push_enabled, archive_cache_quota_mb, preferred_models, last_updated_at) VALUES
      (\(Site.id(11)), 3, TRUE, 256, '["m"]', '2026-11-01'), (\(Site.id(13)), 0, FALSE, 512, '[]', '2026-11-02'),
      (\(Site.id(14)), 1, FALSE, 128, '[]', '2026-11-02');
    INSERT INTO attestation_keys (id, public_key, app_id, environment, receipt, device_id, attested_at, bound_at) VALUES
      (REPEAT('k', 32), CONCAT(X'04', REPEAT('p', 64)), 'T.one', 'production', '', \(Site.id(11)), '2026-11-01', '2026-11-01'),
      (REPEAT('m', 32), CONCAT(X'04', REPEAT('p', 64)), 'T.two', 'development', '', \(Site.id(13)), '2026-11-01', '2026-11-01'),
      (REPEAT('l', 32), CONCAT(X'04', REPEAT('q', 64)), 'T.bob', 'development', '', \(Site.id(14)), '2026-11-01', '2026-11-01');
    INSERT INTO banks (bsim_id, name) VALUES ('b1', 'One'), ('b2', 'Two'), ('b3', 'Three'), ('b4', 'Four');
    INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at, removed_at) VALUES
      (\(Site.id(41)), \(Site.id(1)), 'b2', '2026-11-05', NULL), (\(Site.id(42)), \(Site.id(1)), 'b1', '2026-11-05', NULL),
      (\(Site.id(43)), \(Site.id(1)), 'b3', '2026-11-04', NULL), (\(Site.id(44)), \(Site.id(1)), 'b4', '2026-11-03', '2026-11-06'),
      (\(Site.id(45)), \(Site.id(2)), 'b1', '2026-11-05', NULL);
    INSERT INTO cards (id, enrollment_id, last_four, card_type, expiry_month, expiry_year, is_default, active, added_at) VALUES
      (\(Site.id(51)), \(Site.id(41)), '1111', 'VISA', 12, 2030, TRUE, TRUE, '2026-11-05'),
      (\(Site.id(52)), \(Site.id(41)), '2222', 'AMEX', NULL, NULL, FALSE, FALSE, '2026-11-06'),
      (\(Site.id(53)), \(Site.id(42)), '3333', 'DEBIT', NULL, NULL, FALSE, TRUE, '2026-11-05'),
      (\(Site.id(54)), \(Site.id(45)), '4444', 'VISA', NULL, NULL, FALSE, TRUE, '2026-11-05');
    INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at) VALUES
      (\(Site.id(61)), 'Shop', REPEAT('k', 32), 'msk_abcdefgh', '2026-11-01'),
      (\(Site.id(62)), 'Inn', REPEAT('l', 32), 'msk_bbcdefgh', '2026-11-01');
    INSERT INTO payments (id, merchant_id, account_id, card_id, amount, currency, order_id, challenge_hash, created_at, expires_at,
        confirmed_at, confirmed_by, cancelled_at, cancelled_by, refunded_at) VALUES
      ('pay_aaaaaaaaaaaaaaaaaaaaa1', \(Site.id(61)), \(Site.id(1)), \(Site.id(51)), 5, 'CAD', 'order', REPEAT('c', 32), '2026-11-06', '2026-11-07',
        '2026-11-06', 'passkey', NULL, NULL, '2026-11-08'),
      ('pay_aaaaaaaaaaaaaaaaaaaaa2', \(Site.id(62)), \(Site.id(1)), NULL, 5.1250, 'EUR', NULL, NULL, '2026-11-07', '2026-11-07',
        NULL, NULL, '2026-11-07', 'payer', NULL),
      ('pay_aaaaaaaaaaaaaaaaaaaaa3', \(Site.id(61)), \(Site.id(1)), \(Site.id(53)), 5.1, 'CAD', NULL, NULL, '2026-11-06', '2026-11-07',
        NULL, NULL, NULL, NULL, NULL),
      ('pay_aaaaaaaaaaaaaaaaaaaaa4', \(Site.id(61)), \(Site.id(2)), \(Site.id(54)), 9, 'CAD', NULL, NULL, '2026-11-06', '2026-11-07',
        NULL, NULL, NULL, NULL, NULL);
    INSERT INTO audit_log (at, event, detail, account_id, request_id, address) VALUES
      ('2026-11-01', 'first', NULL, \(Site.id(1)), 'r', 'a'), ('2026-11-03', 'third', 'how', \(Site.id(1)), 'r', 'a'),
      ('2026-11-02', 'second', NULL, \(Site.id(1)), 'r', 'a'), ('2026-11-02', 'of Bob', NULL, \(Site.id(2)), 'r', 'a');
    """

  /// All items of Ann, by kind: the id, and the values of its columns.
  private static let expected: [String: [String]] = [
    "account": ["01: ann@example.org Ann ann wsim_AAAAAAAAAAAA 11-01 192.0.2.9 11-04 de"],
    "pendingAddresses": ["01: ann@new.example 11-19"],
    "devices": [
      "15: Tab android p5 11-01 11-11 - -", "11: Phone ios p1 11-01 11-10 21 11-18 noon",
      "13: Mac macos p0 11-01 11-10 23 12-01", "16: Pad ios p6 11-01 11-09 25 12-01",
    ],
    "sessions": [
      "25: Pad 11-03 sign_up 11-07 12-01", "21: Phone 11-05 code 11-06 11-18 noon",
      "23: Mac 11-04 passkey 11-06 12-01",
    ],
    "passkeys": ["32: New 11-03 -", "31: Old 11-02 11-09", "33: Also old 11-02 -"],
    "biometricKeys": ["35: Phone face 11-02", "36: Mac fingerprint 11-02"],
    "pushRegistrations": ["11: Phone ios 11-03", "15: Tab android 11-02"],
    "browsers": [
      "42424242-4242-4242-4242-424242424242: - 11-17 11-19",
      "41414141-4141-4141-4141-414141414141: 192.0.2.1 11-16 11-18 noon",
    ],
    "preferences": [#"11: Phone true ["m"] 256 3 11-01"#, "13: Mac false [] 512 0 11-02"],
    "attestedKeys": ["11: Phone T.one production 11-01", "13: Mac T.two development 11-01"],
    "banks": ["43: Three 11-04 0", "42: One 11-05 1", "41: Two 11-05 1"],
    "cards": [
      "52: AMEX 2222 - - Two false false 11-06", "51: VISA 1111 12 2030 Two true true 11-05",
      "53: DEBIT 3333 - - One false true 11-05",
    ],
    "payments": [
      "pay_aaaaaaaaaaaaaaaaaaaaa2: Inn 5.1250 EUR - - - 11-07 - - 11-07 -",
      "pay_aaaaaaaaaaaaaaaaaaaaa1: Shop 5.00 CAD order VISA 1111 11-06 11-06 passkey - 11-08",
      "pay_aaaaaaaaaaaaaaaaaaaaa3: Shop 5.10 CAD - DEBIT 3333 11-06 - - - -",
    ],
    "events": ["01: 11-03 third how", "01: 11-02 second -", "01: 11-01 first -"],
  ]

  /// Kinds whose order no statement decides.
  private static let unsorted: Set = [
    "biometricKeys", "pushRegistrations", "preferences", "attestedKeys",
  ]

  private func text(of item: AccountItem) -> String {
    let values = item.values.map { value in
      switch value {
      case .text(let text): line(of: [text])
      case .time(let time): line(of: [time])
      case .number(let number): line(of: [number])
      case .flag(let flag): "\(flag)"
      }
    }
    return "\(line(of: [item.id])): \(values.joined(separator: " "))"
  }

  private func texts(of all: [AccountItems]) -> [String: [String]] {
    Dictionary(
      uniqueKeysWithValues: all.map { held in
        let items = held.items.map(text(of:))
        let name = "\(held.data.name)"
        return (name, Self.unsorted.contains(name) ? items.sorted() : items)
      })
  }

  @Test func theDownloadIsAllThatTheAccountHasNow() throws {
    try withViewedSite(Self.items) { site throws in
      let visits = site.records("responder").accountVisits
      let overview = try #require(
        try visits.download(Array(repeating: UInt8(ascii: "A"), count: 32)))
      let shown = texts(of: overview.accountData)
      for (kind, items) in Self.expected { #expect(shown[kind] == items, "\(kind)") }
      #expect(Set(shown.keys) == Set(Self.expected.keys))
      // This one ends at the moment.
      #expect(try visits.download(Array(repeating: UInt8(ascii: "C"), count: 32)) == nil)
    }
  }

  /// Of each kind that Ann has more of.
  @Test(arguments: [1, 2]) func thePageShowsTheFirstItemsOfEachKind(limit: Int) throws {
    try withViewedSite(Self.items) { site throws in
      let ann = Site.value(Site.id(1))
      let shown = try site.records("responder").read { transaction in
        texts(of: try transaction.accountData(of: ann, limit: Int64(limit)))
      }
      for (kind, items) in Self.expected {
        if Self.unsorted.contains(kind) {
          #expect(shown[kind]?.count == min(limit, items.count), "\(kind)")
          #expect(Set(shown[kind] ?? []).isSubset(of: items), "\(kind)")
        } else {
          #expect(shown[kind] == Array(items.prefix(limit)), "\(kind)")
        }
      }
    }
  }

  /// Removes an item as a form of the page does, for Ann.
  private func removeOfAnn(_ kind: String, _ id: String, at site: Site) throws -> Bool {
    try site.records("responder").transaction {
      (transaction: borrowing Transaction) throws -> Bool in
      let all = transaction.rooms.flatMap(\.accountData)
      guard let data = all.first(where: { "\($0.name)" == kind }), let remove = data.remove else {
        return false
      }
      return try remove(transaction, id, Site.value(Site.id(1)))
    }
  }

  /// Each action on an item of Ann's, on one that has ended, and on Bob's. The last device loses its push token with its last session.
  @Test func onlyOwnItemsThatHaveNotEndedAreRemoved() throws {
    try withViewedSite(Self.items) { site throws in
      func remove(_ kind: String, _ id: String) throws -> Bool {
        try removeOfAnn(kind, id, at: site)
      }
      func id(_ number: Int) -> String { Site.value(Site.id(number)) }
      for (kind, wrong) in [
        ("devices", [12, 14]), ("sessions", [24, 26]), ("passkeys", [34]), ("banks", [44, 45]),
      ] {
        for number in wrong { #expect(try !remove(kind, id(number)), "\(kind) \(number)") }
      }
      for browser in [
        "43434343-4343-4343-4343-434343434343", "44444444-4444-4444-4444-444444444444",
      ] {
        #expect(try !remove("browsers", browser), "\(browser)")
      }
      #expect(site.sql("SELECT COUNT(*) FROM push_tokens") == "3")
      #expect(site.sql("SELECT COUNT(*) FROM address_changes") == "2")

      #expect(try remove("sessions", id(21)))
      #expect(try remove("browsers", "41414141-4141-4141-4141-414141414141"))
      #expect(try remove("passkeys", id(31)))
      #expect(try remove("banks", id(42)))
      #expect(
        site.sql("SELECT RIGHT(id, 2) FROM sessions WHERE ended_at IS NULL ORDER BY id").split(
          separator: "\n")
          == ["22", "23", "25", "26"])
      #expect(
        site.sql("SELECT ended_at, end_reason FROM sessions WHERE id = \(Site.id(21))")
          == "2026-11-18 12:00:00.000\tlogout")
      #expect(site.sql("SELECT LEFT(id, 1) FROM account_visits ORDER BY id") == "B\nC\nD")
      #expect(site.sql("SELECT name FROM passkeys ORDER BY id") == "New\nAlso old\nBobs")
      #expect(site.sql("SELECT LEFT(token, 1) FROM push_tokens ORDER BY token") == "b\nc")
      #expect(site.sql("SELECT email FROM address_changes") == "bob@new.example")
      #expect(try remove("devices", id(15)))
      #expect(site.sql("SELECT LEFT(token, 1) FROM push_tokens ORDER BY token") == "c")
    }
  }

  /// The device keeps its push token while another session of it lives, and not for one that ends now or has ended.
  @Test(arguments: [("", false), ("live", true)])
  func aDeviceIsSignedOutWithItsLastLiveSession(other: String, keepsToken: Bool) throws {
    let more = """
      INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, ended_at, end_reason, began_by) VALUES
        (\(Site.id(71)), \(Site.id(11)), '2026-11-05', '2026-11-05', \(Site.now), NULL, NULL, 'code'),
        (\(Site.id(72)), \(Site.id(11)), '2026-11-05', '2026-11-05', '2026-12-01', '2026-11-06', 'logout', 'code'),
        (\(Site.id(73)), \(Site.id(11)), '2026-11-05', '2026-11-05', \(Site.justAfter),
          IF('\(other)' = '', '2026-11-06', NULL), IF('\(other)' = '', 'logout', NULL), 'code');
      """
    try withViewedSite(Self.items + more) { site throws in
      #expect(try removeOfAnn("sessions", Site.value(Site.id(21)), at: site))
      #expect(
        site.sql("SELECT COUNT(*) FROM push_tokens WHERE device_id = \(Site.id(11))")
          == (keepsToken ? "1" : "0"))
      #expect(
        site.sql("SELECT ended_at, end_reason FROM sessions WHERE id = \(Site.id(72))")
          == "2026-11-06 00:00:00.000\tlogout")
    }
  }
}

import Base
import MariaDB
import Support
import Testing

@testable import Store

/// The users of online-go.com, their keys, devices and notifications, that administrators list.
@Suite struct TurnListTests {
  private typealias Site = ViewedSite

  private static let rows = """
    INSERT INTO ogs_users (id, due_at, checked_at, active_games, failures, failure) VALUES
      (7, '2026-11-18 11:55:00', '2026-11-05', 2, 0, NULL), (8, '2026-11-18 11:54:59.999', NULL, 0, 3, 'HTTP 502'),
      (9, \(Site.now), NULL, 0, 0, NULL);
    INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at, last_notified_at) VALUES
      (7, \(Site.token("b")), '2026-11-01', NULL), (7, \(Site.token("a")), '2026-11-02', '2026-11-05'),
      (9, \(Site.token("b")), '2026-11-03', NULL), (9, \(Site.token("c")), '2026-11-04', NULL);
    INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running, notified_move, is_silent) VALUES
      (7, 71, 1, 'Second', 5, 7, TRUE, 4, TRUE), (7, 72, 0, 'First', 6, 9, FALSE, 6, FALSE), (9, 72, 0, 'First', 6, 9, TRUE, 0, FALSE);
    INSERT INTO api_keys (key_hash, key_prefix, ogs_user_id, description, created_at, revoked_at) VALUES
      (REPEAT('1', 32), 'key-1111', 7, 'Zebra', '2026-11-01', NULL), (REPEAT('2', 32), 'key-2222', 7, 'Ant', '2026-11-02', '2026-11-03'),
      (REPEAT('3', 32), 'key-3333', 8, 'Bee', '2026-11-02', NULL), (REPEAT('4', 32), 'key-1111', 7, 'Newt', '2026-11-01', '2026-11-03');
    INSERT INTO turn_settings (ogs_user_id, quiet_from, quiet_to, time_zone, kinds, live_games, muted_games, changed_at) VALUES
      (7, 60, 120, 'UTC', 'turn,clock', FALSE, '[71]', '2026-11-01'), (9, NULL, NULL, 'UTC', 'clock', TRUE, '[]', '2026-11-01');
    """

  @Test func usersAreListedByTheirNumbersWithPollsThatAreLateByFiveMinutes() throws {
    try withSiteAtOneMoment(Self.rows) { site throws in
      let users = site.records().turnUsers
      let lines = [
        "7 11-18T11:55:00Z false 11-05 2 0 - 2", "8 11-18T11:54:59Z true - 0 3 HTTP 502 0",
        "9 11-18 noon false - 0 0 - 2",
      ]
      for (after, limit, range, isMore) in [
        (0, 3, 0..<3, false), (0, 2, 0..<2, true), (6, 1, 0..<1, true), (7, 2, 1..<3, false),
        (8, 9, 2..<3, false), (9, 9, 3..<3, false),
      ] {
        let found = try users.list(after: Int64(after), limit: limit)
        site.expect(found.rows, Array(lines[range]))
        #expect(found.isMore == isMore, "\(after) \(limit)")
      }
      #expect(try users.find(8).map { line(of: $0) } == lines[1])
      #expect(try users.find(6) == nil)
    }
  }

  @Test func aPauseIsOverAtItsEnd() throws {
    try withSiteAtOneMoment("") { site throws in
      for (end, isPaused) in [(Site.justAfter, true), (Site.now, false), ("NULL", false)] {
        site.sql("UPDATE ogs_pause SET paused_until = \(end)")
        #expect(try (site.records().turnUsers.pauseEnd() != nil) == isPaused, "\(end)")
        #expect(try site.records().measurements.arePollsPaused() == isPaused, "\(end)")
      }
    }
  }

  @Test func keysAreListedByUserAndDescription() throws {
    try withViewedSite(Self.rows) { site throws in
      let keys = site.records().apiKeys
      let lines = [
        "7 key-2222 Ant 11-02 11-03", "7 key-1111 Newt 11-01 11-03", "7 key-1111 Zebra 11-01 -",
        "8 key-3333 Bee 11-02 -",
      ]
      for (users, limit, range, isMore) in [
        (Int64(0)...Int64.max, 4, 0..<4, false), (0...Int64.max, 3, 0..<3, true),
        (7...7, 9, 0..<3, false),
        (8...8, 9, 3..<4, false), (9...9, 9, 4..<4, false),
      ] {
        let found = try keys.list(ofUsers: users, limit: limit)
        site.expect(found.rows, Array(lines[range]))
        #expect(found.isMore == isMore, "\(users) \(limit)")
      }
    }
  }

  @Test func onlyAUsersValidKeyIsRevoked() throws {
    try withViewedSite(Self.rows) { site throws in
      let keys = site.records().apiKeys
      for (prefix, user) in [("key-1111", 8), ("key-2222", 7), ("key-111", 7)] {
        #expect(try keys.revoke(beginning: prefix, of: Int64(user)) == 0)
      }
      #expect(try keys.revoke(beginning: "key-1111", of: 7) == 1)
      site.expect(
        try keys.list(ofUsers: 7...8, limit: 9).rows,
        [
          "7 key-2222 Ant 11-02 11-03", "7 key-1111 Newt 11-01 11-03",
          "7 key-1111 Zebra 11-01 11-18 noon",
          "8 key-3333 Bee 11-02 -",
        ])
    }
  }

  @Test func registrationsGamesAndSettingsAreThoseOfTheUser() throws {
    try withViewedSite(Self.rows) { site throws in
      let (users, registrations) = (site.records().turnUsers, site.records().turnRegistrations)
      let sevens = ["7 aa 11-02 11-05", "7 bb 11-01 -"]
      for limit in 1...2 {
        site.expect(try registrations.list(of: 7, limit: limit), Array(sevens.prefix(limit)))
        #expect(try users.players(of: 72, limit: limit) == Array([7, 9].prefix(limit)))
        site.expect(
          try registrations.find(beginning: "b", limit: limit),
          Array(["7 bb 11-01 -", "9 bb 11-03 -"].prefix(limit)))
      }
      #expect(try users.players(of: 71, limit: 2) == [7])
      for (prefix, lines) in [
        (String(repeating: "a", count: 64), [sevens[0]]), ("c", ["9 cc 11-04 -"]), ("ab", []),
        ("", [sevens[0], sevens[1], "9 bb 11-03 -", "9 cc 11-04 -"]),
      ] { site.expect(try registrations.find(beginning: prefix, limit: 9), lines) }
      #expect(
        try users.games(of: 7).map { line(of: $0.game) } == [
          "72 First 6 9 false", "71 Second 5 7 true",
        ])
      #expect(try users.games(of: 7).map(\.isSilent) == [false, true])
      #expect(try users.games(of: 7).map(\.notifiedMove) == [6, 4])
      #expect(try users.settings(of: 7).kinds != users.settings(of: 9).kinds)
      #expect(try users.settings(of: 7).kinds.contains(.turn))
      #expect(try !users.settings(of: 9).kinds.contains(.turn))
    }
  }

  /// Of events of user 7, and of an account's mails. Others begin with the same digits, or belong to other accounts.
  private static let deliveries = """
    INSERT INTO notifications (id, kind, event_key, collapse_id, created_at, expires_at) VALUES
      (\(Site.id(31)), 'turn', 'turn 7 a', 'c', '2026-11-05', '2026-11-19'), (\(Site.id(32)), 'turn', 'turn 7 b', 'c', '2026-11-06', '2026-11-20'),
      (\(Site.id(33)), 'turn', 'turn 77 a', 'c', '2026-11-07', '2026-11-19'), (\(Site.id(34)), 'turn', 'turn 6 a', 'c', '2026-11-07', '2026-11-19'),
      (\(Site.id(35)), 'account', CONCAT('mail ', \(Site.id(51))), 'c', '2026-11-05', '2026-11-19'),
      (\(Site.id(36)), 'account', CONCAT('mail ', \(Site.id(52))), 'c', '2026-11-06', '2026-11-19'),
      (\(Site.id(37)), 'account', CONCAT('mail ', \(Site.id(53))), 'c', '2026-11-07', '2026-11-19');
    INSERT INTO deliveries (id, notification_id, token, channel, shard, state, attempts, status, reason, due_at, finished_at) VALUES
      (\(Site.id(41)), \(Site.id(31)), \(Site.token("b")), 'apns', 1, 'dead', 1, 410, 'Unregistered', '2026-11-05', '2026-11-06'),
      (\(Site.id(42)), \(Site.id(32)), \(Site.token("b")), 'fcm', 1, 'open', 2, NULL, 'no answer', '2026-11-06', NULL),
      (\(Site.id(43)), \(Site.id(32)), \(Site.token("a")), 'apns', 1, 'delivered', 1, 200, NULL, '2026-11-06', '2026-11-07'),
      (\(Site.id(44)), \(Site.id(33)), \(Site.token("a")), 'apns', 1, 'open', 0, NULL, NULL, '2026-11-06', NULL),
      (\(Site.id(45)), \(Site.id(34)), \(Site.token("a")), 'apns', 1, 'open', 0, NULL, NULL, '2026-11-06', NULL),
      (\(Site.id(46)), \(Site.id(35)), \(Site.token("b")), 'apns', 1, 'open', 0, NULL, NULL, '2026-11-06', NULL),
      (\(Site.id(47)), \(Site.id(36)), \(Site.token("b")), 'apns', 1, 'open', 0, NULL, NULL, '2026-11-06', NULL),
      (\(Site.id(48)), \(Site.id(36)), \(Site.token("a")), 'apns', 1, 'open', 0, NULL, NULL, '2026-11-06', NULL),
      (\(Site.id(49)), \(Site.id(37)), \(Site.token("a")), 'apns', 1, 'open', 0, NULL, NULL, '2026-11-06', NULL);
    INSERT INTO outbox (id, kind, recipient, expires_at, request_id, account_id) VALUES
      (\(Site.id(51)), 'new_device', 'a', '2026-11-19', 'r', \(Site.id(1))), (\(Site.id(52)), 'new_device', 'a', '2026-11-19', 'r', \(Site.id(1))),
      (\(Site.id(53)), 'new_device', 'b', '2026-11-19', 'r', \(Site.id(2)));
    INSERT INTO dead_tokens (token, removed_at) VALUES
      (\(Site.token("b")), '2026-11-05'), (\(Site.token("a")), '2026-11-06'), (CONCAT('b', REPEAT('a', 63)), '2026-11-07');
    """

  @Test func notificationsAreListedByUserAndByAccountTheNewestFirst() throws {
    try withViewedSite(Self.deliveries) { site throws in
      let sevens = [
        "43 apns aa 11-06 11-20 delivered 11-06 1 200 - 11-07",
        "42 fcm bb 11-06 11-20 open 11-06 2 - no answer -",
        "41 apns bb 11-05 11-19 dead 11-05 1 410 Unregistered 11-06",
      ]
      let anns = ["48", "47", "46"]
      let records = site.records()
      for limit in 1...4 {
        let found = try records.turnUsers.deliveries(to: 7, limit: limit)
        site.expect(found, Array(sevens.prefix(limit)))
        let ofAnn = try records.deliveries.list(ofAccount: Site.value(Site.id(1)), limit: limit)
        #expect(ofAnn.map { String($0.id.suffix(2)) } == Array(anns.prefix(limit)))
      }
      #expect(try records.turnUsers.deliveries(to: 9, limit: 9).isEmpty)
    }
  }

  @Test func tokensThatWereCalledDeadAreFoundByTheirBeginning() throws {
    try withViewedSite(Self.deliveries) { site throws in
      let deliveries = site.records().deliveries
      for (prefix, limit, lines) in [
        ("b", 9, ["ba 11-07", "bb 11-05"]), ("b", 1, ["ba 11-07"]), ("bb", 9, ["bb 11-05"]),
        (String(repeating: "a", count: 64), 9, ["aa 11-06"]), ("c", 9, []),
      ] { site.expect(try deliveries.removedTokens(beginning: prefix, limit: limit), lines) }
    }
  }
}

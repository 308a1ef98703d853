import Base
import MariaDB
import Support
import Testing

@testable import Store

/// The messages, limits and problems that administrators list, and the numbers about waiting work.
@Suite struct OperationsListTests {
  private typealias Site = ViewedSite

  private static let messages = """
    INSERT INTO outbox (id, kind, recipient, state, sealed, claim_id, attempts, reason, due_at, created_at, expires_at, request_id,
        finished_at) VALUES
      (\(Site.id(11)), 'login_code', 'a@b', 'open', 's', NULL, 1, 'greylisted', '2026-11-19', '2026-11-17', \(Site.justAfter), 'r', NULL),
      (\(Site.id(12)), 'new_device', 'b@b', 'open', 's', \(Site.id(99)), 0, NULL, '2026-11-20', '2026-11-17', '2026-11-21', 'r', NULL),
      (\(Site.id(13)), 'login_code', 'c@b', 'open', 's', NULL, 0, NULL, '2026-11-18', '2026-11-17', \(Site.now), 'r', NULL),
      (\(Site.id(14)), 'login_code', 'd@b', 'dead', NULL, NULL, 9, 'refused', '2026-11-18', '2026-11-17', '2026-11-21', 'r', '2026-11-17'),
      (\(Site.id(15)), 'account_deleted', 'e@b', 'open', 's', NULL, 0, NULL, '2026-11-17', '2026-11-17', '2026-11-21', 'r', NULL);
    INSERT INTO notifications (id, kind, event_key, collapse_id, created_at, expires_at) VALUES
      (\(Site.id(21)), 'turn', 'one', 'c', '2026-11-17', \(Site.justAfter)), (\(Site.id(22)), 'clock', 'two', 'c', '2026-11-16', \(Site.now));
    INSERT INTO delivery_leases (channel, shard) VALUES ('fcm', 0);
    INSERT INTO deliveries (id, notification_id, token, channel, shard, state, attempts, losses, status, reason, due_at, finished_at) VALUES
      (\(Site.id(31)), \(Site.id(21)), \(Site.token("a")), 'apns', 3, 'open', 1, 2, 503, 'Busy', '2026-11-19', NULL),
      (\(Site.id(32)), \(Site.id(21)), \(Site.token("b")), 'fcm', 0, 'open', 3, 1, NULL, 'no answer', '2026-11-17 12:00', NULL),
      (\(Site.id(33)), \(Site.id(21)), \(Site.token("c")), 'apns', 3, 'open', 0, 0, NULL, NULL, '2026-11-18', NULL),
      (\(Site.id(34)), \(Site.id(21)), \(Site.token("d")), 'apns', 3, 'dead', 4, 3, 410, 'Gone', '2026-11-18', '2026-11-18'),
      (\(Site.id(35)), \(Site.id(21)), \(Site.token("e")), 'apns', 3, 'delivered', 1, 0, 200, NULL, '2026-11-18', '2026-11-18'),
      (\(Site.id(36)), \(Site.id(22)), \(Site.token("f")), 'apns', 3, 'open', 0, 0, NULL, NULL, '2026-11-17', NULL);
    """

  private func id(_ number: Int) -> String { Site.value(Site.id(number)) }

  @Test func messagesAreListedByStateTheLatestDueFirst() throws {
    try withViewedSite(Self.messages) { site throws in
      let (mails, deliveries) = (site.records().mails, site.records().deliveries)
      let openMails = [
        "12 new_device b@b open 11-17 11-20 11-21 0 -",
        "11 login_code a@b open 11-17 11-19 11-18 noon 1 greylisted",
        "13 login_code c@b open 11-17 11-18 11-18 noon 0 -",
        "15 account_deleted e@b open 11-17 11-17 11-21 0 -",
      ]
      let open = [
        "31 turn aa open 11-17 11-19 11-18 noon 1 503 Busy",
        "33 turn cc open 11-17 11-18 11-18 noon 0 ",
        "32 turn bb open 11-17 11-17 noon 11-18 noon 3 no answer",
        "36 clock ff open 11-16 11-17 11-18 noon 0 ",
      ]
      for limit in 1...4 {
        let waiting = (
          try mails.list(.open, limit: limit), try deliveries.list(.open, limit: limit)
        )
        site.expect(waiting.0.rows, Array(openMails.prefix(limit)))
        site.expect(waiting.1.rows, Array(open.prefix(limit)))
        #expect(waiting.0.isMore == (limit < 4))
        #expect(waiting.1.isMore == (limit < 4))
      }
      site.expect(
        try mails.list(.dead, limit: 9).rows, ["14 login_code d@b dead 11-17 11-18 11-21 9 refused"]
      )
      site.expect(
        try deliveries.list(.delivered, limit: 9).rows,
        ["35 turn ee delivered 11-17 11-18 11-18 noon 1 200"])
    }
  }

  private func delivery(_ site: Site, _ number: Int) -> String {
    site.sql(
      "SELECT state, attempts, losses, due_at, finished_at, reason FROM deliveries WHERE id = \(Site.id(number))"
    ).replacing("\t", with: " ")
  }

  private func mail(_ site: Site, _ number: Int) -> String {
    site.sql(
      "SELECT state, recipient, due_at, finished_at, sealed, reason FROM outbox WHERE id = \(Site.id(number))"
    ).replacing("\t", with: " ")
  }

  @Test func aMessageIsRetriedUntilItExpires() throws {
    try withSiteAtOneMoment(Self.messages) { site throws in
      let (mails, deliveries) = (site.records().mails, site.records().deliveries)
      let others = site.sql(
        "SELECT * FROM deliveries WHERE id NOT IN (\(Site.id(31)), \(Site.id(34))) ORDER BY id")
      #expect(try deliveries.retry(id(31)) == .done)
      #expect(try deliveries.retry(id(34)) == .done)
      #expect(try deliveries.retry(id(35)) == .closed(state: "delivered"))
      #expect(try deliveries.retry(id(36)) == .expired)
      #expect(try deliveries.retry(id(99)) == .unknown)
      #expect(delivery(site, 31) == "open 1 2 2026-11-18 12:00:00.000 NULL Busy")
      #expect(delivery(site, 34) == "open 0 0 2026-11-18 12:00:00.000 NULL Gone")
      #expect(
        site.sql(
          "SELECT * FROM deliveries WHERE id NOT IN (\(Site.id(31)), \(Site.id(34))) ORDER BY id")
          == others)
      #expect(try mails.retry(id(11)) == .done)
      #expect(try mails.retry(id(12)) == .done)
      #expect(try mails.retry(id(13)) == .expired)
      #expect(try mails.retry(id(14)) == .wiped)
      #expect(try mails.retry(id(99)) == .unknown)
      #expect(mail(site, 11) == "open a@b 2026-11-18 12:00:00.000 NULL s greylisted")
      // It is being sent.
      #expect(mail(site, 12) == "open b@b 2026-11-20 00:00:00.000 NULL s NULL")
      #expect(mail(site, 15) == "open e@b 2026-11-17 00:00:00.000 NULL s NULL")
    }
  }

  /// A mail about a deleted account also loses its address.
  @Test func onlyAWaitingMessageIsDiscarded() throws {
    try withSiteAtOneMoment(Self.messages) { site throws in
      let (mails, deliveries) = (site.records().mails, site.records().deliveries)
      #expect(try deliveries.discard(id(31)) == .done)
      #expect(try deliveries.discard(id(36)) == .done)
      #expect(try deliveries.discard(id(34)) == .closed(state: "dead"))
      #expect(try deliveries.discard(id(35)) == .closed(state: "delivered"))
      #expect(
        delivery(site, 31) == "dead 1 2 2026-11-19 00:00:00.000 2026-11-18 12:00:00.000 discarded")
      #expect(delivery(site, 33) == "open 0 0 2026-11-18 00:00:00.000 NULL NULL")
      #expect(delivery(site, 34) == "dead 4 3 2026-11-18 00:00:00.000 2026-11-18 00:00:00.000 Gone")
      let end = "NULL discarded by an administrator"
      for (number, recipient, due) in [(11, "a@b", "19"), (15, "", "17"), (13, "c@b", "18")] {
        #expect(try mails.discard(id(number)) == .done)
        #expect(
          mail(site, number)
            == "dead \(recipient) 2026-11-\(due) 00:00:00.000 2026-11-18 12:00:00.000 \(end)")
      }
      #expect(try mails.discard(id(14)) == .closed(state: "dead"))
      #expect(mail(site, 12) == "open b@b 2026-11-20 00:00:00.000 NULL s NULL")
    }
  }

  /// Windows that end now or in a millisecond, began a day ago, and are used up or not.
  private static let limits = """
    INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed) VALUES
      ('a-limit', 'x', '2026-11-18 11:59:00.001', 60, 5, 5), ('a-limit', 'x 192.0.2.1', '2026-11-18 11:59:30', 60, 6, 5),
      ('a-limit', 'x1', '2026-11-18 11:59:40', 60, 5, 5), ('a-limit', '0', '2026-11-18 11:59:50', 60, 4, 5),
      ('a-limit', 'y', '2026-11-18 11:59:00.000', 60, 5, 5), ('b-limit', 'x', \(Site.justUnderADayAgo), 90000, 5, 5),
      ('b-limit', 'z', \(Site.dayAgo), 90000, 5, 5), ('b-limit', '~', '2026-11-18 11:59:20', 60, 5, 5);
    """

  @Test func limitsAreListedWhoseWindowHasNotEnded() throws {
    try withViewedSite(Self.limits) { site throws in
      let limits = site.records().countedLimits
      func list(
        _ name: String?, _ subject: String?, usedUp: Bool, limit: Int = 20
      ) throws -> [String] {
        let found = try limits.list(named: name, of: subject, isUsedUp: usedUp, limit: limit)
        #expect(!found.isMore)
        return found.rows.map { "\($0.name.prefix(1)) \($0.subject)" }
      }
      // The newest first.
      #expect(
        try list(nil, nil, usedUp: false) == ["a 0", "a x1", "a x 192.0.2.1", "b ~", "a x", "b x"])
      #expect(
        try list(nil, nil, usedUp: true, limit: 5) == [
          "a x1", "a x 192.0.2.1", "b ~", "a x", "b x",
        ])
      // By name and subject.
      #expect(
        try list("a-limit", nil, usedUp: false, limit: 4) == [
          "a 0", "a x", "a x 192.0.2.1", "a x1",
        ])
      #expect(try list("a-limit", nil, usedUp: true) == ["a x", "a x 192.0.2.1", "a x1"])
      #expect(try list("b-limit", nil, usedUp: true) == ["b x", "b z", "b ~"])
      #expect(try list("a-limit", "x", usedUp: true) == ["a x", "a x 192.0.2.1"])
      #expect(try list("a-limit", "0", usedUp: true) == [])
      #expect(try list("a-limit", "y", usedUp: false) == [])
      #expect(try list(nil, "x", usedUp: true) == ["a x", "a x 192.0.2.1", "b x"])
      for (name, limit) in [(nil, 5), ("a-limit", 3)] {
        #expect(try limits.list(named: name, of: nil, isUsedUp: false, limit: limit).isMore)
      }
      site.expect(
        try limits.list(named: "a-limit", of: "x", isUsedUp: true, limit: 1).rows,
        ["a-limit x 5 5 11-18 noon"])
    }
  }

  @Test func aLimitIsLiftedForASubjectWithItsNetworks() throws {
    try withViewedSite(Self.limits) { site throws in
      let limits = site.records().countedLimits
      #expect(try !limits.lift("a-limit", of: "z"))
      #expect(try limits.lift("a-limit", of: "0"))
      #expect(try limits.lift("a-limit", of: "x"))
      #expect(
        site.sql("SELECT LEFT(name, 1), subject FROM rate_limits ORDER BY name, subject").replacing(
          "\t", with: " ")
          == "a x1\na y\nb x\nb z\nb ~")
    }
  }

  @Test func problemsAreListedThatWereSeenInTheLastDay() throws {
    let rows = """
      INSERT INTO problems (host, name, subject, reason, since, seen_at) VALUES
        ('h2', 'mail', '', 'two', '2026-11-02', \(Site.now)), ('h1', 'mail', '', 'one', '2026-11-01', \(Site.justUnderADayAgo)),
        ('h3', 'mail', '', 'old', '2026-11-02', \(Site.dayAgo)), ('h1', 'ogs', '', '', '2026-11-02', \(Site.now)),
        ('h1', 'bank', 'b2', 'four', '2026-11-04', \(Site.now)), ('h2', 'bank', 'b1', 'three', '2026-11-03', \(Site.now));
      """
    try withSiteAtOneMoment(rows) { site throws in
      let found = try site.records().problems.failing()
      #expect(
        found.map { "\($0.name.rawValue) \($0.subject) \($0.host) \($0.reason)" }
          == ["bank b1 h2 three", "bank b2 h1 four", "mail  h1 one", "mail  h2 two"])
    }
  }

  /// By the companion that was seen last: its interval, the end of its pass, and whether it is late and overdue.
  @Test func aCompanionIsLateAfterTwoIntervalsAndOverdueAfterFiveMinutes() throws {
    let rows = """
      INSERT INTO companion_status (host, version, last_pass_at, missing)
        VALUES ('old', '1', '2026-11-18 11:00:00', 'X'), ('new', '2', \(Site.now), 'A B');
      """
    try withSiteAtOneMoment(rows) { site throws in
      for (interval, time, isLate, isOverdue) in [
        (30, "11:58:00.000", false, false), (30, "11:57:59.999", true, false),
        (30, "11:55:00.000", true, false), (30, "11:54:59.999", true, true),
        (300, "11:49:00.000", false, false), (300, "11:48:59.999", true, true),
      ] {
        site.sql(
          """
          UPDATE companion_status SET pass_interval = \(interval);
          UPDATE companion_status SET last_pass_at = '2026-11-18 \(time)' WHERE host = 'new';
          """)
        let status = try #require(try site.records().companions.companionStatus())
        #expect(status.host == "new")
        #expect(status.missing == ["A", "B"])
        #expect(status.isLate == isLate, "\(interval) \(time)")
        #expect(status.isOverdue == isOverdue, "\(interval) \(time)")
      }
      let measurements = site.records().measurements
      #expect(try measurements.lastPass(on: "old")?.endedAt == Site.moment - .seconds(3600))
      #expect(try measurements.lastPass(on: "other") == nil)
    }
  }

  /// Of each kind: due for a minute, due now, due in a millisecond, and finished.
  @Test func workIsCountedThatIsDueNow() throws {
    let rows = """
      INSERT INTO jobs (id, kind, request, request_id, due_at, state, finished_at, created_at) VALUES
        (\(Site.id(1)), 'turn_check', '{}', 'r', '2026-11-18 11:59:00', 'open', NULL, '2026-11-01'),
        (\(Site.id(2)), 'turn_check', '{}', 'r', \(Site.now), 'open', NULL, '2026-11-01'),
        (\(Site.id(3)), 'turn_check', '{}', 'r', \(Site.justAfter), 'open', NULL, '2026-11-01'),
        (\(Site.id(4)), 'turn_check', '{}', 'r', '2026-11-18 11:00:00', 'dead', '2026-11-18 11:00:00', '2026-11-01');
      INSERT INTO outbox (id, kind, recipient, due_at, state, finished_at, expires_at, request_id)
        SELECT id, 'login_code', 'a', due_at, state, finished_at, '2026-11-19', 'r' FROM jobs;
      INSERT INTO ogs_users (id, due_at) VALUES (1, '2026-11-18 11:59:00'), (2, \(Site.now)), (3, \(Site.justAfter));
      INSERT INTO notifications (id, kind, event_key, collapse_id, created_at, expires_at)
        SELECT id, 'turn', id, 'c', '2026-11-01', '2026-11-19' FROM jobs;
      INSERT INTO delivery_leases (channel, shard) VALUES ('fcm', 0);
      INSERT INTO deliveries (id, notification_id, token, channel, shard, due_at, state, finished_at)
        SELECT id, id, 'token', IF(RIGHT(id, 1) = '2', 'fcm', 'apns'), IF(RIGHT(id, 1) = '2', 0, 5), due_at, state, finished_at FROM jobs;
      INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at)
        VALUES (\(Site.id(51)), 'Shop', REPEAT('k', 32), 'msk_abcdefgh', '2026-11-01');
      INSERT INTO payments (id, merchant_id, amount, currency, created_at, expires_at)
        SELECT CONCAT('pay_aaaaaaaaaaaaaaaaaaaa', RIGHT(id, 2)), \(Site.id(51)), 1, 'CAD', \(Site.now), \(Site.now) FROM jobs;
      INSERT INTO webhooks (id, payment_id, merchant_id, event, due_at, state, finished_at, expires_at)
        SELECT id, CONCAT('pay_aaaaaaaaaaaaaaaaaaaa', RIGHT(id, 2)), \(Site.id(51)), 'payment.expired', due_at, state, finished_at, '2026-11-19'
        FROM jobs;
      """
    try withSiteAtOneMoment(rows) { site throws in
      let queues = try site.records().measurements.queues()
      #expect(queues.map(\.name) == ["deliveries", "jobs", "mails", "polls", "webhooks"])
      for queue in queues {
        #expect(queue.length == 2, "\(queue.name)")
        #expect(queue.oldest == .seconds(60), "\(queue.name)")
      }
    }
  }

  /// More than are counted. The oldest, which is the last row of each table, is still found.
  @Test func workIsCountedUpToTenThousand() throws {
    let ids = "CONCAT('00000000-0000-4000-8000-', LPAD(seq, 12, '0'))"
    let due = "'2026-11-18 11:59:00' - INTERVAL (seq = 10001) MINUTE"
    let rows = """
      INSERT INTO jobs (id, kind, request, request_id, due_at)
        SELECT \(ids), 'turn_check', '{}', 'r', \(due) FROM seq_1_to_10001;
      INSERT INTO outbox (id, kind, recipient, due_at, expires_at, request_id)
        SELECT \(ids), 'login_code', 'a', \(due), '2026-11-19', 'r' FROM seq_1_to_10001;
      INSERT INTO ogs_users (id, due_at) SELECT seq, \(due) FROM seq_1_to_10001;
      INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
        VALUES (\(Site.id(1)), 'turn', 'e', 'c', '2026-11-19');
      INSERT INTO deliveries (id, notification_id, token, shard, due_at)
        SELECT \(ids), \(Site.id(1)), seq, 0, \(due) FROM seq_1_to_10001;
      INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at)
        VALUES (\(Site.id(51)), 'Shop', REPEAT('k', 32), 'msk_abcdefgh', '2026-11-01');
      INSERT INTO payments (id, merchant_id, amount, currency, created_at, expires_at)
        SELECT CONCAT('pay_', LPAD(seq, 22, '0')), \(Site.id(51)), 1, 'CAD', \(Site.now), \(Site.now) FROM seq_1_to_10001;
      INSERT INTO webhooks (id, payment_id, merchant_id, event, due_at, expires_at)
        SELECT \(ids), CONCAT('pay_', LPAD(seq, 22, '0')), \(Site.id(51)), 'payment.expired', \(due), '2026-11-19'
        FROM seq_1_to_10001;
      """
    try withSiteAtOneMoment(rows) { site throws in
      for queue in try site.records().measurements.queues() {
        #expect(queue.length == Measurements.mostCounted, "\(queue.name)")
        #expect(queue.oldest == .seconds(120), "\(queue.name)")
      }
    }
  }

  /// Each table has its oldest row a number of hours ago. Open rows, and deliveries of other shards and channels, do not count.
  @Test func aPurgeIsAsLateAsItsOldestRow() throws {
    let rows = """
      INSERT INTO audit_log (at, event, request_id, address) VALUES
        ('2026-11-18 11:00', 'e', 'r', 'a'), ('2026-11-18 11:30', 'e', 'r', 'a');
      INSERT INTO notifications (id, kind, event_key, collapse_id, created_at, expires_at)
        VALUES (\(Site.id(1)), 'turn', 'e', 'c', '2026-11-18 10:00', '2026-11-19');
      INSERT INTO deliveries (id, notification_id, token, channel, shard, state, due_at, finished_at) VALUES
        (\(Site.id(2)), \(Site.id(1)), 'a', 'apns', 0, 'delivered', '2026-11-18 09:00', \(Site.now)),
        (\(Site.id(3)), \(Site.id(1)), 'b', 'apns', 1, 'delivered', '2026-11-18 01:00', \(Site.now)),
        (\(Site.id(4)), \(Site.id(1)), 'c', 'fcm', 0, 'delivered', '2026-11-18 01:00', \(Site.now)),
        (\(Site.id(5)), \(Site.id(1)), 'd', 'apns', 0, 'dead', '2026-11-18 01:00', \(Site.now));
      INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at)
        VALUES (\(Site.id(6)), \(Site.id(11)), '2026-11-01', '2026-11-01', '2026-11-18 08:00');
      """
    try withSiteAtOneMoment(rows) { site throws in
      let found = try site.records().measurements.purgeLateness(auditLifetime: .seconds(0))
      let hours = found.map { "\($0.table) \(Double($0.late.components.seconds) / 3600)" }
      #expect(
        hours == ["audit_log 1.0", "deliveries -21.0", "notifications -742.0", "sessions -716.0"])
    }
  }
}

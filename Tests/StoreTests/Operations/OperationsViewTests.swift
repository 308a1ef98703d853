import Support
import Testing

/// What administrators see in the views of mails, jobs, notifications, problems and limits.
@Suite struct OperationsViewTests {
  private typealias Site = ViewedSite

  @Test func mailsAndJobsOfTodayAreThoseSinceMidnight() throws {
    let rows = """
      INSERT INTO outbox (id, kind, recipient, state, claim_id, due_at, created_at, expires_at, request_id, finished_at) VALUES
        (\(Site.id(1)), 'login_code', 'a', 'open', \(Site.id(9)), \(Site.justAfter), \(Site.midnight), \(Site.now), 'claimed', NULL),
        (\(Site.id(2)), 'login_code', 'a', 'open', \(Site.id(9)), \(Site.now), \(Site.now), \(Site.now), 'claim ended', NULL),
        (\(Site.id(3)), 'login_code', 'a', 'open', NULL, \(Site.justAfter), \(Site.now), \(Site.now), 'waits', NULL),
        (\(Site.id(4)), 'login_code', 'a', 'dead', \(Site.id(9)), \(Site.justAfter), \(Site.now), \(Site.now), 'dead', \(Site.now)),
        (\(Site.id(5)), 'login_code', 'a', 'open', NULL, \(Site.now), \(Site.justBeforeMidnight), \(Site.now), 'old', NULL);
      INSERT INTO jobs (id, kind, request, request_id, created_at) VALUES
        (\(Site.id(1)), 'turn_check', '{}', 'new', \(Site.midnight)),
        (\(Site.id(2)), 'turn_check', '{}', 'old', \(Site.justBeforeMidnight));
      """
    try withViewedSite(rows) { site throws in
      site.expect(
        "mails_today", "request_id, state",
        ["claimed claimed", "claim ended open", "waits open", "dead dead"], sortedBy: "id")
      site.expect("jobs_today", "request_id", ["new"])
    }
  }

  /// Two notifications, the older of which was made before midnight, and mails, each with and without a reason.
  private static let failures = """
    INSERT INTO notifications (id, kind, event_key, collapse_id, created_at, expires_at) VALUES
      (\(Site.id(1)), 'turn', 'old', 'c', \(Site.justBeforeMidnight), \(Site.now)),
      (\(Site.id(2)), 'clock', 'new', 'c', \(Site.midnight), \(Site.now));
    INSERT INTO deliveries (id, notification_id, token, shard, state, status, reason, finished_at) VALUES
      (\(Site.id(11)), \(Site.id(1)), \(Site.token("a")), 1, 'dead', 400, 'BadDeviceToken', \(Site.now)),
      (\(Site.id(12)), \(Site.id(1)), \(Site.token("b")), 1, 'dead', 400, 'BadDeviceToken', \(Site.now)),
      (\(Site.id(13)), \(Site.id(2)), \(Site.token("b")), 1, 'open', NULL, 'no answer', NULL),
      (\(Site.id(14)), \(Site.id(2)), \(Site.token("c")), 1, 'delivered', 200, NULL, \(Site.now));
    INSERT INTO outbox (id, kind, recipient, state, reason, created_at, expires_at, request_id) VALUES
      (\(Site.id(21)), 'login_code', 'a', 'open', 'greylisted', \(Site.midnight), \(Site.now), 'r'),
      (\(Site.id(22)), 'login_code', 'a', 'open', 'greylisted', \(Site.now), \(Site.now), 'r'),
      (\(Site.id(23)), 'login_code', 'a', 'open', NULL, \(Site.now), \(Site.now), 'r');
    """

  @Test func notificationsOfTodayAreShownWithTheirDeliveries() throws {
    try withViewedSite(Self.failures) { site throws in
      site.expect(
        "notifications_today", "event_key, LEFT(device, 3), state",
        ["new bbb open", "new ccc delivered"],
        sortedBy: "device")
    }
  }

  @Test func failuresAreCountedByTheirReason() throws {
    try withViewedSite(Self.failures) { site throws in
      site.expect(
        "failures_by_reason", "kind, state, reason, messages, latest",
        [
          "clock open no answer 1 2026-11-18 00:00:00.000",
          "login_code open greylisted 2 2026-11-18 12:00:00.000",
          "turn dead 400 BadDeviceToken 2 2026-11-17 23:59:59.999",
        ], sortedBy: "kind")
    }
  }

  @Test func aProblemIsPresentForADayAfterItWasSeen() throws {
    let rows = """
      INSERT INTO problems (host, name, reason, since, seen_at) VALUES
        ('h1', 'mail', 'Mails fail.', '2026-11-10', \(Site.justUnderADayAgo)),
        ('h2', 'apns', 'Old.', '2026-11-10', \(Site.dayAgo)), ('h3', 'fcm', '', '2026-11-10', \(Site.now));
      """
    try withViewedSite(rows) { site throws in
      site.expect("present_problems", "host, name, reason", ["h1 mail Mails fail."])
    }
  }

  /// Two companions, the second with longer intervals. Each may miss two intervals and a minute. Columns: when the passes ended;
  /// whether each is overdue; the host that is named as a problem, if both are overdue.
  @Test(arguments: [
    ("11:58:00.000", "11:49:00.000", "0 0", ""), ("11:57:59.999", "11:49:00.000", "1 0", ""),
    ("11:58:00.000", "11:48:59.999", "0 1", ""), ("11:57:59.999", "11:48:59.999", "1 1", "first"),
    ("11:48:58.000", "11:48:59.999", "1 1", "second"),
  ])
  func companionsAreAProblemOnceAllAreOverdue(
    first: String, second: String, overdue: String, problem: String
  ) throws {
    let rows = """
      INSERT INTO companion_status (host, version, pass_interval, last_pass_at)
        VALUES ('first', '1', 30, '2026-11-18 \(first)'), ('second', '1', 300, '2026-11-18 \(second)');
      """
    try withViewedSite(rows) { site throws in
      site.expect(
        "companions", "GROUP_CONCAT(overdue ORDER BY host SEPARATOR ' ')", [overdue])
      let latest = max(first, second)
      site.expect(
        "present_problems", "name, host, since",
        problem.isEmpty ? [] : ["companion \(problem) 2026-11-18 \(latest)"])
    }
  }

  /// Used up for another second, until now, and not used up.
  @Test func callersAreShownWhoAreRefusedNow() throws {
    let rows = """
      INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed) VALUES
        ('l', 'refused', '2026-11-18 11:59:01', 60, 5, 5), ('l', 'over', '2026-11-18 11:59:01', 60, 6, 5),
        ('l', 'free now', '2026-11-18 11:59:00', 60, 5, 5), ('l', 'not used up', '2026-11-18 11:59:59', 60, 4, 5);
      """
    try withViewedSite(rows) { site throws in
      site.expect(
        "rate_limited_callers", "subject, free_again_at",
        ["over 2026-11-18 12:00:01.000", "refused 2026-11-18 12:00:01.000"], sortedBy: "subject")
    }
  }
}

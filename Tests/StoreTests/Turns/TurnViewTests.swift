import Support
import Testing

/// What administrators see in the views of registrations and polls.
@Suite struct TurnViewTests {
  private typealias Site = ViewedSite

  /// Sorted by the view itself. Apple's host is the one that was learned last.
  @Test func whoWasNotifiedLastIsShownFirst() throws {
    let rows = """
      INSERT INTO ogs_users (id, active_games, failures, failure) VALUES (7, 1, 0, NULL), (8, 2, 3, 'HTTP 502');
      INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at, last_notified_at) VALUES
        (7, \(Site.token("a")), '2026-11-01', NULL), (8, \(Site.token("b")), '2026-11-01', '2026-11-03'),
        (7, \(Site.token("c")), '2026-11-01', '2026-11-02');
      INSERT INTO apns_hosts (token, topic, environment, learned_at) VALUES
        (\(Site.token("b")), 'one', 'sandbox', '2026-11-02'), (\(Site.token("b")), 'two', 'production', '2026-11-01'),
        (\(Site.token("c")), 'one', 'production', '2026-11-02');
      UPDATE ogs_pause SET paused_until = '2026-11-19';
      """
    try withViewedSite(rows) { site throws in
      site.expect(
        "notified_last", "ogs_user_id, LEFT(device, 3), environment, active_games, failures",
        ["8 bbb sandbox 2 3", "7 ccc production 1 0", "7 aaa NULL 1 0"])
      site.expect(
        "polls", "ogs_user_id, failure, all_paused_until",
        ["7 NULL 2026-11-19 00:00:00.000", "8 HTTP 502 2026-11-19 00:00:00.000"],
        sortedBy: "ogs_user_id")
    }
  }

  /// Registered for pushes, for turns, and for neither any more.
  @Test func onlyAHostOfATokenWithoutARegistrationIsOfNoDevice() throws {
    let rows = """
      INSERT INTO apns_hosts (token, topic, environment, learned_at)
        VALUES (\(Site.token("a")), 'one', 'sandbox', '2026-11-02'), (\(Site.token("b")), 'one', 'sandbox', '2026-11-02'),
          (\(Site.token("c")), 'one', 'sandbox', '2026-11-02');
      INSERT INTO push_tokens (token, device_id, platform, registered_at)
        VALUES (\(Site.token("a")), \(Site.id(11)), 'ios', '2026-11-01');
      INSERT INTO ogs_users (id) VALUES (7);
      INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
        VALUES (7, \(Site.token("b")), '2026-11-01');
      """
    try withViewedSite(rows) { site throws in
      site.expect("hosts_of_no_device", "LEFT(token, 3)", ["ccc"])
    }
  }
}

import Support
import Testing

/// What administrators see in the views of accounts, devices, sessions, passkeys and attested keys.
@Suite struct AccountViewTests {
  private typealias Site = ViewedSite

  /// Of each device, sessions that are live for another millisecond, that end now, and that have ended.
  private static let sessions = """
    INSERT INTO sessions (id, device_id, generation, created_at, rotated_at, expires_at, ended_at, end_reason) VALUES
      (\(Site.id(21)), \(Site.id(11)), 1, '2026-11-01', '2026-11-01', \(Site.justAfter), NULL, NULL),
      (\(Site.id(22)), \(Site.id(11)), 2, '2026-11-01', '2026-11-01', \(Site.now), NULL, NULL),
      (\(Site.id(23)), \(Site.id(11)), 3, '2026-11-01', '2026-11-01', '2026-12-01', '2026-11-02', 'logout'),
      (\(Site.id(24)), \(Site.id(13)), 4, '2026-11-01', '2026-11-01', '2026-12-01', NULL, NULL),
      (\(Site.id(25)), \(Site.id(13)), 5, '2026-11-01', '2026-11-01', '2026-12-01', NULL, NULL),
      (\(Site.id(26)), \(Site.id(14)), 6, '2026-11-01', '2026-11-01', '2026-11-02', '2026-11-02', 'logout'),
      (\(Site.id(27)), \(Site.id(14)), 7, '2026-11-01', '2026-11-01', '2026-12-01', NULL, NULL);
    """

  @Test func devicesAndSessionsAreCountedThatAreLiveNow() throws {
    try withViewedSite(Self.sessions) { site throws in
      site.expect(
        "every_account", "email, devices, live_sessions",
        ["ann@example.org 2 3", "bob@example.org 1 1", "cid@example.org 0 0"], sortedBy: "email")
      site.expect(
        "live_sessions", "email, device, platform, generation",
        [
          "ann@example.org Phone ios 1", "ann@example.org Mac macos 4",
          "ann@example.org Mac macos 5", "bob@example.org Pixel android 7",
        ], sortedBy: "generation")
    }
  }

  @Test func devicesAreShownWithWhatTheyHave() throws {
    let rows = """
      INSERT INTO device_preferences (device_id, version, push_enabled, archive_cache_quota_mb, preferred_models,
          last_updated_at)
        VALUES (\(Site.id(11)), 3, TRUE, 256, '["m"]', '2026-11-01');
      INSERT INTO push_tokens (token, device_id, platform, registered_at) VALUES
        (\(Site.token("a")), \(Site.id(11)), 'ios', '2026-11-01'), (\(Site.token("b")), \(Site.id(11)), 'ios', '2026-11-01'),
        (\(Site.token("c")), \(Site.id(14)), 'android', '2026-11-01');
      INSERT INTO biometric_keys (device_id, id, type, public_key, enrolled_at)
        VALUES (\(Site.id(14)), \(Site.id(31)), 'face', 'QUJD', '2026-11-01');
      """
    try withViewedSite(Self.sessions + rows) { site throws in
      site.expect(
        "every_device",
        "email, name, preferences_version, push_enabled, archive_cache_quota_mb, preferred_models, push_tokens, biometric, live_sessions",
        [
          "ann@example.org Mac NULL NULL NULL NULL 0 NULL 2",
          "ann@example.org Old NULL NULL NULL NULL 0 NULL 0",
          #"ann@example.org Phone 3 1 256 ["m"] 2 NULL 1"#,
          "bob@example.org Pixel NULL NULL NULL NULL 1 face 1",
        ], sortedBy: "email, name")
    }
  }

  @Test func passkeysAreShownWithTheirOwner() throws {
    let rows = """
      INSERT INTO passkeys (id, account_id, credential_id, public_key, sign_count, is_backup_eligible, is_backed_up, name,
          created_at)
        VALUES (\(Site.id(31)), \(Site.id(2)), 'c', 'p', 7, TRUE, TRUE, 'Key', '2026-11-01');
      """
    try withViewedSite(rows) { site throws in
      site.expect("every_passkey", "email, name, sign_count", ["bob@example.org Key 7"])
    }
  }

  /// A key has no device before somebody signs in with it.
  @Test func attestedKeysAreShownAlsoWithoutADevice() throws {
    let rows = """
      INSERT INTO attestation_keys (id, public_key, app_id, environment, receipt, device_id, attested_at, bound_at) VALUES
        (REPEAT('k', 32), CONCAT(X'04', REPEAT('p', 64)), 'T.one', 'production', '', \(Site.id(14)), '2026-11-01', '2026-11-01'),
        (REPEAT('l', 32), CONCAT(X'04', REPEAT('q', 64)), 'T.two', 'development', '', NULL, '2026-11-01', NULL);
      """
    try withViewedSite(rows) { site throws in
      site.expect(
        "attested_keys", "app_id, environment, email, device",
        ["T.one production bob@example.org Pixel", "T.two development NULL NULL"],
        sortedBy: "app_id")
    }
  }

  /// An entry can name an account and a device that are gone, or nobody.
  @Test func theAuditTrailNamesOwnersAndKeepsEntriesWithoutOne() throws {
    let rows = """
      INSERT INTO audit_log (id, at, event, account_id, device_id, request_id, address) VALUES
        (1, '2026-11-01', 'one', \(Site.id(1)), \(Site.id(13)), 'r', 'a'),
        (2, '2026-11-02', 'two', \(Site.id(2)), NULL, 'r', 'a'),
        (3, '2026-11-03', 'three', NULL, NULL, 'r', 'a'),
        (4, '2026-11-04', 'four', \(Site.id(99)), \(Site.id(98)), 'r', 'a');
      """
    try withViewedSite(rows) { site throws in
      site.expect(
        "audit_trail", "event, email, device",
        [
          "one ann@example.org Mac", "two bob@example.org NULL", "three NULL NULL",
          "four NULL NULL",
        ],
        sortedBy: "at")
      site.expect(
        "account_events", "event, RIGHT(account_id, 2)", ["one 01", "two 02", "four 99"],
        sortedBy: "at")
    }
  }
}

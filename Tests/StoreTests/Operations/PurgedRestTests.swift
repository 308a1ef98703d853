import Base
import Testing

@testable import Store

/// The purge of unused rows that nothing has ended.
extension PurgeTests {
  @Test func attestedKeysThatNobodyBoundGoAfterNinetyDays() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      for (name, age) in [("old", "7776001 SECOND"), ("young", "7775999 SECOND")] {
        insert(
          store,
          """
          INSERT INTO attestation_keys (id, public_key, app_id, environment, receipt, attested_at)
          VALUES (UNHEX(SHA2('\(name)', 256)), CONCAT(X'04', REPEAT('p', 64)), '\(name)', 'production', '',
            \(ago(age)))
          """)
      }
      insert(
        store,
        "UPDATE attestation_keys SET attested_at = \(ago("900 DAY")) WHERE bound_at IS NOT NULL")
      try expect(
        ["TEAM.app.one", "young"], of: "SELECT app_id FROM attestation_keys ORDER BY 1", in: store,
        deleted: 1)
    }
  }

  /// The settings stay for a user who is polled or has a key.
  @Test func settingsOfUsersWhoAreGoneGoAfterThirtyDays() throws {
    try withStore { store throws in
      let cases = [
        (1, "2592001 SECOND"), (2, "2592001 SECOND"), (3, "2592001 SECOND"), (4, "2592001 SECOND"),
        (5, "2591999 SECOND"),
      ]
      for (id, age) in cases {
        insert(
          store, "INSERT INTO turn_settings (ogs_user_id, changed_at) VALUES (\(id), \(ago(age)))")
      }
      insert(
        store,
        """
        INSERT INTO ogs_users (id) VALUES (1);
        INSERT INTO api_keys (key_hash, key_prefix, ogs_user_id, description, created_at, revoked_at)
        VALUES (REPEAT('a', 32), 'abcdefgh', 2, 'live', NOW(3), NULL),
          (REPEAT('b', 32), 'abcdefgh', 3, 'revoked', NOW(3), \(ago("2591999 SECOND")))
        """)
      try expect(
        ["1", "2", "3", "5"], of: "SELECT ogs_user_id FROM turn_settings ORDER BY 1", in: store,
        deleted: 1)
    }
  }

  /// Year-old registrations for turns are deleted, with their alerts, as at an unregistration.
  @Test func registrationsOfTurnsGoAfterAYear() throws {
    try withStore { store throws in
      insert(store, "INSERT INTO ogs_users (id) VALUES (1), (2)")
      for (letter, user, age) in [
        ("a", 1, "31535999 SECOND"), ("b", 1, "366 DAY"), ("b", 2, "1 DAY"),
        ("c", 2, "366 DAY"), ("d", 2, "366 DAY"),
      ] {
        insert(
          store,
          """
          INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
          VALUES (\(user), REPEAT('\(letter)', 64), \(ago(age)));
          INSERT IGNORE INTO ogs_devices (device_token) SELECT REPEAT('\(letter)', 64) FROM DUAL WHERE '\(letter)' <> 'd'
          """)
      }
      // Three registrations and the rows of two devices with alerts.
      try expect(
        ["1 a", "2 b"],
        of:
          "SELECT CONCAT(ogs_user_id, ' ', LEFT(device_token, 1)) FROM ogs_registrations ORDER BY 1",
        in: store, deleted: 5)
      #expect(
        store.column("SELECT LEFT(device_token, 1) FROM ogs_devices WHERE is_stale ORDER BY 1")
          == ["b", "c"])
    }
  }

  @Test func whatWasLearnedOfTokensGoesAfterAYear() throws {
    try withStore { store throws in
      for (name, age) in [("old", "366 DAY"), ("young", "364 DAY")] {
        insert(
          store,
          """
          INSERT INTO apns_hosts (token, topic, environment, learned_at)
          VALUES ('\(name)', 'app.one', 'sandbox', \(ago(age)))
          """)
      }
      try expect(["young"], of: "SELECT token FROM apns_hosts", in: store, deleted: 1)
    }
  }

  @Test func alertsAreForgottenNinetyDaysAfterTheyWereShown() throws {
    try withStore { store throws in
      for (name, age) in [("old", "7776001 SECOND"), ("young", "7775999 SECOND")] {
        insert(
          store,
          """
          INSERT INTO turn_alerts (ogs_user_id, device_token, collapse_id, kind, games, shown_at)
          VALUES (1, '\(name)', 'c', 'turn', '[]', \(ago(age)))
          """)
      }
      try expect(["young"], of: "SELECT device_token FROM turn_alerts", in: store, deleted: 1)
    }
  }

  /// A host with failing passes still updates its companion's notes.
  @Test func whatHostsLeaveGoesAfterThirtyDaysWithoutThem() throws {
    try withStore { store throws in
      for (host, pass, look) in [
        ("alive", "1 MINUTE", "1 MINUTE"), ("failing", "43201 MINUTE", "1 MINUTE"),
        ("gone", "43201 MINUTE", "43201 MINUTE"), ("young", "43199 MINUTE", "43201 MINUTE"),
      ] {
        insert(
          store,
          """
          INSERT INTO companion_status (host, version, last_pass_at)
          VALUES ('\(host)', '1', NOW(3) - INTERVAL \(pass));
          INSERT INTO problems (host, name, since, seen_at)
          VALUES ('\(host)', 'mail', NOW(3) - INTERVAL 90 DAY, NOW(3) - INTERVAL \(look));
          INSERT INTO counters (host, name, outcome, total) VALUES ('\(host)', 'mails', 'delivered', 7)
          """)
      }
      // Two rows of hosts, two notes, one count.
      try expect(
        ["alive", "failing", "young"], of: "SELECT host FROM counters ORDER BY 1", in: store,
        deleted: 5)
      #expect(store.column("SELECT host FROM companion_status ORDER BY 1") == ["alive", "young"])
      #expect(store.column("SELECT host FROM problems ORDER BY 1") == ["alive", "failing"])
    }
  }
}

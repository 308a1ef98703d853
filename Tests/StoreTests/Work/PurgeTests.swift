import Base
import MariaDB
import Testing

@testable import Store

@Suite struct PurgeTests {
  private static let now = Timestamp.now()

  /// SQL for an instant before (or, with a minus, after) `now`.
  private func ago(_ span: String) -> String {
    "(FROM_UNIXTIME(\(Double(Self.now.milliseconds) / 1000)) - INTERVAL \(span))"
  }

  private func purge(_ store: TestStore, slice: Int = 500) throws -> Int {
    try store.records("companion", at: Self.now).upkeep
      .purge(slice: slice, auditLifetime: .seconds(10 * 86_400))
  }

  /// Runs the statements in UTC, as the programs' sessions are.
  private func insert(_ store: TestStore, _ statements: String) {
    store.sql("SET time_zone = '+00:00'; \(statements)")
  }

  private func expect(
    _ kept: [String], of query: String, in store: TestStore, deleted: Int,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try purge(store) == deleted, sourceLocation: sourceLocation)
    #expect(store.column(query) == kept, sourceLocation: sourceLocation)
    #expect(try purge(store) == 0, sourceLocation: sourceLocation)
  }

  @Test func mailsStayADayDeliveredAndThirtyDaysDead() throws {
    try withStore { store throws in
      let mails = [
        ("delivered", "1439 MINUTE"), ("delivered", "1441 MINUTE"), ("suppressed", "1439 MINUTE"),
        ("suppressed", "1441 MINUTE"), ("dead", "43199 MINUTE"), ("dead", "43201 MINUTE"),
      ]
      for (state, age) in mails {
        insert(
          store,
          """
          INSERT INTO outbox (id, kind, recipient, state, expires_at, finished_at, request_id)
          VALUES (UUID(), 'login_code', '\(state) \(age)', '\(state)', NOW(), NOW(3) - INTERVAL \(age), 'r')
          """)
      }
      insert(
        store,
        """
        INSERT INTO outbox (id, kind, recipient, expires_at, due_at, created_at, request_id)
        VALUES (UUID(), 'login_code', 'open', NOW() - INTERVAL 90 DAY, NOW() - INTERVAL 90 DAY,
          NOW() - INTERVAL 90 DAY, 'r')
        """)
      try expect(
        ["dead 43199 MINUTE", "delivered 1439 MINUTE", "open", "suppressed 1439 MINUTE"],
        of: "SELECT recipient FROM outbox ORDER BY recipient", in: store, deleted: 3)
    }
  }

  @Test func paymentsStayADayUnconfirmedAndElseAsLongAsTheAuditLog() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      let cases = [
        ("open 1439", ago("1439 MINUTE"), "NULL"), ("open 1441", ago("1441 MINUTE"), "NULL"),
        ("confirmed 9", ago("9 DAY"), ago("9 DAY")), ("confirmed 11", ago("11 DAY"), ago("11 DAY")),
      ]
      for (number, (name, expiry, confirmation)) in cases.enumerated() {
        insert(
          store,
          """
          INSERT INTO payments (id, merchant_id, account_id, amount, currency, order_id, challenge_hash, created_at,
            expires_at, confirmed_at, confirmed_by)
          SELECT 'pay_000000000000000000000\(number)', merchant_id, account_id, 1, 'CAD', '\(name)', challenge_hash,
            created_at, \(expiry), \(confirmation), IF(\(confirmation) IS NULL, NULL, 'passkey') FROM payments LIMIT 1
          """)
      }
      try expect(
        ["confirmed 9", "open 1439"],
        of: "SELECT order_id FROM payments WHERE order_id IS NOT NULL ORDER BY order_id", in: store,
        deleted: 2)
    }
  }

  @Test func notificationsStayADayDeliveredAndThirtyDaysDead() throws {
    try withStore { store throws in
      let cases = [
        ("delivered", "1439 MINUTE"), ("delivered", "1441 MINUTE"), ("dead", "43199 MINUTE"),
        ("dead", "43201 MINUTE"), ("open", "90 DAY"),
      ]
      for (state, age) in cases {
        insert(
          store,
          """
          SET @id = UUID();
          INSERT INTO notifications (id, kind, event_key, collapse_id, payload, expires_at, created_at)
          VALUES (@id, 'turn', '\(state) \(age)', 'c', '{}', NOW(3), NOW(3) - INTERVAL \(age));
          INSERT INTO deliveries (id, notification_id, token, shard, state, due_at, finished_at)
          VALUES (UUID(), @id, 't', 1, '\(state)', NOW(3) - INTERVAL \(age),
            IF('\(state)' = 'open', NULL, NOW(3) - INTERVAL \(age)))
          """)
      }
      try expect(
        ["dead 43199 MINUTE", "delivered 1439 MINUTE", "open 90 DAY"],
        of: "SELECT event_key FROM notifications ORDER BY event_key", in: store, deleted: 4)
    }
  }

  @Test func jobsGoADayAfterTheirEnd() throws {
    try withStore { store throws in
      for (name, age) in [("old", "1441 MINUTE"), ("young", "1439 MINUTE")] {
        insert(
          store,
          """
          INSERT INTO jobs (id, kind, request, state, request_id, finished_at)
          VALUES (UUID(), 'turn_check', '{}', 'dead', '\(name)', NOW(3) - INTERVAL \(age))
          """)
      }
      insert(
        store,
        """
        INSERT INTO jobs (id, kind, request, request_id, due_at)
        VALUES (UUID(), 'turn_check', '{}', 'open', NOW(3) - INTERVAL 90 DAY)
        """)
      try expect(
        ["open", "young"], of: "SELECT request_id FROM jobs ORDER BY 1", in: store, deleted: 1)
    }
  }

  @Test func revokedKeysGoAfterThirtyDays() throws {
    try withStore { store throws in
      for (name, revoked) in [
        ("old", ago("2592001 SECOND")), ("young", ago("2591999 SECOND")), ("live", "NULL"),
      ] {
        insert(
          store,
          """
          INSERT INTO api_keys (key_hash, key_prefix, ogs_user_id, description, created_at, revoked_at)
          VALUES (UNHEX(SHA2('\(name)', 256)), 'abcdefgh', 7, '\(name)', '2020-01-01', \(revoked))
          """)
      }
      try expect(
        ["live", "young"], of: "SELECT description FROM api_keys ORDER BY 1", in: store, deleted: 1)
    }
  }

  @Test func codesGoADayAfterTheyExpired() throws {
    try withStore { store throws in
      for (name, age) in [("old", "86401 SECOND"), ("border", "1 DAY"), ("young", "-5 MINUTE")] {
        insert(
          store,
          """
          INSERT INTO login_codes (email, client_device_id, challenge_hash, code_mac, expires_at)
          VALUES ('\(name)@example.org', 'd', UNHEX(SHA2('\(name)', 256)), REPEAT('m', 32),
            \(ago(age)))
          """)
      }
      try expect(
        ["border@example.org", "young@example.org"],
        of: "SELECT email FROM login_codes ORDER BY email", in: store, deleted: 1)
    }
  }

  @Test func challengesGoADayAfterTheyExpired() throws {
    try withStore { store throws in
      insert(
        store,
        """
        INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
        VALUES ('\(SampleRows.account)', 'ann@example.org', 'Ann', 'ann', 'wsim_ABCDEFGHIJKL', NOW(3))
        """)
      for (name, age) in [("old", "86401 SECOND"), ("border", "1 DAY"), ("young", "-5 MINUTE")] {
        insert(
          store,
          """
          INSERT INTO biometric_challenges (client_device_id, challenge_hash, expires_at)
          VALUES ('\(name)', REPEAT('c', 32), \(ago(age)));
          INSERT INTO passkey_challenges (challenge_hash, purpose, account_id, client_device_id, expires_at)
          VALUES (UNHEX(SHA2('\(name)', 256)), 'registration', '\(SampleRows.account)', '\(name)', \(ago(age)));
          INSERT INTO attestation_challenges (id, challenge_hash, bundle_id, expires_at)
          VALUES (UUID(), REPEAT('c', 32), '\(name)', \(ago(age)));
          """)
      }
      try expect(
        ["border", "young"],
        of: "SELECT client_device_id FROM biometric_challenges ORDER BY 1", in: store, deleted: 3)
      #expect(
        store.column("SELECT bundle_id FROM attestation_challenges ORDER BY 1")
          == ["border", "young"])
      #expect(
        store.column("SELECT client_device_id FROM passkey_challenges ORDER BY 1")
          == ["border", "young"])
    }
  }

  @Test func enrollmentStatesGoADayAfterTheyExpired() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      store.sql("DELETE FROM enrollment_states; DELETE FROM login_codes")
      store.sql("DELETE FROM rate_limits; DELETE FROM biometric_challenges")
      store.sql("DELETE FROM device_registrations")
      // The verifier is the name.
      for (name, age) in [("old", "86401 SECOND"), ("border", "1 DAY"), ("young", "-5 MINUTE")] {
        insert(
          store,
          """
          INSERT INTO enrollment_states (id, state_hash, nonce_hash, verifier, account_id, session_id, bsim_id,
            is_mobile, expires_at)
          VALUES (UUID(), UNHEX(SHA2('\(name)', 256)), REPEAT('n', 32), '\(name)', '\(SampleRows.account)',
            '\(SampleRows.session)', 'bank-1', TRUE, \(ago(age)))
          """)
      }
      try expect(
        ["border", "young"], of: "SELECT verifier FROM enrollment_states ORDER BY 1", in: store,
        deleted: 1)
    }
  }

  @Test func registrationsGoWithTheirCredential() throws {
    try withStore { store throws in
      for (name, age) in [("old", "1 SECOND"), ("border", "0 SECOND"), ("young", "-1 SECOND")] {
        insert(
          store,
          """
          INSERT INTO device_registrations (client_device_id, address, name, platform, credential_hash,
            credential_expires_at, registered_at)
          VALUES ('\(name)', 'a', 'n', 'ios', UNHEX(SHA2('\(name)', 256)), \(ago(age)), NOW())
          """)
      }
      try expect(
        ["border", "young"],
        of: "SELECT client_device_id FROM device_registrations ORDER BY 1", in: store, deleted: 1)
    }
  }

  @Test func sessionsGoThirtyDaysAfterTheirEnd() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      store.sql("DELETE FROM sessions; DELETE FROM login_codes; DELETE FROM device_registrations")
      store.sql("DELETE FROM rate_limits; DELETE FROM biometric_challenges")
      store.sql("DELETE FROM passkey_challenges")
      // The generation is the name.
      for (number, expiry, end) in [
        (1, "-1 DAY", nil), (2, "2591999 SECOND", nil), (3, "2592001 SECOND", nil),
        (4, "-1 DAY", "2591999 SECOND"), (5, "-1 DAY", "2592001 SECOND"),
        (6, "2592001 SECOND", "2592001 SECOND"),
      ] as [(Int, String, String?)] {
        insert(
          store,
          """
          INSERT INTO sessions (id, device_id, generation, created_at, rotated_at, expires_at, ended_at, end_reason)
          VALUES (UUID(), '\(SampleRows.device)', \(number), '2020-01-01', '2020-01-01', \(ago(expiry)),
            \(end.map(ago) ?? "NULL"), \(end == nil ? "NULL" : "'logout'"))
          """)
      }
      try expect(
        ["1", "2", "4"], of: "SELECT generation FROM sessions ORDER BY 1", in: store, deleted: 3)
      #expect(store.sql("SELECT COUNT(*) FROM devices") == "1")
    }
  }

  @Test func pairingTokensAndTicketsGoADayAfterTheyExpired() throws {
    try withStore { store throws in
      for (name, age) in [("old", "86401 SECOND"), ("border", "1 DAY"), ("young", "-5 MINUTE")] {
        let nonce = "LPAD('\(name)', 16, '0')"
        insert(
          store,
          """
          INSERT INTO pairing_tokens (nonce, issued_at, expires_at)
            VALUES (\(nonce), '2020-01-01', \(ago(age)));
          INSERT INTO pairing_tickets (ticket_hash, nonce, expires_at)
            VALUES (UNHEX(SHA2('\(name)', 256)), \(nonce), \(ago(age)))
          """)
      }
      insert(store, "UPDATE pairing_server SET current_nonce = LPAD('old', 16, '0')")
      try expect(
        ["border", "young"],
        of: "SELECT TRIM(LEADING '0' FROM nonce) FROM pairing_tokens ORDER BY 1", in: store,
        deleted: 2)
      #expect(store.sql("SELECT COUNT(*) FROM pairing_tickets") == "2")
      #expect(store.sql("SELECT current_nonce FROM pairing_server") == "NULL")
    }
  }

  @Test func pairingsGoThirtyDaysAfterTheirEnd() throws {
    try withStore { store throws in
      // The generation is the name.
      for (number, expiry, end) in [
        (1, "-1 DAY", nil), (2, "2591999 SECOND", nil), (3, "2592001 SECOND", nil),
        (4, "-1 DAY", "2591999 SECOND"), (5, "-1 DAY", "2592001 SECOND"),
      ] as [(Int, String, String?)] {
        insert(
          store,
          """
          INSERT INTO pairings (id, user_agent, address, generation, paired_at, last_used_at, rotated_at, expires_at,
            ended_at, end_reason)
          VALUES (UUID(), 'x', 'x', \(number), '2020-01-01', '2020-01-01', '2020-01-01', \(ago(expiry)),
            \(end.map(ago) ?? "NULL"), \(end == nil ? "NULL" : "'phone'"))
          """)
      }
      try expect(
        ["1", "2", "4"], of: "SELECT generation FROM pairings ORDER BY 1", in: store, deleted: 2)
    }
  }

  @Test func limitsGoADayAfterTheirWindowBegan() throws {
    try withStore { store throws in
      for (name, age, window) in [
        ("old", "86401 SECOND", 60), ("border", "1 DAY", 60), ("open", "59 SECOND", 60),
        ("long", "3599 SECOND", 3600), ("long and old", "86401 SECOND", 3600),
      ] {
        insert(
          store,
          """
          INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
          VALUES ('\(name)', 's', \(ago(age)), \(window), 1, 1)
          """)
      }
      try expect(
        ["border", "long", "open"], of: "SELECT name FROM rate_limits ORDER BY 1", in: store,
        deleted: 2)
    }
  }

  @Test func theAuditLogIsKeptAsLongAsItWasSaid() throws {
    try withStore { store throws in
      for (name, age) in [("old", "864001 SECOND"), ("border", "10 DAY"), ("young", "1 DAY")] {
        insert(
          store,
          """
          INSERT INTO audit_log (at, event, request_id, address)
          VALUES (\(ago(age)), '\(name)', 'r', 'a')
          """)
      }
      try expect(
        ["border", "young"], of: "SELECT event FROM audit_log ORDER BY 1", in: store, deleted: 1)
    }
  }

  @Test func onePurgeTakesNoMoreThanASliceOfEachKind() throws {
    try withStore { store throws in
      insert(
        store,
        """
        INSERT INTO audit_log (at, event, request_id, address)
          SELECT '2020-01-01', 'old', 'r', 'a' FROM seq_1_to_25;
        INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
          SELECT 'n', seq, '2020-01-01', 60, 1, 1 FROM seq_1_to_15;
        """)
      #expect(try purge(store, slice: 10) == 20)
      #expect(try purge(store, slice: 10) == 15)
      #expect(try purge(store, slice: 10) == 5)
      #expect(try purge(store, slice: 10) == 0)
    }
  }

  @Test func whatIsInUseStays() throws {
    try withStore { store throws in
      store.sql("SET time_zone = '+00:00'; \(SampleRows.statements)")
      store.sql("UPDATE device_registrations SET credential_expires_at = '2100-01-01'")
      #expect(try purge(store) == 0)
    }
  }
}

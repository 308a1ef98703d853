import Base
import Testing

@testable import Store

/// The purge of credentials after their end.
extension PurgeTests {
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
          INSERT INTO phone_challenges (challenge_hash, purpose, client_device_id, asked_by, expires_at)
          VALUES (UNHEX(SHA2('\(name)', 256)), 'passkey', '\(name)', '192.0.2.1', \(ago(age)));
          INSERT INTO passkey_challenges (challenge_hash, purpose, account_id, client_device_id, expires_at)
          VALUES (UNHEX(SHA2('\(name)', 256)), 'registration', '\(SampleRows.account)', '\(name)', \(ago(age)));
          INSERT INTO attestation_challenges (id, challenge_hash, bundle_id, expires_at)
          VALUES (UUID(), REPEAT('c', 32), '\(name)', \(ago(age)));
          """)
      }
      try expect(
        ["border", "young"],
        of: "SELECT client_device_id FROM phone_challenges ORDER BY 1", in: store, deleted: 3)
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
      store.sql("DELETE FROM rate_limits; DELETE FROM phone_challenges")
      store.sql("DELETE FROM device_registrations")
      // The verifier contains the name.
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

  @Test func visitsAndWishesForAnotherAddressGoWhenTheyExpire() throws {
    try withStore { store throws in
      for (name, age) in [("old", "1 SECOND"), ("border", "0 SECOND"), ("young", "-1 SECOND")] {
        insert(
          store,
          """
          INSERT INTO accounts (id, email, name, username, wallet_id, created_at, email_verified_at)
            VALUES (UUID(), '\(name)@example.org', 'n', '\(name)',
              CONCAT('wsim_', LPAD('\(name)', 12, '0')), NOW(3), NOW(3));
          INSERT INTO address_changes (account_id, email, token_hash, expires_at)
            SELECT id, email, UNHEX(SHA2(email, 256)), \(ago(age)) FROM accounts
            WHERE username = '\(name)';
          INSERT INTO account_visits (id, account_id, proved_at, expires_at)
            SELECT UNHEX(SHA2(email, 256)), id, NOW(3), \(ago(age)) FROM accounts
            WHERE username = '\(name)';
          """)
      }
      try expect(
        ["border@example.org", "young@example.org"],
        of: "SELECT email FROM address_changes ORDER BY 1", in: store, deleted: 2)
      #expect(store.sql("SELECT COUNT(*) FROM account_visits") == "2")
      #expect(store.sql("SELECT COUNT(*) FROM accounts") == "3")
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
      store.sql("DELETE FROM rate_limits; DELETE FROM phone_challenges")
      store.sql("DELETE FROM passkey_challenges")
      // The generation contains the number.
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
      // The generation contains the number.
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
}

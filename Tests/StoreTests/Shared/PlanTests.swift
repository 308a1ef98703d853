import Foundation
import Support
import Testing

@testable import Store

/// Statements of `Sources/Store` never read a whole table and never sort many rows, except tables that are
/// always small.
@Suite struct PlanTests {
  /// Tables with few rows: made by administrators, or a few per host. `TABLES` is InnoDB's list of
  /// tables.
  private static let smallTables: Set = [
    "TABLES", "banks", "companion_status", "problems", "counters", "delivery_leases",
    "fcm_access_tokens", "health", "merchants", "models", "ogs_pause",
    "pairing_server", "provider_tokens", "schema_version",
  ]

  /// Inserts ten thousand rows into every table that grows.
  private static let manyRows = """
    SET time_zone = '+00:00';
    INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
      SELECT \(id(1)), CONCAT('p', seq, '@example.org'), 'P', CONCAT('p', seq),
        CONCAT('wsim_', LPAD(seq, 12, '0')), NOW(3) FROM seq_1_to_10000;
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
      SELECT \(id(2)), \(id(1)), CONCAT('device-', seq), 'D', 'ios', NOW(3), NOW(3) FROM seq_1_to_10000;
    INSERT INTO device_preferences (device_id, last_updated_at) SELECT \(id(2)), NOW(3) FROM seq_1_to_10000;
    INSERT INTO push_tokens (token, device_id, platform, registered_at)
      SELECT LPAD(seq, 64, 'a'), \(id(2)), 'ios', NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO web_subscriptions (token, sealed)
      SELECT LPAD(seq, 64, 'a'), CONCAT('box:2026.', seq) FROM seq_1_to_10000;
    INSERT INTO device_registrations (client_device_id, address, name, platform, credential_hash,
        credential_expires_at, registered_at)
      SELECT CONCAT('device-', seq), '192.0.2.1', 'D', 'ios', UNHEX(SHA2(seq, 256)),
        NOW(3) + INTERVAL seq SECOND, NOW(3) FROM seq_1_to_10000;
    INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, ended_at, end_reason)
      SELECT \(id(3)), \(id(2)), NOW(3), NOW(3), NOW(3) + INTERVAL seq SECOND,
        IF(seq MOD 2, NOW(3) + INTERVAL seq SECOND, NULL), IF(seq MOD 2, 'logout', NULL) FROM seq_1_to_10000;
    INSERT INTO login_codes (email, client_device_id, challenge_hash, code_mac, expires_at)
      SELECT CONCAT('p', seq, '@example.org'), 'd', UNHEX(SHA2(seq, 256)), REPEAT('m', 32),
        NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO biometric_keys (device_id, id, type, public_key, enrolled_at)
      SELECT \(id(2)), \(id(3)), 'face', 'AAAA', NOW(3) FROM seq_1_to_10000;
    INSERT INTO phone_challenges (challenge_hash, purpose, client_device_id, asked_by, expires_at)
      SELECT UNHEX(SHA2(seq, 256)), 'biometric', CONCAT('device-', seq), '192.0.2.1',
        NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO attestation_challenges (id, challenge_hash, bundle_id, expires_at)
      SELECT \(id(3)), UNHEX(SHA2(seq, 256)), 'app.one', NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO attestation_keys (id, public_key, app_id, environment, receipt, device_id, attested_at, bound_at)
      SELECT UNHEX(SHA2(seq, 256)), CONCAT(X'04', REPEAT('p', 64)), 'TEAM.app.one', 'production', '',
        IF(seq MOD 2, \(id(2)), NULL), NOW(3) + INTERVAL seq SECOND, IF(seq MOD 2, NOW(3), NULL) FROM seq_1_to_10000;
    INSERT INTO passkeys (id, account_id, credential_id, public_key, sign_count, is_backup_eligible,
        is_backed_up, name, created_at)
      SELECT \(id(9)), \(id(1)), UNHEX(SHA2(seq, 256)), 'k', 1, TRUE, TRUE, 'n', NOW(3) FROM seq_1_to_10000;
    INSERT INTO passkey_challenges (challenge_hash, purpose, account_id, client_device_id, expires_at)
      SELECT UNHEX(SHA2(seq, 256)), 'registration', \(id(1)), 'd', NOW(3) + INTERVAL seq SECOND
      FROM seq_1_to_10000;
    INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at)
      SELECT \(id(4)), \(id(1)), 'bank-1', NOW(3) FROM seq_1_to_10000;
    INSERT INTO cards (id, enrollment_id, last_four, card_type, added_at)
      SELECT \(id(5)), \(id(4)), '4242', 'VISA', NOW(3) FROM seq_1_to_10000;
    INSERT INTO enrollment_states (id, state_hash, nonce_hash, verifier, account_id, session_id, bsim_id,
        is_mobile, expires_at)
      SELECT \(id(6)), UNHEX(SHA2(seq, 256)), REPEAT('n', 32), 'sealed', \(id(1)), \(id(3)), 'bank-1', TRUE,
        NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at)
      VALUES ('\(found)', 'Shop', REPEAT('k', 32), 'msk', NOW(3));
    INSERT INTO payments (id, merchant_id, account_id, card_id, amount, currency, challenge_hash, created_at,
        expires_at, confirmed_at, confirmed_by)
      SELECT CONCAT('pay_', LPAD(seq, 22, '0')), m.id, \(id(1)), \(id(5)), 1, 'CAD', REPEAT('c', 32), NOW(3),
        NOW(3) + INTERVAL seq SECOND, IF(seq MOD 2, NOW(3) + INTERVAL seq SECOND, NULL),
        IF(seq MOD 2, 'passkey', NULL) FROM seq_1_to_10000 JOIN merchants m;
    INSERT INTO webhooks (id, payment_id, merchant_id, event, state, due_at, expires_at, claim_id, created_at, finished_at)
      SELECT \(id(8)), CONCAT('pay_', LPAD(seq, 22, '0')), m.id, 'payment.confirmed', IF(seq MOD 100, 'dead', 'open'),
        NOW(3) + INTERVAL seq SECOND, NOW(3) + INTERVAL seq SECOND, \(id(7)), NOW(3) + INTERVAL seq SECOND,
        IF(seq MOD 100, NOW(3) + INTERVAL seq SECOND, NULL) FROM seq_1_to_10000 JOIN merchants m;
    INSERT INTO card_tokens (card_id, merchant_id, token)
      SELECT \(id(5)), m.id, CONCAT('card_', seq) FROM seq_1_to_10000 JOIN merchants m;
    INSERT INTO outbox (id, kind, recipient, state, due_at, expires_at, request_id, finished_at, claim_id)
      SELECT \(id(6)), 'login_code', 'r', IF(seq MOD 100, 'dead', 'open'), NOW(3) + INTERVAL seq SECOND,
        NOW(3) + INTERVAL 1 DAY, 'r', IF(seq MOD 100, NOW(3) + INTERVAL seq SECOND, NULL), \(id(7))
      FROM seq_1_to_10000;
    INSERT INTO pairing_tokens (nonce, issued_at, expires_at, spent_at)
      SELECT LPAD(seq, 16, '0'), NOW(3), NOW(3) + INTERVAL seq SECOND, IF(seq MOD 100, NOW(3), NULL)
      FROM seq_1_to_10000;
    INSERT INTO pairings (id, user_agent, address, paired_at, last_used_at, rotated_at, expires_at, ended_at, end_reason)
      SELECT \(id(8)), 'x', 'x', NOW(3), NOW(3), NOW(3), NOW(3) + INTERVAL seq SECOND,
        IF(seq MOD 100, NOW(3) + INTERVAL seq SECOND, NULL), IF(seq MOD 100, 'phone', NULL) FROM seq_1_to_10000;
    INSERT INTO address_changes (account_id, email, token_hash, expires_at)
      SELECT \(id(1)), CONCAT('q', seq, '@example.org'), UNHEX(SHA2(seq, 256)), NOW(3) + INTERVAL seq SECOND
      FROM seq_1_to_10000;
    INSERT INTO account_visits (id, account_id, proved_at, expires_at)
      SELECT UNHEX(SHA2(seq, 256)), \(id(1)), NOW(3), NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO pairing_tickets (ticket_hash, pairing_id, expires_at)
      SELECT UNHEX(SHA2(seq, 256)), \(id(8)), NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO ogs_users (id, due_at, claim_id)
      SELECT seq, NOW(3) + INTERVAL seq SECOND, \(id(7)) FROM seq_1_to_10000;
    INSERT INTO ogs_registrations (ogs_user_id, device_token, channel, sealed, registered_at)
      SELECT seq, LPAD(LOWER(HEX(seq)), 64, 'a'), IF(seq MOD 2, 'apns', 'webpush'),
        IF(seq MOD 2, NULL, CONCAT('box:', seq)), NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running)
      SELECT seq, seq, 0, 'g', 1, 1, TRUE FROM seq_1_to_10000;
    INSERT INTO ogs_devices (device_token, is_stale, delivery_id)
      SELECT LPAD(LOWER(HEX(seq)), 64, '0'), seq MOD 1000 = 0, \(id(2)) FROM seq_1_to_10000;
    INSERT INTO turn_settings (ogs_user_id, changed_at) SELECT seq, NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO turn_alerts (ogs_user_id, device_token, collapse_id, kind, games, shown_at)
      SELECT seq, LPAD(LOWER(HEX(seq)), 64, 'a'), 'turn', 'turn', '[]', NOW(3) + INTERVAL seq SECOND
      FROM seq_1_to_10000;
    INSERT INTO api_keys (key_hash, key_prefix, ogs_user_id, description, created_at, revoked_at)
      SELECT UNHEX(SHA2(seq, 256)), 'abcdefgh', seq, 'd', NOW(3), IF(seq MOD 100, NULL, NOW(3))
      FROM seq_1_to_10000;
    INSERT INTO jobs (id, kind, request, due_at, request_id, state, result, finished_at, claim_id)
      SELECT \(id(1)), 'turn_check', '{}', NOW(3) + INTERVAL seq SECOND, 'r', IF(seq MOD 100, 'done', 'open'),
        IF(seq MOD 100, '{}', NULL), IF(seq MOD 100, NOW(3) + INTERVAL seq SECOND, NULL), \(id(7))
      FROM seq_1_to_10000;
    INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at, created_at)
      SELECT \(id(1)), 'turn', seq, 'c', NOW(3), NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO deliveries (id, notification_id, token, shard, due_at, state, finished_at)
      SELECT \(id(2)), \(id(1)), 't', seq MOD 16, NOW(3) + INTERVAL seq SECOND, IF(seq MOD 100, 'dead', 'open'),
        IF(seq MOD 100, NOW(3) + INTERVAL seq SECOND, NULL) FROM seq_1_to_10000;
    INSERT INTO turn_notices (notification_id, ogs_user_id, games, badge)
      SELECT \(id(1)), seq, '[]', 1 FROM seq_1_to_10000;
    INSERT INTO apns_hosts (token, topic, environment, learned_at)
      SELECT LPAD(seq, 64, 'a'), 'com.example.app', 'sandbox', NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO dead_tokens (token, removed_at)
      SELECT LPAD(seq, 64, 'a'), NOW(3) + INTERVAL seq SECOND FROM seq_1_to_10000;
    INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
      SELECT 'n', seq, NOW(3) + INTERVAL seq SECOND, 3600, 1, 1 FROM seq_1_to_10000;
    INSERT INTO job_limits (name, subject, window_started_at, hits)
      SELECT 'n', seq, NOW(3) + INTERVAL seq SECOND, 1 FROM seq_1_to_10000;
    INSERT INTO audit_log (at, event, request_id, address)
      SELECT NOW(3) + INTERVAL seq SECOND, 'e', 'r', 'a' FROM seq_1_to_10000;
    ANALYZE TABLE accounts, devices, device_preferences, push_tokens, web_subscriptions, device_registrations, sessions,
      login_codes, biometric_keys, phone_challenges, attestation_challenges, attestation_keys, passkeys, passkey_challenges, address_changes, account_visits, enrollments, cards, enrollment_states,
      payments, webhooks, card_tokens, outbox, rate_limits, job_limits, audit_log, ogs_users, ogs_registrations,
      ogs_games, api_keys, jobs, notifications, deliveries, apns_hosts, dead_tokens, ogs_devices, turn_settings, turn_alerts, turn_notices, pairing_tokens, pairings, pairing_tickets;
    """

  /// The value of each parameter that is an id: that of the merchant of all payments.
  private static let found = "01890a5d-ac96-774b-bcc0-000000005000"

  /// The id of the given kind in row `seq`.
  private static func id(_ kind: Int) -> String {
    "CONCAT('01890a5d-ac96-774b-bcc\(kind)-', LPAD(seq, 12, '0'))"
  }

  /// `statement` with fitting values, of which some occur in rows.
  private func filled(_ statement: String) -> String {
    let id = "'\(Self.found)'"
    return
      statement
      .replacing(#/(LIMIT|INTERVAL) \?/#) { "\($0.output.1) 10" }
      .replacing(#/((?:_at|_until|\bat) (?:<=?|>=?|=)) \?/#) { "\($0.output.1) UTC_TIMESTAMP(3)" }
      .replacing(#/\? (- INTERVAL)/#) { "UTC_TIMESTAMP(3) \($0.output.1)" }
      .replacing(#/(hash|mac|digest|credential_id) (=|<=>) \?/#) {
        "\($0.output.1) \($0.output.2) UNHEX(SHA2(5000, 256))"
      }
      .replacing(#/(version|generation|base|confirmed|enabled|quota_mb|count|backed_up) = \?/#) {
        "\($0.output.1) = 1"
      }
      .replacing("client_device_id = ?", with: "client_device_id = 'device-5000'")
      .replacing("email = ?", with: "email = 'p5000@example.org'")
      .replacing("SET platform = ?", with: "SET platform = 'ios'")
      .replacing("?", with: id)
  }

  @Test func everyStatementFindsItsRowsByAnIndex() throws {
    try withStore { store throws in
      store.sql("INSERT INTO banks (bsim_id, name) VALUES ('bank-1', 'Bank')")
      store.sql(Self.manyRows)
      let statements = try StoreStatements.searching().map(\.text)
      #expect(statements.count > 30)
      for statement in statements {
        for step in store.column("EXPLAIN \(filled(statement))") {
          let columns = step.split(separator: "\t", omittingEmptySubsequences: false)
          try #require(columns.count >= 10, "\(step)")
          let (table, type) = (aliases(in: statement)[String(columns[2])], columns[3])
          let isWhole = ["ALL", "index"].contains(type)
          // A list of 50 rows must not sort all rows of a merchant.
          let sortsMany = step.contains("Using filesort") && Int(columns[8]) ?? 0 > 1000
          #expect(
            !isWhole && !sortsMany || Self.smallTables.contains(table ?? String(columns[2]))
              || step.contains("Table function: json_table")
              || columns[2].hasPrefix("<derived"),  // Its rows come from another step.
            "\(step)\n\(statement)")
        }
      }
    }
  }

  /// The tables with an alias in `statement`.
  private func aliases(in statement: String) -> [String: String] {
    let pairs = statement.matches(of: #/(?:FROM|JOIN|UPDATE) (\w+) (\w+)/#).map {
      (String($0.output.2), String($0.output.1))
    }
    return Dictionary(pairs) { first, _ in first }
  }
}

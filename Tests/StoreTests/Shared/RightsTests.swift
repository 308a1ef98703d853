import Testing

@testable import Store

/// The rights of each account: the separation of the programs, and the administrators' views.
@Suite struct RightsTests {
  private func names(_ store: TestStore, ofType type: String) -> [String] {
    store.column(
      """
      SELECT TABLE_NAME FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = '\(type)'
      """)
  }

  /// The view with which the programs delete rows about tokens without a registration.
  private static let viewOfPrograms = "hosts_of_no_device"

  @Test func administratorsReadEveryViewAndNoTable() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      let (views, tables) = (names(store, ofType: "VIEW"), names(store, ofType: "BASE TABLE"))
      #expect(Set(views) == Set(SchemaText.views))
      #expect(Set(tables) == Set(SchemaText.tables))
      for view in views where view != Self.viewOfPrograms {
        #expect(
          store.refusal(of: "SELECT * FROM \(view)", to: "administrator") == nil, "\(view)")
      }
      let refusal = store.refusal(of: "SELECT 1 FROM \(Self.viewOfPrograms)", to: "administrator")
      #expect(refusal?.contains("ERROR 1142") == true)
      for table in tables {
        let refusal = store.refusal(of: "SELECT 1 FROM \(table) LIMIT 1", to: "administrator")
        #expect(refusal?.contains("ERROR 1142") == true, "\(table)")
      }
    }
  }

  @Test func administratorsWriteNothing() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      for statement in [
        "UPDATE every_device SET name = 'x'", "DELETE FROM live_sessions",
        "DELETE FROM companions", "UPDATE audit_trail SET detail = 'x'",
        "INSERT INTO models (name, position) VALUES ('x', 1)", "DROP VIEW companions",
        "CREATE TABLE own (id INT PRIMARY KEY)",
      ] {
        #expect(
          store.refusal(of: statement, to: "administrator")?.contains("denied") == true,
          "\(statement)")
      }
    }
  }

  @Test func noViewShowsASecret() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      store.sql("UPDATE device_preferences SET push_token = 'opaque-token'")
      store.sql("UPDATE outbox SET sealed = 'sealed-secret'")
      store.sql("UPDATE banks SET client_secret = 'client-secret'")
      store.sql(
        """
        UPDATE merchants SET webhook_url = 'https://a', webhook_secret = 'webhook-secret',
          old_webhook_secret = 'webhook-secret', old_webhook_secret_until = NOW(3)
        """)
      let columns = store.column(
        """
        SELECT CONCAT(c.TABLE_NAME, '.', c.COLUMN_NAME) FROM information_schema.COLUMNS c
        JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
        WHERE t.TABLE_NAME IN ('\(names(store, ofType: "VIEW").joined(separator: "', '"))')
          AND t.TABLE_NAME <> '\(Self.viewOfPrograms)' AND t.TABLE_SCHEMA = DATABASE()
          AND c.COLUMN_NAME REGEXP 'hash|mac|sealed|token|secret|digest|credential|claim|code'
        """)
      // The number of a device's push tokens is not a token.
      #expect(columns == ["every_device.push_tokens"])
      let shown = names(store, ofType: "VIEW").filter { $0 != Self.viewOfPrograms }
        .map { store.sql("SELECT * FROM \($0)") }.joined()
      #expect(shown.contains("ann@example.org"))
      for secret in [
        SampleRows.pushToken, "opaque-token", "sealed-secret", "client-secret", "hhhhhhhh",
        "cccccccc", "mmmmmmmm", "ssssssss", "nnnnnnnn", "bbbbbbbb", "iiiiiiii", "pppppppp",
        "receipt-secret", "webhook-secret",
      ] {
        #expect(!shown.contains(secret), "\(secret)")
      }
    }
  }

  @Test func everyViewIsMadeByItsDefinersRights() throws {
    try withStore { store throws in
      #expect(
        store.column(
          "SELECT DISTINCT SECURITY_TYPE FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()"
        ) == ["DEFINER"])
    }
  }

  private static let denied: [(String, [String])] = [
    (
      "responder",
      [
        "SELECT * FROM tables_unfit_for_a_cluster",
        "UPDATE accounts SET wallet_id = 'x'", "UPDATE accounts SET created_at = NOW(3)",
        "UPDATE accounts SET banned_at = NULL", "UPDATE accounts SET ban_reason = NULL",
        "UPDATE account_visits SET account_id = UUID()",
        "UPDATE account_visits SET proved_at = NOW(3)", "SELECT body FROM notifications",
        "UPDATE notifications SET body = 'x'", "DELETE FROM devices",
        "DELETE FROM device_preferences", "DELETE FROM sessions", "DELETE FROM login_codes",
        "DELETE FROM passkey_challenges",
        "UPDATE phone_challenges SET purpose = 'passkey'",
        "UPDATE passkey_challenges SET purpose = 'authentication'",
        "UPDATE passkeys SET public_key = 'k'", "UPDATE passkeys SET account_id = UUID()",
        "DELETE FROM attestation_challenges",
        "UPDATE attestation_challenges SET expires_at = NOW(3)", "SELECT id FROM outbox",
        "SELECT sealed FROM outbox",
        "UPDATE outbox SET reason = 'x'",
        "DELETE FROM outbox", "SELECT id FROM audit_log", "UPDATE audit_log SET event = 'x'",
        "DELETE FROM audit_log", "DELETE FROM rate_limits", "SELECT hits FROM job_limits",
        "UPDATE job_limits SET hits = 0", "DELETE FROM job_limits",
        "INSERT INTO job_limits (name, subject, window_started_at, hits) VALUES ('x', 'x', NOW(3), 1)",
        "INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at) VALUES (UUID(), 'turn', 'x', 'x', NOW(3))",
        "UPDATE notifications SET body = 'x'", "UPDATE deliveries SET token = 'x'",
        "INSERT INTO deliveries (id, notification_id, token, shard) VALUES (UUID(), UUID(), 'x', 1)",
        "UPDATE jobs SET request = '{}'", "DELETE FROM jobs",
        "UPDATE banks SET authorization_url = 'x'", "UPDATE apns_hosts SET topic = 'x'",
        "INSERT INTO turn_notices (notification_id, games, badge) VALUES (UUID(), '[]', 1)",
        "INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running) VALUES (1, 1, 0, 'x', 1, 1, TRUE)",
        "INSERT INTO models (name, position) VALUES ('x', 1)", "DELETE FROM models",
        "INSERT INTO banks (bsim_id, name) VALUES ('x', 'x')", "UPDATE banks SET name = 'x'",
        "SELECT client_secret FROM banks", "SELECT token_url FROM banks", "SELECT * FROM banks",
        "SELECT webhook_secret FROM merchants", "SELECT old_webhook_secret FROM merchants",
        "UPDATE merchants SET webhook_url = NULL", "INSERT INTO merchants (id) VALUES (UUID())",
        "UPDATE payments SET amount = 1", "DELETE FROM payments", "SELECT state FROM webhooks",
        "UPDATE webhooks SET state = 'delivered'", "DELETE FROM webhooks",
        "SELECT * FROM every_webhook",
        "UPDATE cards SET last_four = '0000'", "DELETE FROM cards",
        "UPDATE enrollments SET account_id = UUID()", "INSERT INTO cards (id) VALUES (UUID())",
        "INSERT INTO enrollments (id) VALUES (UUID())",
        "UPDATE enrollment_states SET expires_at = NOW(3)", "UPDATE jobs SET result = '{}'",
        "SELECT token FROM apns_hosts",
        "SELECT token FROM dead_tokens",
        "SELECT shard FROM delivery_leases", "SELECT team_id FROM provider_tokens",
        "SELECT account FROM fcm_access_tokens", "SELECT token FROM web_subscriptions",
        "SELECT sealed FROM web_subscriptions", "UPDATE web_subscriptions SET token = 'x'",
        "SELECT * FROM enrolled_banks",
        "UPDATE companion_status SET version = 'x'", "UPDATE problems SET reason = ''",
        "SELECT total FROM counters", "DELETE FROM health", "UPDATE schema_version SET version = 2",
        "SELECT * FROM audit_trail", "SELECT * FROM every_device", "DROP TABLE models",
        "ALTER TABLE models ADD x INT", "CREATE TABLE own (id INT PRIMARY KEY)",
        "SELECT * FROM mysql.user", "CREATE USER x@localhost",
        "UPDATE pairing_server SET server_id = 'server-server-01'", "DELETE FROM pairing_tokens",
        "UPDATE pairing_tokens SET expires_at = NOW(3)", "DELETE FROM pairings",
        "UPDATE pairing_tickets SET expires_at = NOW(3)", "SELECT * FROM paired_devices",
      ]
    ),
    (
      "companion",
      [
        "SELECT api_key_hash FROM merchants", "UPDATE merchants SET api_key_hash = 'x'",
        "SELECT name FROM accounts", "UPDATE accounts SET name = 'x'", "SELECT name FROM devices",
        "UPDATE push_tokens SET platform = 'ios'",
        "SELECT preferred_models FROM device_preferences",
        "UPDATE device_preferences SET push_enabled = TRUE", "UPDATE models SET position = 1",
        "SELECT code_mac FROM login_codes", "SELECT challenge_hash FROM login_codes",
        "UPDATE login_codes SET expires_at = NOW(3)", "UPDATE accounts SET email = 'x@y'",
        "SELECT generation FROM sessions", "UPDATE sessions SET expires_at = NOW(3)",
        "SELECT proved_at FROM sessions", "SELECT credential_hash FROM devices",
        "UPDATE devices SET revoked_at = NULL", "SELECT key_hash FROM api_keys",
        "UPDATE api_keys SET key_hash = REPEAT('x', 32)",
        "SELECT challenge_hash FROM attestation_challenges", "SELECT id FROM attestation_keys",
        "UPDATE attestation_challenges SET spent_at = NULL",
        "UPDATE attestation_keys SET bound_at = NULL",
        "SELECT public_key FROM biometric_keys", "DELETE FROM biometric_keys",
        "SELECT device_name FROM phone_challenges",
        "UPDATE phone_challenges SET spent_at = NULL",
        "SELECT id FROM passkeys", "DELETE FROM passkeys",
        "SELECT challenge_hash FROM passkey_challenges", "SELECT token_hash FROM address_changes",
        "SELECT id FROM account_visits", "SELECT form_hash FROM account_visits",
        "SELECT event FROM account_events",
        "UPDATE passkey_challenges SET spent_at = NULL",
        "SELECT credential_hash FROM device_registrations", "SELECT event FROM audit_log",
        "DELETE FROM cards", "DELETE FROM enrollments",
        "DELETE FROM banks", "UPDATE enrollment_states SET spent_at = NULL",
        "SELECT proof_hash FROM payments", "SELECT challenge_hash FROM payments",
        "UPDATE payments SET confirmed_at = NOW(3)", "UPDATE payments SET amount = 1",
        "UPDATE merchants SET api_key_hash = REPEAT('x', 32)", "DELETE FROM merchants",
        "UPDATE sessions SET generation = 9", "UPDATE login_codes SET attempts = 0",
        "UPDATE rate_limits SET allowed = 0", "UPDATE schema_version SET version = 2",
        "UPDATE audit_log SET event = 'x'", "UPDATE pairing_server SET session = UUID()",
        "UPDATE pairing_tokens SET spent_at = NOW(3)", "UPDATE pairings SET generation = 9",
        "SELECT ticket_hash FROM pairing_tickets", "UPDATE pairing_tickets SET spent_at = NULL",
        "INSERT INTO pairings (id, user_agent, address, paired_at, last_used_at, rotated_at, expires_at) VALUES (UUID(), 'x', 'x', NOW(3), NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY)",
        "DELETE FROM health", "SELECT * FROM audit_trail",
        "INSERT INTO delivery_leases (channel, shard, claim_id) VALUES ('x', 1, UUID())",
        "DELETE FROM delivery_leases", "INSERT INTO jobs (id) VALUES (UUID())",
        "CREATE TABLE own (id INT PRIMARY KEY)", "SELECT * FROM mysql.user",
      ]
    ),
    (
      "relay",
      [
        "SELECT user_agent FROM pairings", "SELECT address FROM pairings",
        "SELECT name FROM pairings",
        "UPDATE pairings SET ended_at = NULL", "DELETE FROM pairings",
        "UPDATE pairing_tokens SET revoked_at = NOW(3)", "SELECT server_id FROM pairing_server",
        "SELECT ticket_hash FROM pairing_tickets", "SELECT id FROM accounts",
        "SELECT token FROM push_tokens", "INSERT INTO audit_log (event) VALUES ('x')",
        "SELECT * FROM paired_devices", "CREATE TABLE own (id INT PRIMARY KEY)",
      ]
    ),
  ]

  @Test(arguments: denied.indices)
  func aProgramMayDoNothingThatItNeedNotDo(number: Int) throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      let (account, statements) = Self.denied[number]
      for statement in statements {
        let refusal = store.refusal(of: statement, to: account)
        #expect(refusal?.contains("denied") == true, "\(statement): \(refusal ?? "allowed")")
      }
    }
  }

  /// Version 1 gave these rights too many.
  @Test func anUpgradeTakesAwayWhatNoProgramNeeds() throws {
    let first = try #require(ReleasedSchema.all.first)
    try first.withRows { store throws in
      let statements = [
        ("responder", "SELECT * FROM tables_unfit_for_a_cluster"),
        ("companion", "SELECT api_key_hash FROM merchants"),
        ("responder", "INSERT IGNORE INTO ogs_users (id, entity_tag) VALUES (4711, 'x')"),
        ("responder", "UPDATE ogs_registrations SET untold = NULL"),
      ]
      for (account, statement) in statements {
        #expect(store.refusal(of: statement, to: account) == nil)
      }
      let outcome = store.applySchema()
      #expect(outcome.status == 0, "\(outcome.output)")
      for (account, statement) in statements {
        #expect(store.refusal(of: statement, to: account)?.contains("denied") == true)
      }
      #expect(store.refusal(of: "SELECT webhook_secret FROM merchants", to: "companion") == nil)
    }
  }

  @Test func theCompanionAddsLeasesOfAChannel() throws {
    try withStore { store throws in
      let statement = "INSERT INTO delivery_leases (channel, shard) VALUES ('test', 1)"
      #expect(store.refusal(of: statement, to: "companion") == nil)
    }
  }

  /// A table or view without rights for the three accounts was forgotten; a table that all may read
  /// does not separate the programs.
  @Test func everyTableBelongsToSomebody() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      let granted = Set(
        store.column(
          """
          SELECT DISTINCT Table_name FROM mysql.tables_priv
          WHERE Db = DATABASE() AND User LIKE 'switchboard%'
          """))
      let all = names(store, ofType: "BASE TABLE") + names(store, ofType: "VIEW")
      #expect(granted == Set(all))
    }
  }
}

import Testing

@testable import Store

/// Every constraint of `schema.sql` rejects a row that violates it.
@Suite struct ConstraintTests {
  /// A statement that violates one constraint of a database with the ``SampleRows``.
  struct Case: Sendable {
    /// `table.constraint`
    let constraint: String
    let statement: String
    /// The server's error text; nil if the text contains the constraint's name.
    let words: String?

    init(_ constraint: String, _ statement: String, words: String? = nil) {
      self.constraint = constraint
      self.statement = statement
      self.words = words
    }
  }

  @Test func eachViolationIsRefused() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      let errors = store.errors(of: Self.cases.map(\.statement))
      try #require(errors.count == Self.cases.count)
      for (violation, error) in zip(Self.cases, errors) {
        let name = violation.constraint.split(separator: ".").last.map(String.init)
        let words = try #require(violation.words ?? name)
        #expect(error?.contains(words) == true, "\(violation.statement): \(error ?? "accepted")")
      }
    }
  }

  @Test func everyConstraintHasACase() throws {
    try withStore { store throws in
      let constraints = store.column(
        """
        SELECT CONCAT(TABLE_NAME, '.', CONSTRAINT_NAME) FROM information_schema.TABLE_CONSTRAINTS
        WHERE CONSTRAINT_SCHEMA = DATABASE()
        """)
      #expect(constraints.count == SchemaText.constraintCount)
      #expect(
        Set(constraints).symmetricDifference(Self.cases.map(\.constraint)) == [])
    }
  }

  /// Copies each of `columns` from the row of `table`, except those in `changes`.
  private static func copy(
    _ table: String, _ columns: String, changing changes: [String: String] = [:]
  ) -> String {
    let values = columns.split(separator: " ").map { changes[String($0)] ?? String($0) }
    return """
      INSERT INTO \(table) (\(columns.split(separator: " ").joined(separator: ", "))) \
      SELECT \(values.joined(separator: ", ")) FROM \(table) LIMIT 1
      """
  }

  private static let accountColumns = "id email name username wallet_id created_at"
  private static let deviceColumns =
    "id account_id client_device_id name platform created_at last_used_at"
  private static let registrationColumns =
    "client_device_id address name platform credential_hash credential_expires_at registered_at"
  private static let codeColumns =
    "email client_device_id challenge_hash code_mac expires_at"
  private static let other = "'\(SampleRows.other)'"
  private static let newAccount = [
    "id": other, "email": "'bob@example.org'", "username": "'bob'",
    "wallet_id": "'wsim_abcdefghijkl'",
  ]

  private static func account(keeping column: String) -> String {
    copy("accounts", accountColumns, changing: newAccount.filter { $0.key != column })
  }

  static let cases: [Case] =
    keys + references + checks + attestation + passkeys + accountPage + banks + payments + outbox
    + pairing + turns

  private static let keys: [Case] = [
    Case("schema_version.PRIMARY", "INSERT INTO schema_version (id, version) VALUES (1, 1)"),
    Case("accounts.PRIMARY", account(keeping: "id")),
    Case("accounts.accounts_email", account(keeping: "email")),
    Case("accounts.accounts_username", account(keeping: "username")),
    Case("accounts.accounts_wallet_id", account(keeping: "wallet_id")),
    Case("devices.PRIMARY", copy("devices", deviceColumns, changing: ["client_device_id": "'x'"])),
    Case("devices.devices_account_client", copy("devices", deviceColumns, changing: ["id": other])),
    Case("models.PRIMARY", "INSERT INTO models (name, position) VALUES ('gpt-4o', 9)"),
    Case("models.models_folded", "INSERT INTO models (name, position) VALUES ('GPT-4o', 9)"),
    Case(
      "device_preferences.PRIMARY", copy("device_preferences", "device_id last_updated_at")),
    Case("push_tokens.PRIMARY", copy("push_tokens", "token device_id platform registered_at")),
    Case(
      "device_registrations.PRIMARY",
      copy("device_registrations", registrationColumns, changing: ["address": "'192.0.2.2'"])),
    Case("sessions.PRIMARY", copy("sessions", "id device_id created_at rotated_at expires_at")),
    Case(
      "login_codes.PRIMARY",
      copy("login_codes", codeColumns, changing: ["challenge_hash": "REPEAT('x', 32)"])),
    Case(
      "login_codes.login_codes_challenge",
      copy("login_codes", codeColumns, changing: ["email": "'bob@example.org'"])),
    Case(
      "biometric_keys.PRIMARY", copy("biometric_keys", "device_id id type public_key enrolled_at")),
    Case(
      "phone_challenges.PRIMARY",
      copy("phone_challenges", "challenge_hash purpose client_device_id asked_by expires_at")),
    Case("outbox.PRIMARY", copy("outbox", "id kind recipient expires_at request_id")),
    Case("purge_places.PRIMARY", copy("purge_places", "rule at id")),
    Case("dead_tokens.PRIMARY", copy("dead_tokens", "token removed_at")),
    Case("companion_status.PRIMARY", copy("companion_status", "host version last_pass_at")),
    Case("problems.PRIMARY", copy("problems", "host name subject since seen_at")),
    Case("counters.PRIMARY", copy("counters", "host name outcome")),
    Case("schema_tables.PRIMARY", copy("schema_tables", "name checksum")),
    Case("health.PRIMARY", copy("health", "id")),
    Case(
      "rate_limits.PRIMARY",
      copy("rate_limits", "name subject window_started_at window_seconds hits allowed")),
    Case("job_limits.PRIMARY", copy("job_limits", "name subject window_started_at hits")),
    Case("audit_log.PRIMARY", copy("audit_log", "id at event request_id address")),
  ]

  private static let references: [Case] = [
    Case("jobs.jobs_account", "UPDATE jobs SET account_id = UUID()"),
    Case("notifications.notifications_account", "UPDATE notifications SET account_id = UUID()"),
    Case(
      "devices.devices_account",
      copy(
        "devices", deviceColumns, changing: ["id": other, "account_id": "UUID()"])),
    Case(
      "device_preferences.device_preferences_device",
      "INSERT INTO device_preferences (device_id, last_updated_at) VALUES (\(other), NOW(3))"),
    Case(
      "push_tokens.push_tokens_device",
      copy(
        "push_tokens", "token device_id platform registered_at",
        changing: ["token": "REPEAT('x', 64)", "device_id": other])),
    Case("sessions.sessions_device", "UPDATE sessions SET device_id = \(other)"),
    Case("biometric_keys.biometric_keys_device", "UPDATE biometric_keys SET device_id = \(other)"),
  ]
}

extension ConstraintTests {
  fileprivate static let checks: [Case] = [
    Case("health.health_is_one_row", "INSERT INTO health (id) VALUES (2)"),
    Case(
      "schema_version.schema_version_is_one_row",
      "INSERT INTO schema_version (id, version) VALUES (2, 1)"),
    Case("accounts.accounts_email_form", "UPDATE accounts SET email = 'Ann@example.org'"),
    Case("accounts.accounts_email_form", "UPDATE accounts SET email = 'ann'"),
    Case("accounts.accounts_email_form", "UPDATE accounts SET email = '@example.org'"),
    Case("accounts.accounts_email_form", "UPDATE accounts SET email = 'ann@'"),
    Case("accounts.accounts_name_not_empty", "UPDATE accounts SET name = ''"),
    Case("accounts.accounts_username_lower", "UPDATE accounts SET username = 'Ann'"),
    Case("accounts.accounts_username_lower", "UPDATE accounts SET username = ''"),
    Case("accounts.accounts_wallet_id_form", "UPDATE accounts SET wallet_id = 'wsim_ABC'"),
    Case("accounts.accounts_wallet_id_form", "UPDATE accounts SET wallet_id = 'WSIM_ABCDEFGHIJKL'"),
    Case(
      "accounts.accounts_wallet_id_form", #"UPDATE accounts SET wallet_id = 'wsim_ABCDEFGHIJKL\n'"#),
    Case(
      "devices.devices_client_device_id_not_empty", "UPDATE devices SET client_device_id = ''"),
    Case("devices.devices_name_not_empty", "UPDATE devices SET name = ''"),
    Case(
      "devices.devices_credential_whole", "UPDATE devices SET credential_hash = REPEAT('x', 32)"),
    Case("devices.devices_credential_whole", "UPDATE devices SET credential_expires_at = NOW(3)"),
    Case("models.models_name_trimmed", "UPDATE models SET name = '' WHERE position = 1"),
    Case("models.models_name_trimmed", "UPDATE models SET name = ' x' WHERE position = 1"),
    Case("models.models_name_trimmed", "UPDATE models SET name = 'x ' WHERE position = 1"),
    Case(
      "device_preferences.device_preferences_push_token_not_empty",
      "UPDATE device_preferences SET push_token = ''"),
    Case(
      "device_preferences.device_preferences_models_array",
      "UPDATE device_preferences SET preferred_models = '{}'"),
    Case(
      "device_preferences.device_preferences_models_array",
      "UPDATE device_preferences SET preferred_models = 'gpt-4o'", words: "JSON text"),
    Case(
      "device_preferences.device_preferences_models_array",
      "UPDATE device_preferences SET preferred_models = ''", words: "JSON text"),
    Case(
      "device_preferences.device_preferences_models_array",
      "UPDATE device_preferences SET preferred_models = CONCAT('[1', REPEAT(',1', 16), ']')"),
    Case(
      "device_preferences.device_preferences_quota",
      "UPDATE device_preferences SET archive_cache_quota_mb = 127"),
    Case(
      "device_preferences.device_preferences_quota",
      "UPDATE device_preferences SET archive_cache_quota_mb = 4097"),
    Case("push_tokens.push_tokens_form", "UPDATE push_tokens SET token = REPEAT('a', 19)"),
    Case("push_tokens.push_tokens_form", "UPDATE push_tokens SET token = REPEAT('é', 20)"),
    Case("push_tokens.push_tokens_form", "UPDATE push_tokens SET token = CONCAT(token, ' ')"),
    Case("push_tokens.push_tokens_form", #"UPDATE push_tokens SET token = CONCAT(token, '\n')"#),
    Case(
      "web_subscriptions.PRIMARY",
      "INSERT INTO web_subscriptions (token, sealed) SELECT token, sealed FROM web_subscriptions"),
    Case(
      "web_subscriptions.web_subscriptions_token",
      "INSERT INTO web_subscriptions (token, sealed) VALUES ('web:nobody', 'box:k.x')"),
    Case(
      "web_subscriptions.web_subscriptions_boxed",
      "UPDATE web_subscriptions SET sealed = '{\"endpoint\":\"https://push.example\"}'"),
    Case(
      "device_registrations.device_registrations_id_not_empty",
      "UPDATE device_registrations SET client_device_id = ''"),
    Case(
      "device_registrations.device_registrations_name_not_empty",
      "UPDATE device_registrations SET name = ''"),
    Case(
      "device_registrations.device_registrations_push_token_form",
      "UPDATE device_registrations SET push_token = 'short'"),
    Case(
      "device_registrations.device_registrations_push_token_form",
      #"UPDATE device_registrations SET push_token = '\#(SampleRows.pushToken)\n'"#),
    Case("sessions.sessions_generation", "UPDATE sessions SET generation = 0"),
    Case("sessions.sessions_end_whole", "UPDATE sessions SET ended_at = NOW(3)"),
    Case("sessions.sessions_end_whole", "UPDATE sessions SET end_reason = 'logout'"),
    Case("sessions.sessions_expiry_later", "UPDATE sessions SET expires_at = rotated_at"),
    Case("login_codes.login_codes_attempts", "UPDATE login_codes SET attempts = 6"),
    Case(
      "biometric_keys.biometric_keys_public_key_form", "UPDATE biometric_keys SET public_key = ''"),
    Case(
      "biometric_keys.biometric_keys_public_key_form",
      "UPDATE biometric_keys SET public_key = 'mwsim_device-1'"),
    Case(
      "biometric_keys.biometric_keys_public_key_form",
      #"UPDATE biometric_keys SET public_key = 'AAAA\n'"#),
    Case(
      "phone_challenges.phone_challenges_id_not_empty",
      "UPDATE phone_challenges SET client_device_id = ''"),
    Case("outbox.outbox_closed_whole", "UPDATE outbox SET finished_at = NOW(3)"),
    Case("outbox.outbox_closed_whole", "UPDATE outbox SET state = 'dead', sealed = NULL"),
    Case(
      "outbox.outbox_closed_wiped", "UPDATE outbox SET state = 'dead', finished_at = NOW(3)"),
  ]
}

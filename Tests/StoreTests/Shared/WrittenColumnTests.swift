import Testing

@testable import Store

/// The columns by which the responder tells the companion what to do. An attacker who has the responder's account writes what he
/// wants there, so there must be no more of them than its statements need.
@Suite struct WrittenColumnTests {
  /// By table that the companion reads: the columns that the responder may insert, and those that it may update.
  private static let columns: [String: (inserted: String, updated: String)] = [
    "accounts": (
      "created_at created_from email id language name username wallet_id",
      "cards_version email email_verified_at language name username"
    ),
    "api_keys": ("created_at description key_hash key_prefix ogs_user_id", "revoked_at"),
    "attestation_challenges": ("*", "spent_at"),
    "audit_log": (
      """
      account_id address app_version at attestation attestation_reason bundle_id detail device_id event platform request_id
      """, ""
    ), "cards": ("", "active is_default"),
    "device_preferences": (
      "device_id last_updated_at",
      """
      archive_cache_quota_mb device_id last_updated_at last_write_base last_write_digest preferred_models push_enabled \
      push_token version
      """
    ),
    "enrollment_states": (
      """
      account_id address browser_hash bsim_id expires_at id is_mobile nonce_hash session_id state_hash verifier
      """, "result spent_at"
    ), "enrollments": ("", "removed_at"), "health": ("", "full_at written_at"),
    "jobs": ("account_id id kind request request_id", "finished_at state"),
    "ogs_devices": ("", "is_stale"),
    "ogs_registrations": (
      "bundle_id channel device_token language ogs_user_id registered_at sealed",
      "bundle_id channel device_token language ogs_user_id quiet_from quiet_to registered_at sealed time_zone"
    ), "ogs_users": ("id", "asked_at due_at interval_seconds"),
    "outbox": (
      "account_id expires_at finished_at id kind recipient request_id sealed state", ""
    ),
    "pairing_server": ("", "current_nonce"), "pairing_tickets": ("*", "spent_at"),
    "pairing_tokens": ("*", "revoked_at spent_at"),
    "passkey_challenges": ("*", "spent_at"),
    "payments": (
      """
      amount created_at currency description expires_at id idempotency_hash is_request items merchant_id order_id request_hash \
      return_url
      """,
      """
      account_id approved_at attempts cancelled_at cancelled_by card_id card_token challenge_hash confirmed_at confirmed_by \
      expired_at proof_hash received_at refund_reason refunded_at
      """
    ), "phone_challenges": ("*", "spent_at"),
    "push_tokens": (
      "bundle_id device_id platform registered_at token",
      "bundle_id device_id platform registered_at token"
    ),
    "rate_limits": (
      "allowed hits name subject window_seconds window_started_at",
      "allowed hits name subject window_seconds window_started_at"
    ),
    "turn_settings": (
      "changed_at kinds live_games muted_games ogs_user_id quiet_from quiet_to time_zone",
      "changed_at kinds live_games muted_games ogs_user_id quiet_from quiet_to time_zone"
    ), "web_subscriptions": ("sealed token", ""),
    "webhooks": ("event expires_at id merchant_id payment_id", ""),
    // The responder's own: it needs each column, and the companion only ends or deletes rows.
    "account_visits": ("*", "challenge_hash form_hash"), "address_changes": ("*", "*"),
    "attestation_keys": ("*", "*"), "biometric_keys": ("*", "*"),
    "device_registrations": ("*", "*"), "devices": ("*", "*"), "login_codes": ("*", "*"),
    "pairings": ("*", "*"), "sessions": ("*", "*"),
  ]

  /// The columns of each table on which `account` has a right, separated by spaces; `*` for the whole table.
  private func granted(_ right: String, to account: String, _ store: TestStore) -> [String: String]
  {
    let rows = store.column(
      """
      SELECT CONCAT(Table_name, ':*') FROM mysql.tables_priv
      WHERE Db = DATABASE() AND User = 'switchboard_\(account)' AND FIND_IN_SET('\(right)', Table_priv)
      UNION ALL
      SELECT CONCAT(Table_name, ':', GROUP_CONCAT(Column_name ORDER BY Column_name SEPARATOR ' ')) FROM mysql.columns_priv
      WHERE Db = DATABASE() AND User = 'switchboard_\(account)' AND FIND_IN_SET('\(right)', Column_priv) GROUP BY Table_name
      """)
    let pairs = rows.map { row in
      let parts = row.split(separator: ":")
      return (String(parts[0]), String(parts[1]))
    }
    return Dictionary(pairs) { first, _ in first }
  }

  @Test func theResponderWritesNoOtherColumnThatTheCompanionReads() throws {
    try withStore { store throws in
      let read = Set(granted("Select", to: "companion", store).keys)
      let inserted = granted("Insert", to: "responder", store)
      let updated = granted("Update", to: "responder", store)
      let tables = read.intersection(Set(inserted.keys).union(updated.keys))
      #expect(tables == Set(Self.columns.keys))
      for table in tables {
        #expect(inserted[table] ?? "" == Self.columns[table]?.inserted, "\(table)")
        #expect(updated[table] ?? "" == Self.columns[table]?.updated, "\(table)")
      }
    }
  }

  /// The companion sends the tag to online-go.com as it is.
  @Test(arguments: [
    "INSERT INTO ogs_users (id, entity_tag) VALUES (1, 'x')",
    "INSERT INTO ogs_users (id, claim_id) VALUES (1, UUID())",
    "INSERT INTO jobs (id, kind, request, request_id, attempts) VALUES (UUID(), 'turn_check', '{}', '', 9)",
    "INSERT INTO outbox (id, kind, recipient, expires_at, request_id, due_at) VALUES (UUID(), 'login_code', 'a@b', NOW(3), '', NOW(3))",
    "INSERT INTO audit_log (id, at, event, request_id, address) VALUES (18446744073709551615, NOW(3), 'x', '', '')",
    "INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at, untold) VALUES (1, 'x', NOW(3), '[]')",
  ])
  func aColumnOfTheCompanionIsDenied(statement: String) throws {
    try withStore { store throws in
      #expect(store.refusal(of: statement, to: "responder")?.contains("denied") == true)
    }
  }
}

import Base

/// The changes that each actor may make to the owner's rows. All other changes are forbidden.
///
/// A session that was opened with only a bearer token may read, use and end things, and set up a
/// key that proves nothing for a day. It gets no fresh proof, so it adds and removes no passkey,
/// changes no address and deletes no account.
struct Authority {
  private struct Permit {
    /// Columns that may change.
    var columns: Set<String> = []
    var mayAdd: @Sendable (WatchedRow, Timestamp) -> Bool = { _, _ in false }
    var mayRemove = false
  }

  private static let endless: @Sendable (WatchedRow, Timestamp) -> Bool = { _, _ in true }

  /// The rights that the contracts give to an access token alone.
  private static let bearer: [String: Permit] = [
    "accounts": Permit(columns: ["name", "cards_version", "language"]),
    // A key that the bearer has set up may begin sessions, which prove nothing.
    "sessions": Permit(
      columns: [
        "confirmed", "generation", "branch", "first_branch", "rotated_at", "rotated_from",
        "expires_at", "ended_at", "end_reason",
      ],
      mayAdd: { row, _ in row["proved_at"] == nil }),
    "devices": Permit(columns: [
      "name", "platform", "last_used_at", "revoked_at", "credential_hash", "credential_expires_at",
      "credential_trusted_at", "credential_number", "credential_made_at", "credential_made_for",
      "old_credential_hash", "old_credential_expires_at", "old_credential_trusted_at",
    ]),
    "biometric_keys": Permit(
      mayAdd: { row, _ in row["trusted_at"]! > row["enrolled_at"]! }, mayRemove: true),
    "device_preferences": Permit(columns: [
      "push_enabled", "push_token", "preferred_models", "archive_cache_quota_mb", "version",
      "last_updated_at", "last_write_digest", "last_write_base",
    ]),
    "push_tokens": Permit(
      columns: ["device_id", "platform", "registered_at", "bundle_id"], mayAdd: endless,
      mayRemove: true),
    "web_subscriptions": Permit(columns: ["sealed"], mayAdd: endless, mayRemove: true),
    "passkeys": Permit(columns: ["name"]),
    "passkey_challenges": Permit(columns: ["spent_at"], mayAdd: endless),
    "address_changes": Permit(mayRemove: true),
    "account_visits": Permit(mayRemove: true),
    "cards": Permit(columns: ["is_default", "active"]),
    "enrollments": Permit(columns: ["removed_at"]),
    "enrollment_states": Permit(
      columns: ["spent_at", "result"], mayAdd: endless, mayRemove: true),
    "payments": Permit(
      columns: merchantColumns.union([
        "attempts", "account_id", "card_id", "challenge_hash", "approved_at",
      ]),
      mayAdd: { row, _ in row["confirmed_at"] == nil }),
  ]

  /// Columns of a payment that its merchant's key may change.
  private static let merchantColumns: Set = [
    "cancelled_at", "cancelled_by", "expired_at", "refunded_at", "refund_reason", "received_at",
    "open_until", "open_order",
  ]

  /// Changes that anyone who knows the owner's address may cause.
  private static let anybody: [String: Permit] = [
    "passkey_challenges": Permit(columns: ["spent_at"], mayAdd: endless),
    "payments": Permit(
      columns: merchantColumns,
      mayAdd: { row, _ in row["confirmed_at"] == nil && row["account_id"] == nil }),
  ]

  /// Tables that report events or hold outgoing work.
  static let told: Set<String> = ["outbox", "jobs", "notifications", "deliveries", "webhooks"]

  let actor: Actor

  /// - Parameter hasEnded: true if the owner has signed out everywhere.
  func allows(_ change: RowChange, at now: Timestamp, hasEnded: Bool) -> Bool {
    if Self.told.contains(change.table) { return true }
    if actor.hasProof && !hasEnded { return true }
    let table = actor.isBearer && !hasEnded ? Self.bearer : Self.anybody
    guard let permit = table[change.table] else { return false }
    guard let new = change.new else { return permit.mayRemove }
    guard change.old != nil else { return permit.mayAdd(new, now) }
    guard change.columns.isSubset(of: permit.columns) else { return false }
    // A credential issued for only a bearer token proves nothing.
    guard change.columns.contains("credential_hash"), new["credential_hash"] != nil else {
      return true
    }
    return !isOver(new["credential_trusted_at"], at: now)
  }
}

/// Whether the time in a row is now or in the past.
func isOver(_ text: String?, at now: Timestamp) -> Bool {
  guard let text else { return false }
  return text <= databaseText(now)
}

/// A time without fractions of a second, in the format of rows.
func databaseText(_ instant: Timestamp) -> String {
  String(instant.rfc3339.prefix(19)).replacing("T", with: " ") + ".000"
}

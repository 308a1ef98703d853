extension ConstraintTests {
  private static let passkeyColumns =
    "id, account_id, credential_id, public_key, sign_count, is_backup_eligible, is_backed_up, name, created_at"

  private static func passkey(id: String, credentialID: String) -> String {
    """
    INSERT INTO passkeys (\(passkeyColumns)) SELECT \(id), account_id, \(credentialID), public_key,
      sign_count, is_backup_eligible, is_backed_up, name, created_at FROM passkeys LIMIT 1
    """
  }

  /// Cases for the tables of the page at `/account`.
  static let accountPage: [Case] = [
    Case(
      "address_changes.PRIMARY",
      """
      INSERT INTO address_changes (account_id, email, token_hash, expires_at)
      SELECT account_id, email, REPEAT('x', 32), expires_at FROM address_changes
      """),
    Case(
      "address_changes.address_changes_token",
      """
      INSERT INTO accounts (id, email, name, username, wallet_id, created_at) VALUES
        ('\(SampleRows.other)', 'bob@example.org', 'Bob', 'bob', 'wsim_abcdefghijkl', NOW(3));
      INSERT INTO address_changes (account_id, email, token_hash, expires_at)
      SELECT '\(SampleRows.other)', email, token_hash, expires_at FROM address_changes
      """),
    Case(
      "address_changes.address_changes_account",
      "UPDATE address_changes SET account_id = '\(SampleRows.other)'"),
    Case(
      "address_changes.address_changes_email_form",
      "UPDATE address_changes SET email = 'New@example.org'"),
    Case(
      "account_visits.PRIMARY",
      "INSERT INTO account_visits (id, expires_at) SELECT id, expires_at FROM account_visits"),
    Case(
      "account_visits.account_visits_account",
      "UPDATE account_visits SET account_id = '\(SampleRows.other)'"),
    Case(
      "account_visits.account_visits_signed_in_whole",
      "UPDATE account_visits SET proved_at = NULL"),
    Case(
      "outbox.outbox_account", "UPDATE outbox SET account_id = '\(SampleRows.other)'"),
  ]

  static let passkeys: [Case] = [
    Case("passkeys.PRIMARY", passkey(id: "id", credentialID: "'other'")),
    Case("passkeys.passkeys_credential", passkey(id: "UUID()", credentialID: "credential_id")),
    Case("passkeys.passkeys_account", "UPDATE passkeys SET account_id = '\(SampleRows.other)'"),
    Case("passkeys.passkeys_credential_not_empty", "UPDATE passkeys SET credential_id = ''"),
    Case("passkeys.passkeys_public_key_not_empty", "UPDATE passkeys SET public_key = ''"),
    Case("passkeys.passkeys_backup_eligible", "UPDATE passkeys SET is_backup_eligible = FALSE"),
    Case("passkeys.passkeys_name_not_empty", "UPDATE passkeys SET name = ''"),
    Case("passkeys.passkeys_used_whole", "UPDATE passkeys SET uses = 1"),
    Case("passkeys.passkeys_used_whole", "UPDATE passkeys SET last_used_at = NOW(3)"),
    Case(
      "passkey_challenges.PRIMARY",
      """
      INSERT INTO passkey_challenges (challenge_hash, purpose, account_id, client_device_id, expires_at)
      SELECT challenge_hash, 'authentication', account_id, 'device-2', expires_at FROM passkey_challenges
      """),
    Case(
      "passkey_challenges.passkey_challenges_account",
      "UPDATE passkey_challenges SET account_id = '\(SampleRows.other)'"),
    Case(
      "passkey_challenges.passkey_challenges_device_not_empty",
      "UPDATE passkey_challenges SET client_device_id = ''"),
  ]
}

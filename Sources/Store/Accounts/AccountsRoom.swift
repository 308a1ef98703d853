extension Room {
  static let accounts = Room(
    retention: [
      RetentionRule(
        .after(Account.unprovenLifetime),
        """
        DELETE accounts FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS old
          STRAIGHT_JOIN accounts ON accounts.id = old.id
        WHERE email_verified_at IS NULL AND banned_at IS NULL
          AND NOT EXISTS (SELECT 1 FROM devices d JOIN sessions s ON s.device_id = d.id
            WHERE d.account_id = accounts.id AND s.ended_at IS NULL
              AND s.expires_at > UTC_TIMESTAMP(3))
        """,
        walk: .init(
          name: "unproven_accounts",
          candidates: """
            SELECT id, created_at FROM accounts
            WHERE email_verified_at IS NULL AND created_at >= ? AND (created_at > ? OR id > ?)
              AND created_at < ?
            ORDER BY created_at, id LIMIT ?
            """)),
      RetentionRule(
        .after(.zero), "DELETE FROM device_registrations WHERE credential_expires_at < ? LIMIT ?"),
      RetentionRule(.after(.day * 30), "DELETE FROM sessions WHERE ended_at < ? LIMIT ?"),
      RetentionRule(.after(.day * 30), "DELETE FROM sessions WHERE expires_at < ? LIMIT ?"),
      RetentionRule(.after(.day), "DELETE FROM login_codes WHERE expires_at < ? LIMIT ?"),
      RetentionRule(.after(.day), "DELETE FROM phone_challenges WHERE expires_at < ? LIMIT ?"),
      RetentionRule(
        .after(.day), "DELETE FROM passkey_challenges WHERE expires_at < ? LIMIT ?"),
      // Apps register at each start: a token that is a year old belongs to an app out of use.
      RetentionRule(
        .after(.day * 365), "DELETE FROM push_tokens WHERE registered_at < ? LIMIT ?"),
      RetentionRule(.after(.zero), "DELETE FROM address_changes WHERE expires_at < ? LIMIT ?"),
      RetentionRule(.after(.zero), "DELETE FROM account_visits WHERE expires_at < ? LIMIT ?"),
    ],
    whenDeviceIsRevoked: ["DELETE FROM biometric_keys WHERE device_id = ?"],
    whenAuthenticatorsEnd: [
      "DELETE FROM passkeys WHERE account_id = ?",
      "DELETE FROM address_changes WHERE account_id = ?",
      "DELETE FROM account_visits WHERE account_id = ?",
    ],
    whenAccountIsHandedOver: [
      // A stranger may have chosen the names. The owner has not chosen any yet.
      "UPDATE accounts SET name = SUBSTRING_INDEX(email, '@', 1), language = NULL WHERE id = ?",
      "UPDATE devices SET name = 'Unnamed device' WHERE account_id = ?",
    ],
    whenAccountIsBanned: [
      "DELETE FROM address_changes WHERE account_id = ?",
      "DELETE FROM account_visits WHERE account_id = ?",
      """
      UPDATE devices SET credential_hash = NULL, credential_expires_at = NULL,
        credential_trusted_at = NULL, old_credential_hash = NULL, old_credential_expires_at = NULL,
        old_credential_trusted_at = NULL
      WHERE account_id = ?
      """,
    ],
    whenTokenDies: ["DELETE FROM push_tokens WHERE token = ? AND registered_at < ?"],
    // The device was signed out, or is somebody else's, or its owner wants no notifications there.
    whatIsOver: [
      OverRule(
        [.account],
        """
        SELECT l.id, TRUE FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS due
        JOIN deliveries l ON l.id = due.id
        JOIN notifications n ON n.id = l.notification_id
        WHERE NOT EXISTS
          (SELECT 1 FROM push_tokens t JOIN devices d ON d.id = t.device_id
           JOIN device_preferences p ON p.device_id = d.id
           JOIN sessions s ON s.device_id = d.id
           WHERE t.token = l.token AND d.account_id = n.account_id
             AND (p.version = 0 OR p.push_enabled)
             AND s.ended_at IS NULL AND s.expires_at > UTC_TIMESTAMP(3))
        """)
    ],
    ownersOfTokens: [
      """
      SELECT wanted.token, CONCAT('account ', COALESCE(d.account_id, d.id))
      FROM JSON_TABLE(?, '$[*]' COLUMNS (token VARCHAR(512) PATH '$')) AS wanted
      STRAIGHT_JOIN push_tokens t ON t.token = wanted.token
      JOIN devices d ON d.id = t.device_id
      """
    ],
    whenRestored: [
      """
      UPDATE login_codes FORCE INDEX (login_codes_expiry) SET spent_at = UTC_TIMESTAMP(3)
      WHERE spent_at IS NULL AND expires_at > UTC_TIMESTAMP(3)
      """,
      """
      UPDATE phone_challenges FORCE INDEX (phone_challenges_expiry) SET spent_at = UTC_TIMESTAMP(3)
      WHERE spent_at IS NULL AND expires_at > UTC_TIMESTAMP(3)
      """,
      """
      UPDATE passkey_challenges FORCE INDEX (passkey_challenges_expiry) SET spent_at = UTC_TIMESTAMP(3)
      WHERE spent_at IS NULL AND expires_at > UTC_TIMESTAMP(3)
      """,
      """
      UPDATE address_changes FORCE INDEX (address_changes_expiry) SET expires_at = UTC_TIMESTAMP(3)
      WHERE expires_at > UTC_TIMESTAMP(3)
      """,
      // Zeros mark a spent challenge.
      """
      UPDATE account_visits FORCE INDEX (account_visits_expiry)
      SET form_hash = NULL, challenge_hash = IF(challenge_hash IS NULL, NULL, REPEAT(X'00', 32))
      WHERE expires_at > UTC_TIMESTAMP(3)
      """,
    ],
    accountData: [
      .account, .pendingAddresses, .devices, .sessions, .browsers, .passkeys, .biometricKeys,
      .pushRegistrations,
    ])
}

extension Limit {
  package static let deviceRegistrations = Limit(
    name: "device-register", allowed: 60, window: .seconds(3600), counts: "registrations",
    per: "IP address")
  package static let deviceRenewals = Limit(
    name: "device-renew", allowed: 60, window: .seconds(3600), counts: "new credentials",
    per: "device that is signed in")
  package static let signUpsByAddress = Limit(
    name: "sign-up-address", allowed: 20, window: .seconds(3600),
    counts: "sign-ups, also those that fail,", per: "IP address")
  package static let signUpsByDevice = Limit(
    name: "sign-up", allowed: 60, window: .seconds(3600), counts: "sign-ups",
    per: "`deviceId` and IP address")
  package static let codesByAddress = Limit(
    name: "code-address", allowed: 20, window: .seconds(3600), counts: "codes for unknown devices",
    per: "IP address")
  package static let codesByEmail = Limit(
    name: "code-email", allowed: 10, window: .seconds(900), counts: "codes for unknown devices",
    per: "e-mail address and IP address")
  package static let codesByDevice = Limit(
    name: "code-device", allowed: 3, window: .seconds(900), counts: "codes for unknown devices",
    per: "e-mail address, `deviceId` and IP address")
  package static let codesByKnownDevice = Limit(
    name: "code-known-device", allowed: 3, window: .seconds(900), counts: "codes",
    per: "known device and IP address")
  /// The share that each network has of ``codesADay``.
  package static let codesADayByNetwork = Limit(
    name: "code-day-network", allowed: 15, window: .seconds(86_400), widestFactor: 2,
    counts: "codes", per: "e-mail address or known device, and IP address")
  package static let codesADay = Limit(
    name: "code-day", allowed: 60, window: .seconds(86_400), counts: "codes",
    per: "e-mail address or known device")
  package static let wrongCodesByAddress = Limit(
    name: "code-wrong-address", allowed: 100, window: .seconds(3600),
    counts: "tries without a live code, and wrong codes of unknown devices,", per: "IP address")
  /// The share that each network has of ``wrongCodesByEmail``, and of ``wrongCodesByKnownDevice``.
  static let wrongCodesByNetwork = Limit(
    name: "code-wrong-network", allowed: 15, window: .seconds(86_400), widestFactor: 2)
  static let wrongCodesByEmail = Limit(
    name: "code-wrong-email", allowed: 40, window: .seconds(86_400))
  static let wrongCodesByKnownDevice = Limit(
    name: "code-wrong-known-device", allowed: 40, window: .seconds(86_400))
  /// Requests for codes and tries of them that show the cookie of a known browser. More of them count
  /// as those of strangers.
  static let usesOfKnownBrowsers = Limit(
    name: "known-browser", allowed: 60, window: .seconds(86_400))
  /// Tries of a code by callers who did not ask for it.
  static let wrongCodesOfOthers = Limit(
    name: "code-wrong-other", allowed: 5, window: .seconds(300), widestFactor: 2)
  package static let addressChanges = Limit(
    name: "address-change", allowed: 5, window: .seconds(3600), counts: "new e-mail addresses",
    per: "account")
  package static let addressChangesByAddress = Limit(
    name: "address-change-address", allowed: 20, window: .seconds(3600),
    counts: "new e-mail addresses", per: "IP address")
  /// The share that each network has of ``mailsToUnproven``.
  static let mailsToUnprovenByNetwork = Limit(
    name: "mail-unproven-network", allowed: 6, window: .seconds(86_400), widestFactor: 2)
  static let mailsToUnproven = Limit(name: "mail-unproven", allowed: 30, window: .seconds(86_400))
  package static let biometricKeys = Limit(
    name: "biometric-setup", allowed: 10, window: .seconds(3600), counts: "new biometric keys",
    per: "device that is signed in")
  package static let biometricChallenges = Limit(
    name: "biometric-challenge", allowed: 10, window: .seconds(60), counts: "challenges",
    per: "`deviceId` and IP address, or device that shows its credential")
  package static let biometricFailures = Limit(
    name: "biometric-failed", allowed: 5, window: .seconds(900), counts: "wrong signatures",
    per: "key and IP address, or key of the device that shows its credential")
  package static let wrongSignaturesByAddress = Limit(
    name: "biometric-wrong-address", allowed: 100, window: .seconds(3600),
    counts: "failed sign-ins with a key of devices without a credential", per: "IP address")
  package static let passkeyStarts = Limit(
    name: "passkey-start", allowed: 20, window: .seconds(60), counts: "challenges for passkeys",
    per: "IP address")
  package static let passkeyStartsByKnownDevice = Limit(
    name: "passkey-start-known-device", allowed: 20, window: .seconds(60),
    counts: "challenges for passkeys", per: "device that shows its credential")
  package static let passkeyRegistrations = Limit(
    name: "passkey-register", allowed: 60, window: .seconds(3600), counts: "new passkeys",
    per: "account")
  package static let pushTokens = Limit(
    name: "push-token", allowed: 300, window: .seconds(3600),
    counts: "registrations of push tokens", per: "account")
  package static let rotations = Limit(
    name: "refresh", allowed: 30, window: .seconds(3600), counts: "refreshes",
    per: "sign-in or pairing")
  package static let deadRefreshes = Limit(
    name: "refresh-dead", allowed: 30, window: .seconds(60), counts: "refreshes with a dead token",
    per: "IP address")
}

extension AuditEvent {
  static let accountBanned = AuditEvent("account_banned")
  static let accountConfirmed = AuditEvent("account_confirmed")
  static let accountCreated = AuditEvent("account_created")
  static let accountDeleted = AuditEvent("account_deleted")
  static let accountDenied = AuditEvent("account_denied")
  static let accountHandedOver = AuditEvent("account_handed_over")
  static let accountUnbanned = AuditEvent("account_unbanned")
  static let addressChangeBegun = AuditEvent("address_change_begun")
  static let addressChanged = AuditEvent("address_changed")
  static let biometricDisabled = AuditEvent("biometric_disabled")
  static let biometricEnabled = AuditEvent("biometric_enabled")
  static let biometricLocked = AuditEvent.refusal("biometric_locked")
  static let biometricRefused = AuditEvent.refusal("biometric_refused")
  static let codeDead = AuditEvent.refusal("code_dead")
  static let codeRefused = AuditEvent.refusal("code_refused")
  static let codeRequested = AuditEvent("code_requested")
  static let credentialRefused = AuditEvent.refusal("credential_refused")
  static let emailProven = AuditEvent("email_proven")
  static let deviceRegistered = AuditEvent("device_registered")
  static let deviceRenamed = AuditEvent("device_renamed")
  static let deviceRevoked = AuditEvent("device_revoked")
  static let logout = AuditEvent("logout")
  static let passkeyAdded = AuditEvent("passkey_added")
  static let passkeyCloned = AuditEvent.refusal("passkey_cloned")
  static let passkeyRefused = AuditEvent.refusal("passkey_refused")
  static let passkeyRemoved = AuditEvent("passkey_removed")
  static let passkeyRenamed = AuditEvent("passkey_renamed")
  static let profileChanged = AuditEvent("profile_changed")
  static let pushTokenRemoved = AuditEvent("push_token_removed")
  static let pushTokenSet = AuditEvent("push_token_set")
  static let refreshRefused = AuditEvent.refusal("refresh_refused")
  /// Its rows are limited too: callers can cause it as often as they want.
  static let refreshRepeated = AuditEvent.refusal("refresh_repeated")
  static let refreshReuse = AuditEvent("refresh_reuse")
  static let refreshed = AuditEvent("refreshed")
  static let signIn = AuditEvent("sign_in")
  static let signInRefused = AuditEvent.refusal("sign_in_refused")
}

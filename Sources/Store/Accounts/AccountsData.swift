import MariaDB

extension AccountData {
  static let account = AccountData(
    "account",
    [
      .text("email"), .text("name"), .text("username"), .text("walletId"), .time("createdAt"),
      .text("createdFrom"), .time("emailVerifiedAt"), .text("language"),
    ],
    """
    SELECT id, email, name, username, wallet_id, created_at, created_from, email_verified_at, language
    FROM accounts WHERE id = ? LIMIT ?
    """)

  static let pendingAddresses = AccountData(
    "pendingAddresses", [.text("email"), .time("expiresAt")],
    """
    SELECT c.account_id, c.email, c.expires_at FROM address_changes c
    LEFT JOIN sessions s ON s.id = c.session_id
    WHERE c.expires_at > ? AND c.account_id = ?
      AND (c.session_id IS NULL OR s.id IS NOT NULL AND s.ended_at IS NULL) LIMIT ?
    """, selectsUnexpired: true)

  static let devices = AccountData(
    "devices",
    [
      .text("name"), .text("platform"), .text("deviceId"), .time("createdAt"), .time("lastUsedAt"),
      .text("session"), .time("signedInUntil"),
    ],
    """
    SELECT d.id, d.name, d.platform, d.client_device_id, d.created_at, d.last_used_at, s.id, s.expires_at
    FROM devices d LEFT JOIN sessions s
      ON s.device_id = d.id AND s.ended_at IS NULL AND s.expires_at > ?
    WHERE d.account_id = ? AND d.revoked_at IS NULL ORDER BY d.last_used_at DESC, d.id LIMIT ?
    """, selectsUnexpired: true
  ) { transaction, id, account in
    let locked = try transaction.connection.row(
      """
      SELECT id FROM devices WHERE id = ? AND account_id = ? AND revoked_at IS NULL FOR UPDATE
      """,
      [.text(id), .text(account)]
    ) { row in row.text(0) }
    guard let device = locked else { return false }
    try transaction.devices.revoke(device, because: .deviceRevoked)
    try transaction.addressChanges.withdraw(of: account)
    try transaction.audit.write(.deviceRevoked, account: account, device: device)
    return true
  }

  static let sessions = AccountData(
    "sessions",
    [
      .text("device"), .time("createdAt"), .text("beganBy"), .time("refreshedAt"),
      .time("expiresAt"),
    ],
    """
    SELECT s.id, d.name, s.created_at, s.began_by, s.rotated_at, s.expires_at
    FROM devices d JOIN sessions s
      ON s.device_id = d.id AND s.ended_at IS NULL AND s.expires_at > ?
    WHERE d.account_id = ? ORDER BY s.rotated_at DESC, s.id LIMIT ?
    """, selectsUnexpired: true
  ) { transaction, id, account in
    try transaction.sessions.end(session: id, of: account)
  }

  static let passkeys = AccountData(
    "passkeys", [.text("name"), .time("createdAt"), .time("lastUsedAt")],
    """
    SELECT id, name, created_at, last_used_at FROM passkeys WHERE account_id = ?
    ORDER BY created_at DESC, id LIMIT ?
    """, removalNeedsProof: true
  ) { transaction, id, account in
    guard try transaction.passkeys.remove(id, of: account) else { return false }
    if let owner = try transaction.accounts.find(id: account) {
      try transaction.notices.tell(.keysRemoved, inBrowserOf: owner)
    }
    return true
  }

  static let biometricKeys = AccountData(
    "biometricKeys", [.text("device"), .text("type"), .time("enrolledAt")],
    """
    SELECT k.id, d.name, k.type, k.enrolled_at
    FROM devices d JOIN biometric_keys k ON k.device_id = d.id WHERE d.account_id = ? LIMIT ?
    """)

  static let pushRegistrations = AccountData(
    "pushRegistrations", [.text("device"), .text("platform"), .time("registeredAt")],
    """
    SELECT t.device_id, d.name, t.platform, t.registered_at
    FROM devices d JOIN push_tokens t ON t.device_id = d.id WHERE d.account_id = ? LIMIT ?
    """)
}

extension SessionStatements {
  /// Ends one session. If it is the last of its device, removes the push tokens, as a sign-out
  /// does.
  ///
  /// - Returns: false if the account has no such live session.
  fileprivate func end(session id: String, of account: String) throws(DatabaseError) -> Bool {
    let locked = try transaction.connection.row(
      """
      SELECT d.id FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND d.account_id = ? AND s.ended_at IS NULL FOR UPDATE
      """,
      [.text(id), .text(account)]
    ) { row in row.text(0) }
    guard let device = locked else { return false }
    _ = try transaction.connection.execute(
      "UPDATE sessions SET ended_at = ?, end_reason = 'logout' WHERE id = ? AND ended_at IS NULL",
      [.time(transaction.now), .text(id)])
    let hasOthers = try transaction.connection.row(
      """
      SELECT TRUE FROM sessions WHERE device_id = ? AND ended_at IS NULL AND expires_at > ? LIMIT 1
      LOCK IN SHARE MODE
      """,
      [.text(device), .time(transaction.now)]
    ) { row in row.boolean(0) }
    try transaction.addressChanges.withdraw(of: account)
    if hasOthers == nil { try transaction.pushTokens.removeAll(ofSigningOut: device) }
    try transaction.audit.write(
      .logout, account: account, device: device, detail: "one session, on the account page")
    return true
  }
}

import MariaDB

/// Statements on `devices`.
struct DeviceStatements: ~Copyable {
  let transaction: Transaction

  /// The id of the account's device, revoked or not; nil if it has no such device.
  ///
  /// Runs the same statement without an account, so that the time reveals nothing.
  func id(
    of clientDeviceID: String, account: Account?
  ) throws(DatabaseError) -> String? {
    // An id that no account has: for NULL, MariaDB would skip the search.
    let accountID = account?.id ?? "00000000-0000-0000-0000-000000000000"
    return try transaction.connection.row(
      "SELECT id FROM devices WHERE account_id = ? AND client_device_id = ?",
      [.text(accountID), .text(clientDeviceID)]
    ) { row in row.text(0) }
  }

  /// Stores a registration. Others of the phone stay, also from the same address: they may be another person's.
  func keep(_ device: DeviceRegistration) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO device_registrations (client_device_id, address, name, platform, push_token,
        credential_hash, credential_expires_at, registered_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(device.clientDeviceID), .text(transaction.origin.storedAddress), .text(device.name),
        .text(device.platform.rawValue), .text(device.pushToken?.text),
        .bytes(device.credentialHash), .time(device.credentialExpiresAt), .time(transaction.now),
      ])
  }

  /// Keeps the account's device from changing before the transaction's end.
  ///
  /// - Returns: its id; nil if there is none, or it is revoked.
  func lock(
    _ clientDeviceID: String, of account: String
  ) throws(DatabaseError) -> String? {
    try transaction.connection.row(
      """
      SELECT id FROM devices WHERE account_id = ? AND client_device_id = ? AND revoked_at IS NULL
      FOR UPDATE
      """,
      [.text(account), .text(clientDeviceID)]
    ) { row in row.text(0) }
  }

  /// Keeps all devices of the account that are not revoked from changing before the transaction's
  /// end.
  ///
  /// - Returns: their ids.
  func lockAll(of account: String) throws(DatabaseError) -> [String] {
    try transaction.connection.rows(
      "SELECT id FROM devices WHERE account_id = ? AND revoked_at IS NULL FOR UPDATE",
      [.text(account)]
    ) { row in row.text(0) }
  }

  /// Name of the device of a session that has just begun.
  func name(of session: Session) throws(DatabaseError) -> String {
    try transaction.connection.knownRow(
      "SELECT d.name FROM sessions s JOIN devices d ON d.id = s.device_id WHERE s.id = ?",
      [.text(session.id)]
    ) { row in row.text(0) }
  }

  func platform(of deviceID: String) throws(DatabaseError) -> DevicePlatform {
    try transaction.connection.knownRow(
      "SELECT platform FROM devices WHERE id = ?", [.text(deviceID)]
    ) { row in DevicePlatform(row: row, 0) }
  }

  func list(of account: String) throws(DatabaseError) -> [Device] {
    try transaction.connection.rows(
      """
      SELECT d.client_device_id, d.name, d.platform, d.created_at, d.last_used_at,
        EXISTS (SELECT 1 FROM push_tokens t WHERE t.device_id = d.id)
          AND (p.version = 0 OR p.push_enabled),
        EXISTS (SELECT 1 FROM biometric_keys k WHERE k.device_id = d.id)
      FROM devices d JOIN device_preferences p ON p.device_id = d.id
      WHERE d.account_id = ? AND d.revoked_at IS NULL
      ORDER BY d.last_used_at DESC, d.id
      """,
      [.text(account)]
    ) { row in Device(row: row) }
  }

  /// Ends the sessions of a device, and removes its push tokens, its credential and what other rooms
  /// keep only for devices in use.
  func revoke(_ deviceID: String, because reason: EndReason) throws(DatabaseError) {
    try markRevoked(deviceID)
    try clear(deviceID, because: reason)
  }

  /// Does the same, but keeps the device and its credential.
  func clear(_ deviceID: String, because reason: EndReason) throws(DatabaseError) {
    try transaction.sessions.endAll(of: deviceID, because: reason)
    try transaction.pushTokens.removeAll(ofSigningOut: deviceID)
    try removeKeys(of: deviceID)
  }

  /// Removes everything of the account that signs or signs in: its passkeys, its pending states, and
  /// the keys and credentials of `deviceIDs`.
  func removeAuthenticators(
    of account: String, on deviceIDs: [String]
  ) throws(DatabaseError) {
    for statement in transaction.rooms.flatMap(\.whenAuthenticatorsEnd) {
      _ = try transaction.connection.execute(statement, [.text(account)])
    }
    for deviceID in deviceIDs {
      _ = try transaction.connection.execute(
        """
        UPDATE devices SET credential_hash = NULL, credential_expires_at = NULL,
          credential_trusted_at = NULL, old_credential_hash = NULL,
          old_credential_expires_at = NULL, old_credential_trusted_at = NULL
        WHERE id = ?
        """,
        [.text(deviceID)])
      try removeKeys(of: deviceID)
    }
  }

  /// Whether the account has a passkey or a biometric key.
  func hasAuthenticators(_ account: String) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      """
      SELECT EXISTS (SELECT 1 FROM passkeys WHERE account_id = ?)
        OR EXISTS (SELECT 1 FROM devices d JOIN biometric_keys k ON k.device_id = d.id
          WHERE d.account_id = ?)
      """,
      [.text(account), .text(account)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Removes the account's biometric keys and device credentials that were set up without a proof.
  func removeUntrusted(of account: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      DELETE k FROM biometric_keys k JOIN devices d ON d.id = k.device_id
      WHERE d.account_id = ? AND k.trusted_at > k.enrolled_at
      """,
      [.text(account)])
    _ = try transaction.connection.execute(
      """
      UPDATE devices SET old_credential_hash = NULL, old_credential_expires_at = NULL
      WHERE account_id = ? AND old_credential_trusted_at IS NULL
      """,
      [.text(account)])
    // A trusted credential whose successor is not trusted is the newest again. MariaDB assigns from left
    // to right.
    _ = try transaction.connection.execute(
      """
      UPDATE devices SET credential_hash = old_credential_hash,
        credential_expires_at = old_credential_expires_at,
        credential_trusted_at = old_credential_trusted_at, credential_made_at = NULL,
        old_credential_hash = NULL, old_credential_expires_at = NULL,
        old_credential_trusted_at = NULL
      WHERE account_id = ? AND credential_trusted_at IS NULL
      """,
      [.text(account)])
  }

  /// Removes what the rooms keep only for devices in use.
  private func removeKeys(of deviceID: String) throws(DatabaseError) {
    for statement in transaction.rooms.flatMap(\.whenDeviceIsRevoked) {
      _ = try transaction.connection.execute(statement, [.text(deviceID)])
    }
  }

  private func markRevoked(_ deviceID: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE devices SET revoked_at = ?, credential_hash = NULL, credential_expires_at = NULL,
        credential_trusted_at = NULL, old_credential_hash = NULL, old_credential_expires_at = NULL,
        old_credential_trusted_at = NULL
      WHERE id = ?
      """,
      [.time(transaction.now), .text(deviceID)])
  }
}

extension Transaction {
  var devices: DeviceStatements { DeviceStatements(transaction: Transaction(sharing: self)) }
}

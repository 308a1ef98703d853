import Base
import MariaDB

/// Devices as requests use them.
package struct Devices: Sendable {
  let records: Records

  /// Keeps a registration until somebody signs in on the device. It changes nothing of a device
  /// that has signed in.
  ///
  /// - Throws: ``RateLimited`` at more than 60 an hour from one address.
  package func register(_ device: DeviceRegistration) throws {
    try records.transaction { transaction in
      try transaction.limits.count(.deviceRegistrations, of: records.origin.address)
      _ = try transaction.connection.execute(
        """
        INSERT INTO device_registrations (client_device_id, address, name, platform, push_token,
          credential_hash, credential_expires_at, registered_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON DUPLICATE KEY UPDATE name = VALUES(name), platform = VALUES(platform),
          push_token = VALUES(push_token), credential_hash = VALUES(credential_hash),
          credential_expires_at = VALUES(credential_expires_at), registered_at = VALUES(registered_at)
        """,
        [
          .text(device.clientDeviceID), .text(records.origin.storedAddress), .text(device.name),
          .text(device.platform.rawValue), .text(device.pushToken?.text),
          .bytes(device.credentialHash), .time(device.credentialExpiresAt), .time(records.now),
        ])
      try transaction.audit.write(.deviceRegistered)
    }
  }

  /// The devices of the caller's account that are not revoked, with the caller's own; the last used
  /// first.
  ///
  /// - Throws: ``Refusal``.
  package func list(for caller: Caller) throws -> [Device] {
    try records.read { transaction in
      _ = try transaction.sessions.live(caller)
      return try transaction.devices.list(of: caller.accountID)
    }
  }

  /// Revokes a device of the caller's account: ends its sessions, and removes its push tokens, its
  /// credential and what other rooms keep only for devices in use.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false where the account has no such device.
  package func revoke(_ clientDeviceID: String, by caller: Caller) throws -> Bool {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let locked = try transaction.devices.lock(clientDeviceID, of: caller.accountID)
      _ = try transaction.sessions.live(caller)
      guard let id = locked else { return false }
      try transaction.devices.markRevoked(id)
      try transaction.sessions.end(of: id, because: .deviceRevoked)
      try transaction.pushTokens.removeAll(of: id)
      for statement in transaction.rooms.flatMap(\.whenDeviceIsRevoked) {
        _ = try transaction.connection.execute(statement, [.text(id)])
      }
      try transaction.audit.write(.deviceRevoked, account: caller.accountID, device: id)
      return true
    }
  }
}

extension Records {
  package var devices: Devices { Devices(records: self) }
}

/// Statements on `devices`.
struct DeviceStatements: ~Copyable {
  let transaction: Transaction

  /// The id of the account's device, revoked or not; nil where it has none.
  ///
  /// Without an account it runs the same statement, so that the time does not tell.
  func id(
    of clientDeviceID: String, account: Account?
  ) throws(DatabaseError) -> String? {
    // An id that nobody has: MariaDB does not look for NULL.
    let accountID = account?.id ?? "00000000-0000-0000-0000-000000000000"
    return try transaction.connection.row(
      "SELECT id FROM devices WHERE account_id = ? AND client_device_id = ?",
      [.text(accountID), .text(clientDeviceID)]
    ) { row in row.text(0) }
  }

  /// Keeps the account's device from changing before the transaction's end.
  ///
  /// - Returns: its id; nil where there is none, or it is revoked.
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

  func platform(of deviceID: String) throws(DatabaseError) -> DevicePlatform {
    try transaction.connection.row(
      "SELECT platform FROM devices WHERE id = ?", [.text(deviceID)]
    ) { row in DevicePlatform(row: row, 0) }!  // the id is a live session's
  }

  fileprivate func list(of account: String) throws(DatabaseError) -> [Device] {
    try transaction.connection.rows(
      """
      SELECT d.id, d.client_device_id, d.name, d.platform, d.created_at, d.last_used_at,
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

  fileprivate func markRevoked(_ deviceID: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE devices SET revoked_at = ?, credential_hash = NULL, credential_expires_at = NULL
      WHERE id = ?
      """,
      [.time(transaction.now), .text(deviceID)])
  }
}

extension Transaction {
  var devices: DeviceStatements { DeviceStatements(transaction: Transaction(sharing: self)) }
}

extension Device {
  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    clientDeviceID = row.text(1)
    name = row.text(2)
    platform = DevicePlatform(row: row, 3)
    createdAt = row.timestamp(4)
    lastUsedAt = row.timestamp(5)
    pushEnabled = row.boolean(6)
    biometricEnabled = row.boolean(7)
  }
}

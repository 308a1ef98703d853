import Base
import MariaDB

/// Statements on the credentials of devices and of registrations.
extension DeviceStatements {
  /// Stores a registration again, under the credential of the registration that it shows, from whichever
  /// address.
  ///
  /// - Returns: false if no registration of the phone has this credential.
  @discardableResult
  func keep(
    _ device: DeviceRegistration, showing hash: [UInt8], until expiresAt: Timestamp
  ) throws(DatabaseError) -> Bool {
    guard try lockRegistration(with: hash, of: device.clientDeviceID) != nil else { return false }
    _ = try transaction.connection.execute(
      """
      UPDATE device_registrations SET name = ?, platform = ?, push_token = ?,
        credential_expires_at = ?, registered_at = ?
      WHERE credential_hash = ? AND client_device_id = ?
      """,
      [
        .text(device.name), .text(device.platform.rawValue), .text(device.pushToken?.text),
        .time(expiresAt), .time(transaction.now), .bytes(hash), .text(device.clientDeviceID),
      ])
    return true
  }

  /// The registration of the phone that has this credential. Keeps it from changing before the transaction's end.
  func lockRegistration(
    with hash: [UInt8], of clientDeviceID: String
  ) throws(DatabaseError) -> PendingRegistration? {
    try transaction.connection.row(
      """
      SELECT name, platform, push_token, credential_hash, credential_expires_at
      FROM device_registrations
      WHERE credential_hash = ? AND client_device_id = ? AND credential_expires_at > ? FOR UPDATE
      """,
      [.bytes(hash), .text(clientDeviceID), .time(transaction.now)]
    ) { row in PendingRegistration(row: row, clientDeviceID: clientDeviceID) }
  }

  /// Removes the registration of the phone that has this credential.
  func removeRegistration(
    with hash: [UInt8], of clientDeviceID: String
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "DELETE FROM device_registrations WHERE credential_hash = ? AND client_device_id = ?",
      [.bytes(hash), .text(clientDeviceID)])
  }

  /// Gives the device the credential of a registration, which was shown.
  ///
  /// - Parameter trustedAt: nil: the credential proves nothing.
  func setCredential(
    _ hash: [UInt8], until expiresAt: Timestamp, trustedAt: Timestamp?, of deviceID: String
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE devices SET credential_hash = ?, credential_expires_at = ?, credential_trusted_at = ?,
        credential_made_at = NULL, old_credential_hash = NULL, old_credential_expires_at = NULL,
        old_credential_trusted_at = NULL
      WHERE id = ?
      """,
      [.bytes(hash), .time(expiresAt), .time(trustedAt), .text(deviceID)])
  }

  /// Forgets the credential before the newest, which has been used, and so has arrived. Safe to repeat.
  func confirmCredential(_ hash: [UInt8], of deviceID: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE devices SET old_credential_hash = NULL, old_credential_expires_at = NULL,
        old_credential_trusted_at = NULL
      WHERE id = ? AND credential_hash = ? AND old_credential_hash IS NOT NULL
      """,
      [.text(deviceID), .bytes(hash)])
  }
}

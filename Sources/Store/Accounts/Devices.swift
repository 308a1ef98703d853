package import Base
import Cryptography
import MariaDB

package enum DevicePlatform: String, Sendable, CaseIterable {
  case ios, android, macos
}

/// A device as `POST /api/mobile/device/register` describes it.
package struct DeviceRegistration: Sendable {
  package let clientDeviceID: String
  package let name: String
  package let platform: DevicePlatform
  package let pushToken: PushToken?
  /// SHA-256 of the credential that is handed out.
  package let credentialHash: [UInt8]
  package let credentialExpiresAt: Timestamp

  package init(
    clientDeviceID: String, name: String, platform: DevicePlatform, pushToken: PushToken?,
    credentialHash: [UInt8], credentialExpiresAt: Timestamp
  ) {
    self.clientDeviceID = clientDeviceID
    self.name = name
    self.platform = platform
    self.pushToken = pushToken
    self.credentialHash = credentialHash
    self.credentialExpiresAt = credentialExpiresAt
  }
}

/// The device on which somebody signs in, as the request describes it.
package struct SigningDevice: Sendable {
  package let clientDeviceID: String
  package var name: String?
  package var platform: DevicePlatform?
  /// SHA-256 of the `X-Device-Credential` that came along, if one did.
  package let credentialHash: [UInt8]?

  package init(
    clientDeviceID: String, name: String?, platform: DevicePlatform?, credentialHash: [UInt8]?
  ) {
    self.clientDeviceID = clientDeviceID
    self.name = name
    self.platform = platform
    self.credentialHash = credentialHash
  }
}

/// A device of an account, as `GET /api/mobile/devices` shows it.
package struct Device: Sendable {
  package let id: String
  package let clientDeviceID: String
  package let name: String
  package let platform: DevicePlatform
  package let createdAt: Timestamp
  package let lastUsedAt: Timestamp
  package let biometricEnabled: Bool
  package let pushEnabled: Bool
}

/// The credential of a device, as the database knows it.
struct StoredCredential {
  private let hash: [UInt8]
  private let expiresAt: Timestamp

  init?(row: borrowing Row, hash column: Int, expiresAt expiry: Int) {
    guard !row.isNull(column) else { return nil }
    hash = row.bytes(column)
    expiresAt = Timestamp(milliseconds: row.milliseconds(expiry))
  }

  func matches(_ presented: [UInt8], at now: Timestamp) -> Bool {
    isEqualInConstantTime(hash, presented) && expiresAt > now
  }
}

extension Database {
  /// Keeps a registration until somebody signs in on the device. It changes nothing of a device
  /// that has signed in.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` at more than 60 an hour from one address.
  package func register(
    _ device: DeviceRegistration, from origin: Origin, at now: Timestamp
  ) throws {
    try pool.transaction { connection in
      try connection.count(.deviceRegistrations, of: origin.address, at: now)
      _ = try connection.execute(
        """
        INSERT INTO device_registrations (client_device_id, address, name, platform, push_token,
          credential_hash, credential_expires_at, registered_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON DUPLICATE KEY UPDATE name = VALUES(name), platform = VALUES(platform),
          push_token = VALUES(push_token), credential_hash = VALUES(credential_hash),
          credential_expires_at = VALUES(credential_expires_at), registered_at = VALUES(registered_at)
        """,
        [
          .text(device.clientDeviceID), .text(origin.address.cut(to: 45)), .text(device.name),
          .text(device.platform.rawValue), .text(device.pushToken?.text),
          .bytes(device.credentialHash), .time(device.credentialExpiresAt), .time(now),
        ])
      try connection.audit(.deviceRegistered, from: origin, at: now)
    }
  }

  /// The account's devices that are not revoked, the caller's among them; newest use first.
  ///
  /// - Throws: ``Refusal``.
  package func devices(of caller: Caller, at now: Timestamp) throws -> [Device] {
    try pool.read { connection in
      _ = try connection.live(caller, at: now)
      return try connection.devices(of: caller.accountID)
    }
  }

  /// Revokes a device of the caller's account: its sessions end, its push tokens, its credential,
  /// its biometric key and its attested keys go.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false where the account has no such device.
  package func revokeDevice(
    _ clientDeviceID: String, by caller: Caller, at now: Timestamp
  ) throws -> Bool {
    try pool.transaction { connection in
      try connection.hold(caller)
      let held = try connection.holdDevice(clientDeviceID, of: caller.accountID)
      _ = try connection.live(caller, at: now)
      guard let id = held else { return false }
      _ = try connection.execute(
        """
        UPDATE devices SET revoked_at = ?, credential_hash = NULL, credential_expires_at = NULL
        WHERE id = ?
        """,
        [.time(now), .text(id)])
      try connection.endSessions(of: id, because: .deviceRevoked, at: now)
      try connection.removePushTokens(of: id)
      try connection.removeBiometricKey(of: id)
      try connection.removeAttestedKeys(of: id)
      try connection.audit(
        .deviceRevoked, account: caller.accountID, device: id, from: caller.origin, at: now)
      return true
    }
  }

  /// Makes `token` the one push token of the caller's device.
  ///
  /// - Parameter platform: nil means the device's own.
  /// - Throws: ``Refusal``.
  package func setPushToken(
    _ token: PushToken, platform: DevicePlatform?, by caller: Caller, at now: Timestamp
  ) throws {
    try pool.transaction { connection in
      try connection.hold(caller)
      let session = try connection.live(caller, at: now)
      let platform = try platform ?? connection.platform(of: session.deviceID)
      try connection.removePushTokens(of: session.deviceID, except: token)
      try connection.store(token, platform: platform, of: session.deviceID, at: now)
      try connection.audit(
        .pushTokenSet, account: caller.accountID, device: session.deviceID, from: caller.origin,
        at: now)
    }
  }

  /// Removes the push tokens of a device of the caller's account.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false where the account has no such device.
  package func clearPushTokens(
    ofDevice clientDeviceID: String, by caller: Caller, at now: Timestamp
  ) throws -> Bool {
    try pool.transaction { connection in
      try connection.hold(caller)
      let held = try connection.holdDevice(clientDeviceID, of: caller.accountID)
      _ = try connection.live(caller, at: now)
      guard let id = held else { return false }
      try connection.removePushTokens(of: id)
      try connection.audit(
        .pushTokenRemoved, account: caller.accountID, device: id, from: caller.origin, at: now)
      return true
    }
  }
}

extension Connection {
  func devices(of account: String) throws(DatabaseError) -> [Device] {
    try rows(
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
    ) { row in
      Device(
        id: row.text(0), clientDeviceID: row.text(1), name: row.text(2),
        platform: DevicePlatform(row: row, 3),
        createdAt: Timestamp(milliseconds: row.milliseconds(4)),
        lastUsedAt: Timestamp(milliseconds: row.milliseconds(5)), biometricEnabled: row.boolean(7),
        pushEnabled: row.boolean(6))
    }
  }

  fileprivate func platform(of deviceID: String) throws(DatabaseError) -> DevicePlatform {
    try row("SELECT platform FROM devices WHERE id = ?", [.text(deviceID)]) { row in
      DevicePlatform(row: row, 0)
    }!  // the id is a live session's
  }

  /// Keeps the account's device from changing before the transaction's end.
  ///
  /// - Returns: its id; nil where there is none, or it is revoked.
  fileprivate func holdDevice(
    _ clientDeviceID: String, of account: String
  ) throws(DatabaseError) -> String? {
    try row(
      """
      SELECT id FROM devices WHERE account_id = ? AND client_device_id = ? AND revoked_at IS NULL
      FOR UPDATE
      """,
      [.text(account), .text(clientDeviceID)]
    ) { row in row.text(0) }
  }

  /// The same of all of the account's devices that are not revoked.
  func holdDevices(of account: String) throws(DatabaseError) -> [String] {
    try rows(
      "SELECT id FROM devices WHERE account_id = ? AND revoked_at IS NULL FOR UPDATE",
      [.text(account)]
    ) { row in row.text(0) }
  }
}

extension DevicePlatform {
  init(row: borrowing Row, _ column: Int) {
    self = DevicePlatform(rawValue: row.text(column))!  // the column is an ENUM of these words
  }
}

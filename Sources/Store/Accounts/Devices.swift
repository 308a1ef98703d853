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
      try transaction.limits.countAddress(.deviceRegistrations)
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
      try transaction.devices.revoke(id, because: .deviceRevoked)
      try transaction.audit.write(.deviceRevoked, account: caller.accountID, device: id)
      return true
    }
  }

  /// Gives a device of the caller's account another name.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false where the account has no such device.
  package func rename(
    _ clientDeviceID: String, to name: String, by caller: Caller
  ) throws -> Bool {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let locked = try transaction.devices.lock(clientDeviceID, of: caller.accountID)
      _ = try transaction.sessions.live(caller)
      guard let id = locked else { return false }
      _ = try transaction.connection.execute(
        "UPDATE devices SET name = ? WHERE id = ?", [.text(name), .text(id)])
      try transaction.audit.write(.deviceRenamed, account: caller.accountID, device: id)
      return true
    }
  }
}

extension Records {
  package var devices: Devices { Devices(records: self) }
}

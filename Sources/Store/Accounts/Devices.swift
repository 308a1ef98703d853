import MariaDB

/// Devices as requests use them.
package struct Devices: Sendable {
  let records: Records

  /// Renews a device that is signed in, or stores a registration for a later sign-in on the device.
  ///
  /// The renewed device is that of the bearer, or the one whose credential is shown. A stored
  /// registration changes nothing of a device that has signed in. A registration that shows its own
  /// credential keeps it, so that a lost answer costs nothing.
  ///
  /// - Parameters:
  ///   - issuer: makes the credential of a device that is signed in.
  ///   - shown: SHA-256 of the request's device credential, if there is one.
  ///   - bearer: the caller whom the request's access token names, if it is valid.
  /// - Throws: ``Refusal/credential(account:device:)``; ``RateLimited`` at more than 60 an hour from one
  ///   address, or of one device that is renewed.
  package func register(
    _ device: DeviceRegistration, issuer: CredentialIssuer, showing shown: [UInt8]?,
    by bearer: Caller?
  ) throws -> RegisteredCredential {
    let phone = SigningDevice(
      clientDeviceID: device.clientDeviceID, name: nil, platform: nil, credentialHash: shown)
    return try records.repeatingLostRaces { transaction in
      let renewals = transaction.renewals
      if let found = try renewals.find(phone, by: bearer) {
        return try renewals.renew(found, as: device, by: issuer)
      }
      try transaction.limits.countAddress(.deviceRegistrations)
      try transaction.audit.write(.deviceRegistered)
      if let shown,
        try transaction.devices.keep(device, showing: shown, until: device.credentialExpiresAt)
      {
        return .shown(expiresAt: device.credentialExpiresAt)
      }
      try transaction.devices.keep(device)
      return .new
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
  /// - Returns: false if the account has no such device.
  package func revoke(_ clientDeviceID: String, by caller: Caller) throws -> Bool {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let locked = try transaction.devices.lock(clientDeviceID, of: caller.accountID)
      _ = try transaction.sessions.live(caller)
      guard let id = locked else { return false }
      try transaction.devices.revoke(id, because: .deviceRevoked)
      try transaction.visits.endAll(of: caller.accountID)
      try transaction.addressChanges.withdraw(of: caller.accountID)
      try transaction.audit.write(.deviceRevoked, account: caller.accountID, device: id)
      return true
    }
  }

  /// Gives a device of the caller's account another name.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false if the account has no such device.
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

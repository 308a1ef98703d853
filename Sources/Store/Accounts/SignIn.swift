import Base
import Cryptography
import MariaDB

extension Database {
  /// Writes down a sign-in by what is not live, of one address 600 an hour: nothing else limits them.
  ///
  /// - Parameters:
  ///   - reason: what is not live, in words.
  ///   - owners: the accounts that it was an attempt at, with their devices, as far as they are known.
  func auditDeadSignIn(
    _ reason: String, from origin: Origin, at now: Timestamp,
    owners: (Connection) throws -> [(account: String?, device: String?)]
  ) throws {
    do {
      try pool.transaction { connection in
        try connection.count(.deadSignIns, of: origin.address, at: now)
        for owner in try owners(connection) {
          try connection.audit(
            .signInRefused, account: owner.account, device: owner.device, detail: reason,
            from: origin, at: now)
        }
      }
    } catch Refusal.rateLimited {
      return
    }
  }
}

extension Connection {
  /// Whether enough is known of the device for a sign-in: the request describes it, or it was
  /// registered.
  ///
  /// Whose device it is does not matter, so that the answer says nothing of any account.
  func isKnown(_ device: SigningDevice) throws(DatabaseError) -> Bool {
    if device.name != nil, device.platform != nil { return true }
    return try row(
      """
      SELECT EXISTS (SELECT 1 FROM device_registrations WHERE client_device_id = ?)
        OR EXISTS (SELECT 1 FROM devices WHERE client_device_id = ?)
      """,
      [.text(device.clientDeviceID), .text(device.clientDeviceID)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Makes the device the account's and begins a session.
  ///
  /// A pending registration gives what the request leaves out. Its push token and credential are
  /// adopted only where the sign-in shows that credential or comes from the same address: anybody
  /// may register any id.
  ///
  /// - Throws: ``Refusal/credential(account:device:)`` where a credential came along that belongs neither to a
  ///   registration nor to the device.
  func signIn(
    _ account: String, on device: SigningDevice, detail: String? = nil, from origin: Origin,
    at now: Timestamp
  ) throws -> Session {
    let registration = try registration(of: device, from: origin)
    let isShown = device.credentialHash.map {
      registration?.credential.matches($0, at: now) == true
    }
    if let hash = device.credentialHash, isShown == false {
      guard
        try credential(of: device.clientDeviceID, account: account)?.matches(hash, at: now) == true
      else { throw Refusal.credential(account: account, device: nil) }
    }
    let id = try upsert(device, of: account, registration: registration, at: now)
    if let registration, isShown == true || registration.isFromSameAddress {
      try adopt(registration, for: id, at: now)
    }
    let session = try beginSession(
      id: timeOrderedUUID(milliseconds: now.milliseconds), deviceID: id, account: account,
      clientDeviceID: device.clientDeviceID, at: now)
    try audit(.signIn, account: account, device: id, detail: detail, from: origin, at: now)
    return session
  }

  /// The registration that fits best: the one whose credential is shown, else the one from the same
  /// address, else the newest.
  private func registration(
    of device: SigningDevice, from origin: Origin
  ) throws(DatabaseError) -> PendingRegistration? {
    try row(
      """
      SELECT address, name, platform, push_token, credential_hash, credential_expires_at, address = ?
      FROM device_registrations WHERE client_device_id = ?
      ORDER BY credential_hash <=> ? DESC, address = ? DESC, registered_at DESC LIMIT 1
      """,
      [
        .text(origin.address), .text(device.clientDeviceID),
        device.credentialHash.map { .bytes($0) } ?? .null, .text(origin.address),
      ]
    ) { row in PendingRegistration(row: row, clientDeviceID: device.clientDeviceID) }
  }

  private func credential(
    of clientDeviceID: String, account: String
  ) throws(DatabaseError) -> StoredCredential? {
    try row(
      """
      SELECT credential_hash, credential_expires_at FROM devices
      WHERE account_id = ? AND client_device_id = ? AND revoked_at IS NULL
      """,
      [.text(account), .text(clientDeviceID)]
    ) { row in StoredCredential(row: row, hash: 0, expiresAt: 1) } ?? nil
  }

  /// - Returns: the device's id.
  private func upsert(
    _ device: SigningDevice, of account: String, registration: PendingRegistration?,
    at now: Timestamp
  ) throws(DatabaseError) -> String {
    let name = device.name ?? registration?.name
    let platform = device.platform ?? registration?.platform
    let id = try row(
      """
      INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE name = COALESCE(?, name), platform = COALESCE(?, platform),
        last_used_at = VALUES(last_used_at), revoked_at = NULL
      RETURNING id
      """,
      [
        .text(timeOrderedUUID(milliseconds: now.milliseconds)), .text(account),
        .text(device.clientDeviceID), .text(name ?? "Unnamed device"),
        .text((platform ?? .ios).rawValue), .time(now), .time(now), .text(name),
        .text(platform?.rawValue),
      ]
    ) { row in row.text(0) }!
    _ = try execute(
      """
      INSERT INTO device_preferences (device_id, last_updated_at) VALUES (?, ?)
      ON DUPLICATE KEY UPDATE device_id = device_id
      """,
      [.text(id), .time(now)])
    return id
  }

  private func adopt(
    _ registration: PendingRegistration, for deviceID: String, at now: Timestamp
  ) throws(DatabaseError) {
    _ = try execute(
      "UPDATE devices SET credential_hash = ?, credential_expires_at = ? WHERE id = ?",
      [
        .bytes(registration.credentialHash), .time(registration.credentialExpiresAt),
        .text(deviceID),
      ])
    if let token = registration.pushToken {
      try store(token, platform: registration.platform, of: deviceID, at: now)
    }
    _ = try execute(
      """
      DELETE FROM device_registrations
      WHERE client_device_id = ? AND address = ? AND credential_hash = ?
      """,
      [
        .text(registration.clientDeviceID), .text(registration.address),
        .bytes(registration.credentialHash),  // not one that has replaced it meanwhile
      ])
  }
}

private struct PendingRegistration {
  let clientDeviceID: String
  let address: String
  let name: String
  let platform: DevicePlatform
  let pushToken: PushToken?
  let credential: StoredCredential
  let credentialHash: [UInt8]
  let credentialExpiresAt: Timestamp
  let isFromSameAddress: Bool

  init(row: borrowing Row, clientDeviceID: String) {
    self.clientDeviceID = clientDeviceID
    address = row.text(0)
    name = row.text(1)
    platform = DevicePlatform(row: row, 2)
    pushToken = row.optionalText(3).flatMap { PushToken($0) }
    credential = StoredCredential(row: row, hash: 4, expiresAt: 5)!  // the column is NOT NULL
    credentialHash = row.bytes(4)
    credentialExpiresAt = Timestamp(milliseconds: row.milliseconds(5))
    isFromSameAddress = row.boolean(6)
  }
}

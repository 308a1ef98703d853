import Base
import Cryptography
import MariaDB

/// A device that is signed in and registers again.
struct RenewedDevice {
  /// The trust in its new credential.
  enum Trust {
    /// Trusted, like the credential that was shown.
    case kept
    /// A proof began the bearer's session within the last ten minutes.
    case proven
    /// Only a bearer was shown: the credential proves nothing.
    case none
  }

  let device: CredentialedDevice
  let trust: Trust
  /// The credential of the device that was shown.
  let shown: DeviceCredentials.Shown?
  /// SHA-256 of the credential that was shown, if it is that of a registration on the phone.
  let registrationHash: [UInt8]?
  /// The bearer's session; nil if none was shown.
  let sessionID: String?
}

/// Statements that renew the registration of a device that is signed in.
struct DeviceRenewalStatements: ~Copyable {
  let transaction: Transaction

  /// The device that registers again: the device of a live session, or the device whose trusted
  /// credential is shown.
  ///
  /// A bearer may be stolen. So a credential that comes with only a bearer proves nothing, unless a
  /// proof began the session just before. A credential that is not trusted may be a stranger's and
  /// renews nothing. With a bearer, the credential of another account on the phone, or of a registration
  /// there, counts as none.
  ///
  /// - Throws: ``Refusal/credential(account:device:)`` if the credential is none of the phone.
  func find(_ phone: SigningDevice, by bearer: Caller?) throws -> RenewedDevice? {
    if let bearer, bearer.clientDeviceID == phone.clientDeviceID {
      if let id = try transaction.sessions.deviceID(of: bearer), let own = try device(id) {
        return try find(own, of: phone, by: bearer)
      }
    }
    guard let hash = phone.credentialHash else { return nil }
    // The first read of the transaction locks, so that all later ones see current rows.
    guard let holder = try lockHolder(of: hash, on: phone.clientDeviceID) else {
      guard try transaction.knownDevices.isOfPhone(hash, phone.clientDeviceID) else {
        throw Refusal.credential(account: nil, device: nil)
      }
      return nil
    }
    guard let shown = holder.credentials.shown(hash, at: transaction.now),
      holder.credential(shown)?.trustedAt != nil
    else { return nil }
    return RenewedDevice(
      device: holder, trust: .kept, shown: shown, registrationHash: nil, sessionID: nil)
  }

  private func find(
    _ own: CredentialedDevice, of phone: SigningDevice, by bearer: Caller
  ) throws -> RenewedDevice {
    var shown: DeviceCredentials.Shown?
    var registrationHash: [UInt8]?
    if let hash = phone.credentialHash {
      shown = own.credentials.shown(hash, at: transaction.now)
      if shown == nil, try holder(of: hash, on: phone.clientDeviceID) == nil {
        guard try transaction.knownDevices.isOfPhone(hash, phone.clientDeviceID) else {
          throw Refusal.credential(account: bearer.accountID, device: own.id)
        }
        registrationHash = hash
      }
    }
    let trust: RenewedDevice.Trust
    if let shown, own.credential(shown)?.trustedAt != nil {
      trust = .kept
    } else {
      trust = try transaction.sessions.isFreshlyProven(bearer) ? .proven : .none
    }
    return RenewedDevice(
      device: own, trust: trust, shown: shown, registrationHash: registrationHash,
      sessionID: bearer.sessionID)
  }

  private func device(_ id: String) throws(DatabaseError) -> CredentialedDevice? {
    try transaction.connection.row(
      """
      SELECT id, account_id, credential_hash, credential_expires_at, old_credential_hash,
        old_credential_expires_at, credential_trusted_at, old_credential_trusted_at,
        credential_number, credential_made_at, credential_made_for
      FROM devices WHERE id = ?
      """,
      [.text(id)]
    ) { row in CredentialedDevice(row: row) }
  }

  /// The device on the phone whose credential this is; nil also if the credential has expired.
  private func holder(
    of hash: [UInt8], on clientDeviceID: String
  ) throws(DatabaseError) -> CredentialedDevice? {
    let now = Parameter.time(transaction.now)
    return try transaction.connection.row(
      """
      SELECT id, account_id, credential_hash, credential_expires_at, old_credential_hash,
        old_credential_expires_at, credential_trusted_at, old_credential_trusted_at,
        credential_number, credential_made_at, credential_made_for
      FROM devices WHERE client_device_id = ? AND revoked_at IS NULL
        AND (credential_hash = ? AND credential_expires_at > ?
          OR old_credential_hash = ? AND old_credential_expires_at > ?)
      """,
      [.text(clientDeviceID), .bytes(hash), now, .bytes(hash), now]
    ) { row in CredentialedDevice(row: row) }
  }

  /// Returns the device like ``holder(of:on:)``, and keeps it from changing before the transaction's end.
  private func lockHolder(
    of hash: [UInt8], on clientDeviceID: String
  ) throws(DatabaseError) -> CredentialedDevice? {
    let now = Parameter.time(transaction.now)
    return try transaction.connection.row(
      """
      SELECT id, account_id, credential_hash, credential_expires_at, old_credential_hash,
        old_credential_expires_at, credential_trusted_at, old_credential_trusted_at,
        credential_number, credential_made_at, credential_made_for
      FROM devices WHERE client_device_id = ? AND revoked_at IS NULL
        AND (credential_hash = ? AND credential_expires_at > ?
          OR old_credential_hash = ? AND old_credential_expires_at > ?)
      FOR UPDATE
      """,
      [.text(clientDeviceID), .bytes(hash), now, .bytes(hash), now]
    ) { row in CredentialedDevice(row: row) }
  }

  /// Gives the device the name and platform of the registration, its push token if it has one, and a
  /// credential.
  ///
  /// Calls that an app makes at once get the same credential. The one before stays good until the new one
  /// is used, because the answer may be lost.
  ///
  /// - Throws: ``LostRace``; ``RateLimited`` at more than 60 an hour.
  func renew(
    _ renewed: RenewedDevice, as device: DeviceRegistration, by issuer: CredentialIssuer
  ) throws -> RegisteredCredential {
    let id = renewed.device.id
    try transaction.limits.count(.deviceRenewals, of: id)
    try describe(renewed, as: device)
    if let hash = renewed.registrationHash {
      return try adopt(hash, for: renewed, as: device)
    }
    if let newest = renewed.device.newest,
      let text = sameAgain(newest, of: renewed, on: device.clientDeviceID, by: issuer)
    {
      try audit(renewed, "renewed, the same credential")
      return .ofDevice(text, expiresAt: newest.expiresAt)
    }
    let text = issuer.credential(
      renewed.device.number + 1, of: id, on: device.clientDeviceID)
    let expiresAt = transaction.now + CredentialIssuer.lifetime
    try replaceCredential(of: renewed, with: sha256(text), until: expiresAt)
    try audit(renewed, "renewed")
    try tellOwner(of: renewed)
    return .ofDevice(text, expiresAt: expiresAt)
  }

  private func describe(
    _ renewed: RenewedDevice, as device: DeviceRegistration
  ) throws(DatabaseError) {
    let id = renewed.device.id
    _ = try transaction.connection.execute(
      "UPDATE devices SET name = ?, platform = ? WHERE id = ? AND revoked_at IS NULL",
      [.text(device.name), .text(device.platform.rawValue), .text(id)])
    guard let token = device.pushToken else { return }
    try transaction.pushTokens.removeAll(of: id, except: token)
    try transaction.pushTokens.store(token, platform: PushPlatform(device.platform), of: id)
  }

  /// The newest credential, if this call belongs to those that got it; nil if it has been used.
  private func sameAgain(
    _ newest: CredentialedDevice.Credential, of renewed: RenewedDevice,
    on clientDeviceID: String, by issuer: CredentialIssuer
  ) -> String? {
    let device = renewed.device
    guard device.old != nil, renewed.shown != .newest, let madeAt = device.madeAt,
      device.network == transaction.origin.refreshNetwork,
      transaction.now - madeAt.past(at: transaction.now) <= RefreshFamily.parallelTime,
      // A bearer alone never gets a credential that is a proof.
      (newest.trustedAt != nil) == (renewed.trust != .none)
    else { return nil }
    return issuer.credential(
      device.number, of: device.id, on: clientDeviceID, hashed: newest.hash)
  }

  /// Makes another credential the newest. The one that was shown becomes the old one; if none was shown,
  /// that is the last one that has been used.
  ///
  /// - Throws: ``LostRace``.
  private func replaceCredential(
    of renewed: RenewedDevice, with hash: [UInt8], until expiresAt: Timestamp
  ) throws {
    let now = transaction.now
    let device = renewed.device
    let used =
      if let shown = renewed.shown { device.credential(shown) } else { device.old ?? device.newest }
    let trustedAt: Timestamp? =
      switch renewed.trust {
      case .kept: used?.trustedAt
      case .proven: now
      case .none: nil
      }
    let changed = try transaction.connection.execute(
      """
      UPDATE devices SET credential_number = credential_number + 1, credential_hash = ?,
        credential_expires_at = ?, credential_trusted_at = ?, credential_made_at = ?,
        credential_made_for = ?, old_credential_hash = ?, old_credential_expires_at = ?,
        old_credential_trusted_at = ?
      WHERE id = ? AND revoked_at IS NULL AND credential_number = ? AND credential_hash <=> ?
        AND old_credential_hash <=> ?
      """,
      [
        .bytes(hash), .time(expiresAt), .time(trustedAt), .time(now),
        .text(transaction.origin.refreshNetwork), parameter(used), .time(used?.expiresAt),
        .time(used?.trustedAt), .text(device.id), .integer(device.number),
        parameter(device.newest), parameter(device.old),
      ])
    guard changed == 1 else { throw LostRace() }
  }

  private func parameter(_ credential: CredentialedDevice.Credential?) -> Parameter {
    credential.map { .bytes($0.hash) } ?? .null
  }

  /// Makes the credential of a registration that of the device. A trusted credential of the device stays
  /// instead: everyone may register the id of a phone.
  private func adopt(
    _ hash: [UInt8], for renewed: RenewedDevice, as device: DeviceRegistration
  ) throws -> RegisteredCredential {
    let expiresAt = transaction.now + CredentialIssuer.lifetime
    if renewed.trust == .none, renewed.device.isTrusted(at: transaction.now) {
      try transaction.devices.keep(device, showing: hash, until: expiresAt)
      try audit(renewed, "renewed, with the credential of a registration")
    } else {
      let registration = try transaction.devices.lockRegistration(
        with: hash, of: device.clientDeviceID)
      if let token = registration?.pushToken,
        try !transaction.pushTokens.exist(on: renewed.device.id)
      {
        try transaction.pushTokens.store(
          token, platform: PushPlatform(device.platform), of: renewed.device.id)
      }
      try transaction.devices.setCredential(
        hash, until: expiresAt, trustedAt: renewed.trust == .proven ? transaction.now : nil,
        of: renewed.device.id)
      try transaction.devices.removeRegistration(with: hash, of: device.clientDeviceID)
      try audit(renewed, "renewed, with the credential of a registration")
      try tellOwner(of: renewed)
    }
    return .shown(expiresAt: expiresAt)
  }

  private func audit(_ renewed: RenewedDevice, _ detail: String) throws(DatabaseError) {
    try transaction.audit.write(
      .deviceRegistered, account: renewed.device.accountID, device: renewed.device.id,
      detail: detail)
  }

  private func tellOwner(of renewed: RenewedDevice) throws(DatabaseError) {
    guard renewed.trust == .none, let session = renewed.sessionID else { return }
    try transaction.notices.tell(.deviceRenewed, of: session)
  }
}

extension Transaction {
  var renewals: DeviceRenewalStatements {
    DeviceRenewalStatements(transaction: Transaction(sharing: self))
  }
}

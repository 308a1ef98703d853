import Base
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

  let id: String
  let accountID: String
  let trust: Trust
  /// SHA-256 of the credential that was shown; nil: the bearer alone.
  let shownHash: [UInt8]?
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
  /// renews nothing.
  ///
  /// - Throws: ``Refusal/credential(account:device:)`` if bearer and credential belong to two
  ///   accounts.
  func find(_ phone: SigningDevice, by bearer: Caller?) throws -> RenewedDevice? {
    if let bearer { try transaction.sessions.lock(bearer) }
    let holder = try credentialHolder(phone)
    guard let bearer, bearer.clientDeviceID == phone.clientDeviceID,
      let own = try device(of: bearer)
    else { return holder?.trust == .kept ? holder : nil }
    if let holder {
      guard holder.id == own else {
        throw Refusal.credential(account: bearer.accountID, device: own)
      }
      if holder.trust == .kept { return holder }
    }
    let isProven = try transaction.sessions.isFreshlyProven(bearer)
    return RenewedDevice(
      id: own, accountID: bearer.accountID, trust: isProven ? .proven : .none,
      shownHash: holder?.shownHash, sessionID: bearer.sessionID)
  }

  /// The device whose credential is shown, trusted or not.
  private func credentialHolder(
    _ phone: SigningDevice
  ) throws(DatabaseError) -> RenewedDevice? {
    guard case .proven(let id) = try transaction.knownDevices.find(phone) else { return nil }
    return try transaction.connection.row(
      "SELECT account_id, credential_trusted_at IS NOT NULL FROM devices WHERE id = ?", [.text(id)]
    ) { row in
      RenewedDevice(
        id: id, accountID: row.text(0), trust: row.boolean(1) ? .kept : .none,
        shownHash: phone.credentialHash, sessionID: nil)
    }
  }

  /// The device of the bearer's session; nil if the session has ended.
  private func device(of bearer: Caller) throws(DatabaseError) -> String? {
    try transaction.connection.row(
      """
      SELECT s.device_id FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      """,
      [.text(bearer.sessionID), .time(transaction.now)]
    ) { row in row.text(0) }
  }

  /// Gives the device the name, platform and credential of the registration, and its push token if it
  /// has one.
  ///
  /// - Throws: ``RateLimited`` at more than 60 an hour.
  func renew(_ renewed: RenewedDevice, as device: DeviceRegistration) throws {
    try transaction.limits.count(.deviceRenewals, of: renewed.id)
    let changed = try transaction.connection.execute(
      """
      UPDATE devices SET name = ?, platform = ?, credential_hash = ?, credential_expires_at = ?,
        credential_trusted_at = IF(?, credential_trusted_at, ?)
      WHERE id = ? AND revoked_at IS NULL AND credential_hash <=> COALESCE(?, credential_hash)
      """,
      [
        .text(device.name), .text(device.platform.rawValue), .bytes(device.credentialHash),
        .time(device.credentialExpiresAt), .boolean(renewed.trust == .kept),
        .time(renewed.trust == .proven ? transaction.now : nil), .text(renewed.id),
        renewed.shownHash.map { .bytes($0) } ?? .null,
      ])
    guard changed == 1 else { throw LostRace() }
    if let token = device.pushToken {
      try transaction.pushTokens.removeAll(of: renewed.id, except: token)
      try transaction.pushTokens.store(
        token, platform: PushPlatform(device.platform), of: renewed.id)
    }
    try transaction.audit.write(
      .deviceRegistered, account: renewed.accountID, device: renewed.id, detail: "renewed")
    if renewed.trust == .none, let session = renewed.sessionID {
      try transaction.notices.tell(.deviceRenewed, of: session)
    }
  }
}

extension Transaction {
  var renewals: DeviceRenewalStatements {
    DeviceRenewalStatements(transaction: Transaction(sharing: self))
  }
}

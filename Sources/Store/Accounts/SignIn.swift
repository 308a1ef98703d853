import Base
import Cryptography
import MariaDB

/// The result of a sign-in with a code or a passkey.
package enum SignInOutcome: Sendable {
  case signedIn(Account, Session)
  /// The code or the assertion is wrong, expired or used up.
  case refused
  /// The challenge was live, and no account has the passkey any more.
  case unknownPasskey
}

/// Sign-ins as requests use them.
package struct SignIns: Sendable {
  let records: Records

  /// Audits a sign-in whose code or challenge is not live.
  ///
  /// - Parameters:
  ///   - reason: the thing that is not live, in words.
  ///   - owners: the accounts that the sign-in was meant for and their devices, as far as they are
  ///     known.
  func auditDead(
    _ reason: String,
    owners: (borrowing Transaction) throws -> [(account: String?, device: String?)]
  ) throws {
    try records.transaction { transaction in
      for owner in try owners(transaction) {
        try transaction.audit.write(
          .signInRefused, account: owner.account, device: owner.device, detail: reason)
      }
    }
  }
}

extension Records {
  package var signIns: SignIns { SignIns(records: self) }
}

/// Statements that give a device to an account.
struct SignInStatements: ~Copyable {
  let transaction: Transaction

  /// Whether enough is known about the device for a sign-in: the request describes it, or it is
  /// registered.
  ///
  /// Devices of all accounts count, so that the answer reveals nothing about any account.
  func isKnown(_ device: SigningDevice) throws(DatabaseError) -> Bool {
    if device.name != nil, device.platform != nil { return true }
    return try transaction.connection.row(
      """
      SELECT EXISTS (SELECT 1 FROM device_registrations WHERE client_device_id = ?)
        OR EXISTS (SELECT 1 FROM devices WHERE client_device_id = ?)
      """,
      [.text(device.clientDeviceID), .text(device.clientDeviceID)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Whether the request shows the credential of a registration of the phone.
  func showsRegistration(_ device: SigningDevice) throws(DatabaseError) -> Bool {
    guard let hash = device.credentialHash else { return false }
    return try transaction.devices.lockRegistration(with: hash, of: device.clientDeviceID) != nil
  }

  /// Gives the device to the account and begins a session.
  ///
  /// If the sign-in shows the credential of a pending registration, the device gets the registration's
  /// description, push token and credential. Otherwise the registration waits for whoever shows its credential:
  /// everyone may sign in on any id, also strangers in the same network. It only fills in the name and platform of a new
  /// device, if the request omits that.
  ///
  /// An earlier session of the device ends.
  ///
  /// - Throws: ``Refusal/credential(account:device:)`` if the request's credential does not belong to
  ///   the phone; ``Refusal/banned(account:)``; ``Refusal/sessionEnded``
  ///   if the account is deleted meanwhile.
  func begin(
    _ account: String, on device: SigningDevice, by beginning: SessionBeginning,
    detail: String? = nil
  ) throws -> Session {
    try transaction.accounts.lockOpen(account)
    let own = try ownDevice(device.clientDeviceID, of: account)
    let shown = try shownCredential(of: device, own, account: account)
    let id = try upsert(
      device, of: account,
      describedAs: try description(of: device, isNew: own == nil, showing: shown))
    switch shown {
    case .registration(let registration):
      let isTrusted = beginning != .untrustedKey
      try adopt(registration, for: id, trustedAt: isTrusted ? transaction.now : nil)
    case .own(let hash):
      if beginning.isProof { try trustCredential(hash, of: id) }
      try transaction.devices.confirmCredential(hash, of: id)
    case .none: break
    }
    try transaction.sessions.endAll(of: id, because: .signedInAgain)
    let session = try transaction.sessions.begin(
      deviceID: id, account: account, clientDeviceID: device.clientDeviceID, by: beginning)
    try transaction.audit.write(.signIn, account: account, device: id, detail: detail)
    if let language = device.language { try keep(language, of: account) }
    if own == nil { try transaction.notices.tell(.newDevice, of: session.id) }
    return session
  }

  /// The owner of the credential that `device` shows. That of another account on the phone counts as none: the
  /// phone does not know which account it belongs to.
  private func shownCredential(
    of device: SigningDevice, _ own: OwnDevice?, account: String
  ) throws -> ShownCredential {
    guard let hash = device.credentialHash else { return .none }
    if let registration = try transaction.devices.lockRegistration(
      with: hash, of: device.clientDeviceID)
    {
      return .registration(registration)
    }
    if own?.credentials.shown(hash, at: transaction.now) != nil { return .own(hash) }
    guard try transaction.knownDevices.isOfPhone(hash, device.clientDeviceID) else {
      throw Refusal.credential(account: account, device: nil)
    }
    return .none
  }

  /// The name and the platform that a registration has for the device, if they are to be used.
  private func description(
    of device: SigningDevice, isNew: Bool, showing shown: ShownCredential
  ) throws(DatabaseError) -> (name: String, platform: DevicePlatform)? {
    if case .registration(let registration) = shown {
      return (registration.name, registration.platform)
    }
    guard isNew, device.name == nil || device.platform == nil else { return nil }
    return try transaction.connection.row(
      """
      SELECT name, platform FROM device_registrations WHERE client_device_id = ?
      ORDER BY address = ? DESC, registered_at DESC LIMIT 1
      """,
      [.text(device.clientDeviceID), .text(transaction.origin.address)]
    ) { row in (row.text(0), DevicePlatform(row: row, 1)) }
  }

  /// The account's device, if it already exists; nil also if it was revoked. Keeps it from changing before the
  /// transaction's end.
  ///
  /// Found before it is locked: a lock of a device that does not exist would make other sign-ups wait.
  private func ownDevice(
    _ clientDeviceID: String, of account: String
  ) throws(DatabaseError) -> OwnDevice? {
    let id = try transaction.connection.row(
      "SELECT id FROM devices WHERE account_id = ? AND client_device_id = ?",
      [.text(account), .text(clientDeviceID)]
    ) { row in row.text(0) }
    guard let id else { return nil }
    return try transaction.connection.row(
      """
      SELECT credential_hash, credential_expires_at, old_credential_hash, old_credential_expires_at
      FROM devices WHERE id = ? AND revoked_at IS NULL FOR UPDATE
      """,
      [.text(id)]
    ) { row in OwnDevice(credentials: DeviceCredentials(row: row, from: 0)) }
  }

  /// Sets the language of later mails.
  private func keep(_ language: Language, of account: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE accounts SET language = ? WHERE id = ? AND NOT language <=> ?",
      [.text(language.rawValue), .text(account), .text(language.rawValue)])
  }

  /// - Returns: the device's id.
  private func upsert(
    _ device: SigningDevice, of account: String,
    describedAs description: (name: String, platform: DevicePlatform)?
  ) throws(DatabaseError) -> String {
    let now = Parameter.time(transaction.now)
    let name = device.name ?? description?.name
    let platform = device.platform ?? description?.platform
    let id = try transaction.connection.row(
      """
      INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE name = COALESCE(?, name), platform = COALESCE(?, platform),
        last_used_at = VALUES(last_used_at), revoked_at = NULL
      RETURNING id
      """,
      [
        .text(transaction.makeID()), .text(account), .text(device.clientDeviceID),
        .text(name ?? "Unnamed device"), .text((platform ?? .ios).rawValue), now, now, .text(name),
        .text(platform?.rawValue),
      ]
    ) { row in row.text(0) }!  // the row that has just been written
    for statement in transaction.rooms.flatMap(\.whenDeviceIsAdded) {
      _ = try transaction.connection.execute(statement, [.text(id), now])
    }
    return id
  }

  /// Trusts a credential of a device, because it came with a proof.
  private func trustCredential(_ hash: [UInt8], of deviceID: String) throws(DatabaseError) {
    let now = Parameter.time(transaction.now)
    _ = try transaction.connection.execute(
      """
      UPDATE devices SET
        credential_trusted_at = IF(credential_hash <=> ?, COALESCE(credential_trusted_at, ?),
          credential_trusted_at),
        old_credential_trusted_at = IF(old_credential_hash <=> ?,
          COALESCE(old_credential_trusted_at, ?), old_credential_trusted_at)
      WHERE id = ?
      """,
      [.bytes(hash), now, .bytes(hash), now, .text(deviceID)])
  }

  /// - Parameter trustedAt: nil: the credential proves nothing.
  private func adopt(
    _ registration: PendingRegistration, for deviceID: String, trustedAt: Timestamp?
  ) throws(DatabaseError) {
    try transaction.devices.setCredential(
      registration.credentialHash, until: registration.credentialExpiresAt, trustedAt: trustedAt,
      of: deviceID)
    if let token = registration.pushToken {
      try transaction.pushTokens.store(
        token, platform: PushPlatform(registration.platform), of: deviceID)
    }
    try transaction.devices.removeRegistration(
      with: registration.credentialHash, of: registration.clientDeviceID)
  }
}

extension Transaction {
  var signIns: SignInStatements { SignInStatements(transaction: Transaction(sharing: self)) }
}

private struct OwnDevice {
  let credentials: DeviceCredentials
}

/// The owner of the credential that a sign-in shows.
private enum ShownCredential {
  /// The request shows none that counts.
  case none
  case registration(PendingRegistration)
  /// The account's device. The value is the credential's SHA-256.
  case own([UInt8])
}

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

  /// Gives the device to the account and begins a session.
  ///
  /// If the device is new to the account, a pending registration fills in the description that the
  /// request omits. If the sign-in shows the credential of the registration, the device gets the
  /// registration's push token and credential. If the sign-in shows no credential, or that of another
  /// account on the phone, and comes from the same address, the device gets those that it lacks. Only a credential that is shown is
  /// trusted: everyone may register any id, also strangers in the same network.
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
    let now = transaction.now
    let registration = try registration(of: device)
    let own = try ownDevice(device.clientDeviceID, of: account)
    let shown = try shownCredential(of: device, registration, own, account: account)
    let description = own == nil || shown == .registration ? registration : nil
    let id = try upsert(device, of: account, registration: description)
    switch shown {
    case .registration:
      if let registration {
        let isTrusted = beginning != .untrustedKey
        try adopt(registration, for: id, trustedAt: isTrusted ? now : nil)
      }
    case .own(let hash):
      if beginning.isProof { try trustCredential(hash, of: id) }
      try transaction.devices.confirmCredential(hash, of: id)
    case .none:
      if let registration, registration.isFromSameAddress {
        try adoptMissing(of: registration, for: id)
      }
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
    of device: SigningDevice, _ registration: PendingRegistration?, _ own: OwnDevice?,
    account: String
  ) throws -> ShownCredential {
    guard let hash = device.credentialHash else { return .none }
    let now = transaction.now
    if registration?.credential.matches(hash, at: now) == true { return .registration }
    if own?.credentials.shown(hash, at: now) != nil { return .own(hash) }
    guard try transaction.knownDevices.isOfPhone(hash, device.clientDeviceID) else {
      throw Refusal.credential(account: account, device: nil)
    }
    return .none
  }

  /// The registration that fits best: the one whose credential is shown, else the one from the same
  /// address, else the newest.
  private func registration(
    of device: SigningDevice
  ) throws(DatabaseError) -> PendingRegistration? {
    let address = Parameter.text(transaction.origin.address)
    return try transaction.connection.row(
      """
      SELECT address, name, platform, push_token, credential_hash, credential_expires_at, address = ?
      FROM device_registrations WHERE client_device_id = ?
      ORDER BY credential_hash <=> ? DESC, address = ? DESC, registered_at DESC LIMIT 1
      """,
      [
        address, .text(device.clientDeviceID), device.credentialHash.map { .bytes($0) } ?? .null,
        address,
      ]
    ) { row in PendingRegistration(row: row, clientDeviceID: device.clientDeviceID) }
  }

  /// The account's device, if it already exists; nil also if it was revoked.
  private func ownDevice(
    _ clientDeviceID: String, of account: String
  ) throws(DatabaseError) -> OwnDevice? {
    try transaction.connection.row(
      """
      SELECT credential_hash, credential_expires_at, old_credential_hash, old_credential_expires_at
      FROM devices WHERE account_id = ? AND client_device_id = ? AND revoked_at IS NULL
      """,
      [.text(account), .text(clientDeviceID)]
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
    _ device: SigningDevice, of account: String, registration: PendingRegistration?
  ) throws(DatabaseError) -> String {
    let now = Parameter.time(transaction.now)
    let name = device.name ?? registration?.name
    let platform = device.platform ?? registration?.platform
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

  /// Fills in what the device lacks from a registration that was not shown: a credential, if it has
  /// no trusted one, and a push token.
  private func adoptMissing(
    of registration: PendingRegistration, for deviceID: String
  ) throws(DatabaseError) {
    let has = try transaction.connection.row(
      """
      SELECT credential_trusted_at IS NOT NULL AND credential_expires_at > ?
          OR old_credential_trusted_at IS NOT NULL AND old_credential_expires_at > ?,
        EXISTS (SELECT 1 FROM push_tokens t WHERE t.device_id = devices.id)
      FROM devices WHERE id = ?
      """,
      [.time(transaction.now), .time(transaction.now), .text(deviceID)]
    ) { row in (credential: !row.isNull(0) && row.boolean(0), pushToken: row.boolean(1)) }
    guard let has else { return }
    if !has.credential {
      try transaction.devices.setCredential(
        registration.credentialHash, until: registration.credentialExpiresAt, trustedAt: nil,
        isShown: false, of: deviceID)
    }
    if !has.pushToken { try storePushToken(of: registration, on: deviceID) }
    try remove(registration)
  }

  /// - Parameter trustedAt: nil: the credential proves nothing.
  private func adopt(
    _ registration: PendingRegistration, for deviceID: String, trustedAt: Timestamp?
  ) throws(DatabaseError) {
    try transaction.devices.setCredential(
      registration.credentialHash, until: registration.credentialExpiresAt, trustedAt: trustedAt,
      isShown: true, of: deviceID)
    try storePushToken(of: registration, on: deviceID)
    try remove(registration)
  }

  private func storePushToken(
    of registration: PendingRegistration, on deviceID: String
  ) throws(DatabaseError) {
    guard let token = registration.pushToken else { return }
    try transaction.pushTokens.store(
      token, platform: PushPlatform(registration.platform), of: deviceID)
  }

  private func remove(_ registration: PendingRegistration) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      DELETE FROM device_registrations
      WHERE client_device_id = ? AND address = ? AND credential_hash = ?
      """,
      [
        .text(registration.clientDeviceID), .text(registration.address),
        .bytes(registration.credentialHash),  // a newer registration stays
      ])
  }
}

extension Transaction {
  var signIns: SignInStatements { SignInStatements(transaction: Transaction(sharing: self)) }
}

private struct OwnDevice {
  let credentials: DeviceCredentials
}

/// The owner of the credential that a sign-in shows.
private enum ShownCredential: Equatable {
  /// The request shows none that counts.
  case none
  case registration
  /// The account's device. The value is the credential's SHA-256.
  case own([UInt8])
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
    credentialExpiresAt = row.timestamp(5)
    isFromSameAddress = row.boolean(6)
  }
}

package import Base
import MariaDB

/// The result of an answer to the mail that asks whether an account is wanted.
package enum ConfirmationOutcome: Sendable {
  /// The address is proven, by this answer or before.
  case confirmed
  /// The account is deleted.
  case denied
  /// There is no such account, it is banned, or its address was proven before it was denied.
  case gone
}

/// An account that waits for the answer of the owner of its e-mail address.
package struct UnprovenAccount: Sendable {
  package let email: String
  package let deviceName: String
  /// The network address of the sign-up.
  package let address: String
  package let createdAt: Timestamp
  /// What the account has by now.
  package let access: [AccountAccess]
}

/// The link in the mail after the first proof of an address.
package struct ProofLink: Sendable {
  package let accountID: String
  package let provedAt: Timestamp

  package init(accountID: String, provedAt: Timestamp) {
    self.accountID = accountID
    self.provedAt = provedAt
  }
}

/// Proofs that an account's e-mail address is that of the person who uses it.
///
/// A sign-up proves nothing: everyone may name any address. Until the first proof, the person who
/// signed up may use the account, and may be a stranger.
package struct AddressProofs: Sendable {
  let records: Records

  /// The account that a confirmation asks about; nil if its address is proven or it is gone.
  package func unproven(_ accountID: String) throws -> UnprovenAccount? {
    try records.read { transaction in
      let access = try transaction.access.list(of: accountID, until: records.now)
      return try transaction.connection.row(
        """
        SELECT a.email, d.name, a.created_from, a.created_at
        FROM accounts a JOIN devices d ON d.account_id = a.id
        WHERE a.id = ? AND a.email_verified_at IS NULL
        ORDER BY d.created_at, d.id LIMIT 1
        """,
        [.text(accountID)]
      ) { row in
        UnprovenAccount(
          email: row.text(0), deviceName: row.text(1), address: row.text(2),
          createdAt: row.timestamp(3), access: access)
      }
    }
  }

  /// What is left of what the account had when its address was proven; empty if the account is gone.
  package func access(of link: ProofLink) throws -> [AccountAccess] {
    try records.read { transaction in
      try transaction.access.list(of: link.accountID, until: link.provedAt)
    }
  }

  /// Removes what the account had when its address was proven, and withdraws a new address that was asked for.
  ///
  /// - Returns: false if nothing of it is left.
  package func removeAccess(of link: ProofLink) throws -> Bool {
    try records.transaction { transaction in
      guard try transaction.accounts.lock(link.accountID) else { return false }
      return try transaction.access.removeAll(of: link.accountID, until: link.provedAt)
    }
  }

  /// Records that the owner wants the account: everything stays as it is, and the owner is told what it has.
  package func confirm(_ accountID: String) throws -> ConfirmationOutcome {
    try records.transaction { transaction in
      if try transaction.addressProofs.mark(accountID) {
        try transaction.addressProofs.keepAll(of: accountID)
        try transaction.audit.write(.accountConfirmed, account: accountID)
        return .confirmed
      }
      return try transaction.accounts.find(id: accountID) == nil ? .gone : .confirmed
    }
  }

  /// Deletes an account that the owner of the address does not want, unless the address is proven.
  package func deny(_ accountID: String) throws -> ConfirmationOutcome {
    try records.transaction { transaction in
      // A banned account stays: otherwise its user could sign up again.
      guard try transaction.accounts.lockForSignIn(accountID) == false,
        try !transaction.accounts.isProven(accountID)
      else { return .gone }
      try transaction.accounts.remove(accountID)
      try transaction.audit.write(.accountDenied, account: accountID)
      return .denied
    }
  }
}

extension Records {
  package var addressProofs: AddressProofs { AddressProofs(records: self) }
}

/// Statements that hand an account over to the owner of its e-mail address.
struct AddressProofStatements: ~Copyable {
  let transaction: Transaction

  /// Records that a mailed code was typed on `device`. The first proof hands the account over:
  /// sessions, keys and tokens end, unless the proof comes with the bearer of the device that signed
  /// up, or with the credential that the sign-up showed.
  func record(of account: Account, on device: SigningDevice, bearer: Caller?) throws {
    guard try mark(account.id) else { return }
    guard let first = try registeringDevice(of: account.id),
      try !isShown(first, by: device, or: bearer)
    else {
      try keepAll(of: account.id)
      try transaction.audit.write(.emailProven, account: account.id)
      return
    }
    let isSamePhone = first.clientDeviceID == device.clientDeviceID
    try handOver(
      account.id, toSamePhone: isSamePhone,
      keeping: first.hasCredential(of: device, at: transaction.now) ? first.id : nil)
    try transaction.audit.write(
      .accountHandedOver, account: account.id,
      detail: isSamePhone
        ? "first proof of the address: sessions, keys and tokens ended"
        : "first proof of the address, on another phone: sessions, keys, tokens and banks ended")
  }

  /// Whether a code that is typed on `device` hands over the account with `email`, as far as is
  /// known before: the address is not proven, and the request does not show the credential of the
  /// phone that signed up.
  ///
  /// Runs one statement, whether an account has the address or not.
  func wouldHandOver(_ email: String, by device: SigningDevice) throws(DatabaseError) -> Bool {
    let first = try transaction.connection.row(
      """
      SELECT d.id, d.client_device_id, d.credential_hash, d.credential_expires_at,
        d.old_credential_hash, d.old_credential_expires_at, d.credential_trusted_at IS NOT NULL,
        d.old_credential_trusted_at IS NOT NULL
      FROM accounts a JOIN devices d ON d.account_id = a.id
      WHERE a.email = ? AND a.email_verified_at IS NULL
      ORDER BY d.created_at, d.id LIMIT 1
      """,
      [.text(email)]
    ) { row in RegisteringDevice(row: row) }
    guard let first else { return false }
    return !first.isShown(by: device, at: transaction.now)
  }

  /// Lets everything stay that the account has at the first proof of its address. The person who added it could not
  /// be told before: so keys that were set up with only a bearer begin their probation again, and the owner is
  /// mailed a list, with a link that removes all of it.
  func keepAll(of account: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE biometric_keys k JOIN devices d ON d.id = k.device_id SET k.trusted_at = ?
      WHERE d.account_id = ? AND k.trusted_at > k.enrolled_at
      """,
      [.time(transaction.now + NewBiometricKey.probation), .text(account)])
    try transaction.notices.tellOfAccess(
      transaction.access.list(of: account, until: transaction.now), of: account)
  }

  /// - Returns: whether this is the first proof.
  fileprivate func mark(_ accountID: String) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      "UPDATE accounts SET email_verified_at = ? WHERE id = ? AND email_verified_at IS NULL",
      [.time(transaction.now), .text(accountID)]) == 1
  }

  private func registeringDevice(of account: String) throws(DatabaseError) -> RegisteringDevice? {
    try transaction.connection.row(
      """
      SELECT id, client_device_id, credential_hash, credential_expires_at, old_credential_hash,
        old_credential_expires_at, credential_trusted_at IS NOT NULL,
        old_credential_trusted_at IS NOT NULL
      FROM devices WHERE account_id = ? ORDER BY created_at, id LIMIT 1 FOR UPDATE
      """,
      [.text(account)]
    ) { row in RegisteringDevice(row: row) }
  }

  private func isShown(
    _ first: RegisteringDevice, by device: SigningDevice, or bearer: Caller?
  ) throws -> Bool {
    if first.isShown(by: device, at: transaction.now) { return true }
    guard let bearer else { return false }
    return try transaction.sessions.deviceID(of: bearer) == first.id
  }

  /// Ends all earlier access to the account, and resets the names that its earlier user chose.
  ///
  /// Deletes keys before sessions: a sign-in under way waits for the row of its key, or has begun a
  /// session that ends here.
  ///
  /// - Parameter kept: the device whose own credential the owner shows: it stays a device of the
  ///   account, and keeps this credential.
  private func handOver(
    _ account: String, toSamePhone isSamePhone: Bool, keeping kept: String?
  ) throws {
    let statements =
      transaction.rooms.flatMap(\.whenAuthenticatorsEnd)
      + transaction.rooms.flatMap(\.whenAccountIsHandedOver)
      + (isSamePhone ? [] : transaction.rooms.flatMap(\.whenAccountGoesToAnotherPhone))
    for statement in statements {
      _ = try transaction.connection.execute(statement, [.text(account)])
    }
    for device in try transaction.devices.lockAll(of: account) {
      if device == kept {
        try transaction.devices.clear(device, because: .handedOver)
      } else {
        try transaction.devices.revoke(device, because: .handedOver)
      }
    }
  }
}

extension Transaction {
  var addressProofs: AddressProofStatements {
    AddressProofStatements(transaction: Transaction(sharing: self))
  }
}

/// The device on which an account was created.
private struct RegisteringDevice {
  let id: String
  let clientDeviceID: String
  private let credentials: DeviceCredentials
  /// False if the sign-up did not show the newest credential: then it may belong to a neighbour, whose
  /// registration the sign-up found by the network address.
  private let isNewestTrusted: Bool
  private let isOldTrusted: Bool

  init(row: borrowing Row) {
    id = row.text(0)
    clientDeviceID = row.text(1)
    credentials = DeviceCredentials(row: row, from: 2)
    isNewestTrusted = row.boolean(6)
    isOldTrusted = row.boolean(7)
  }

  /// Whether `device` shows the credential that the sign-up showed.
  func isShown(by device: SigningDevice, at now: Timestamp) -> Bool {
    switch shown(by: device, at: now) {
    case .newest: isNewestTrusted
    case .old: isOldTrusted
    case nil: false
    }
  }

  /// Whether `device` shows the credential of this one, trusted or not.
  func hasCredential(of device: SigningDevice, at now: Timestamp) -> Bool {
    shown(by: device, at: now) != nil
  }

  private func shown(by device: SigningDevice, at now: Timestamp) -> DeviceCredentials.Shown? {
    device.credentialHash.flatMap { credentials.shown($0, at: now) }
  }
}

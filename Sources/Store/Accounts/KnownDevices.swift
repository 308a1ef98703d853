import MariaDB

/// The caller, as the limits see it. A device of the account has its own budgets, so that strangers
/// who use up the others cannot lock its owner out.
enum KnownDevice {
  case stranger
  /// The request names a device of the account. Strangers may name it too, so each network has a
  /// share of its budgets.
  case named(id: String)
  /// The request also shows the credential of that device, or comes from a browser with the cookie
  /// of an earlier sign-in. Knowing the device id is not enough to exhaust these budgets.
  case proven(id: String)

  /// The subject of the budgets of a device that shows its credential; nil for others.
  var subject: String? {
    switch self {
    case .stranger, .named: nil
    case .proven(let id): "\(id) credential"
    }
  }
}

/// Statements that tell known devices from strangers.
struct KnownDeviceStatements: ~Copyable {
  let transaction: Transaction

  /// Runs the same statement for an e-mail address without an account, and finds a stranger.
  ///
  /// A browser counts as known 60 times a day for all browsers of the account together: each sign-in
  /// without the cookie makes another one, and nobody can take them back from a thief.
  func find(
    _ device: SigningDevice, of email: String
  ) throws(DatabaseError) -> KnownDevice {
    let known = try transaction.connection.row(
      """
      SELECT a.id, d.id, d.credential_hash, d.credential_expires_at, d.old_credential_hash,
        d.old_credential_expires_at
      FROM accounts a LEFT JOIN devices d ON d.account_id = a.id AND d.client_device_id = ?
        AND d.revoked_at IS NULL
      WHERE a.email = ?
      """,
      [.text(device.clientDeviceID), .text(email)]
    ) { row in
      (
        account: row.text(0), device: row.optionalText(1),
        credentials: DeviceCredentials(row: row, from: 2)
      )
    }
    guard let known else { return .stranger }
    if let browser = device.browser, browser.accountID == known.account,
      try transaction.limits.admit(.usesOfKnownBrowsers, of: browser.accountID)
    {
      return .proven(id: "\(browser.accountID) \(browser.id)")
    }
    guard let id = known.device else { return .stranger }
    guard let shown = device.credentialHash,
      known.credentials.shown(shown, at: transaction.now) != nil
    else { return .named(id: id) }
    return .proven(id: id)
  }

  /// Finds a device without an account: only its credential makes it known.
  func find(_ device: SigningDevice) throws(DatabaseError) -> KnownDevice {
    guard let shown = device.credentialHash else { return .stranger }
    let now = Parameter.time(transaction.now)
    let id = try transaction.connection.row(
      """
      SELECT id FROM devices WHERE client_device_id = ? AND revoked_at IS NULL
        AND (credential_hash = ? AND credential_expires_at > ?
          OR old_credential_hash = ? AND old_credential_expires_at > ?)
      """,
      [.text(device.clientDeviceID), .bytes(shown), now, .bytes(shown), now]
    ) { row in row.text(0) }
    return id.map { .proven(id: $0) } ?? .stranger
  }

  /// Whether the credential with this SHA-256 belongs to the phone: to an account's device there, or to a
  /// registration.
  func isOfPhone(_ hash: [UInt8], _ clientDeviceID: String) throws(DatabaseError) -> Bool {
    let now = Parameter.time(transaction.now)
    return try transaction.connection.row(
      """
      SELECT EXISTS (SELECT 1 FROM device_registrations
          WHERE client_device_id = ? AND credential_hash = ? AND credential_expires_at > ?)
        OR EXISTS (SELECT 1 FROM devices WHERE client_device_id = ? AND revoked_at IS NULL
          AND (credential_hash = ? AND credential_expires_at > ?
            OR old_credential_hash = ? AND old_credential_expires_at > ?))
      """,
      [
        .text(clientDeviceID), .bytes(hash), now, .text(clientDeviceID), .bytes(hash), now,
        .bytes(hash), now,
      ]
    ) { row in row.boolean(0) } ?? false
  }
}

extension Transaction {
  var knownDevices: KnownDeviceStatements {
    KnownDeviceStatements(transaction: Transaction(sharing: self))
  }
}

extension SignIns {
  /// Rejects a device credential that is wrong, expired or another phone's. Call it before anything
  /// is written. The answer reveals nothing about any account.
  ///
  /// - Throws: ``Refusal/credential(account:device:)``.
  func requireValidCredential(of device: SigningDevice) throws {
    guard let shown = device.credentialHash else { return }
    let isValid = try records.read { transaction in
      try transaction.knownDevices.isOfPhone(shown, device.clientDeviceID)
    }
    guard isValid else { throw Refusal.credential(account: nil, device: nil) }
  }
}

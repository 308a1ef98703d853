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
      SELECT a.id, d.id, d.credential_hash, d.credential_expires_at
      FROM accounts a LEFT JOIN devices d ON d.account_id = a.id AND d.client_device_id = ?
        AND d.revoked_at IS NULL
      WHERE a.email = ?
      """,
      [.text(device.clientDeviceID), .text(email)]
    ) { row in
      (
        account: row.text(0), device: row.optionalText(1),
        credential: StoredCredential(row: row, hash: 2, expiresAt: 3)
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
      known.credential?.matches(shown, at: transaction.now) == true
    else { return .named(id: id) }
    return .proven(id: id)
  }

  /// Finds a device without an account: only its credential makes it known.
  func find(_ device: SigningDevice) throws(DatabaseError) -> KnownDevice {
    guard let shown = device.credentialHash else { return .stranger }
    let id = try transaction.connection.row(
      """
      SELECT id FROM devices WHERE client_device_id = ? AND credential_hash = ?
        AND credential_expires_at > ? AND revoked_at IS NULL
      """,
      [.text(device.clientDeviceID), .bytes(shown), .time(transaction.now)]
    ) { row in row.text(0) }
    return id.map { .proven(id: $0) } ?? .stranger
  }

  /// Whether the credential that `device` shows belongs to its phone: to an account's device there,
  /// or to a registration.
  fileprivate func hasValidCredential(_ device: SigningDevice) throws(DatabaseError) -> Bool {
    guard let shown = device.credentialHash else { return true }
    let now = Parameter.time(transaction.now)
    return try transaction.connection.row(
      """
      SELECT EXISTS (SELECT 1 FROM device_registrations
          WHERE client_device_id = ? AND credential_hash = ? AND credential_expires_at > ?)
        OR EXISTS (SELECT 1 FROM devices WHERE client_device_id = ? AND credential_hash = ?
          AND credential_expires_at > ? AND revoked_at IS NULL)
      """,
      [
        .text(device.clientDeviceID), .bytes(shown), now, .text(device.clientDeviceID),
        .bytes(shown), now,
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
    guard device.credentialHash != nil else { return }
    let isValid = try records.read { transaction in
      try transaction.knownDevices.hasValidCredential(device)
    }
    guard isValid else { throw Refusal.credential(account: nil, device: nil) }
  }
}

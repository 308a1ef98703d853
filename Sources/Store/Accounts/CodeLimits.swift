import MariaDB

/// Who asks for a code or types one. A device of the account has a budget of its own, so that
/// strangers who use up the others cannot keep its owner out.
private enum CodeUser {
  case stranger
  /// Names a device of the account.
  case device(id: String)
  /// Also shows the credential of that device. Who only knows the device's name cannot use up this
  /// budget.
  case credentialHolder(deviceID: String)

  /// The subject of the device's budget; nil for a stranger.
  var subject: String? {
    switch self {
    case .stranger: nil
    case .device(let id): id
    case .credentialHolder(let deviceID): "\(deviceID) credential"
    }
  }
}

/// A try of a code that has been counted as wrong.
struct CountedCodeTry {
  /// nil where neither the e-mail address nor its code is known.
  let email: String?
  fileprivate let user: CodeUser
}

/// Statements on the requests for codes and the tries of them, which `rate_limits` counts.
///
/// For an e-mail address without an account they are those of a stranger, so that neither answer nor
/// time tells.
struct CodeLimitStatements: ~Copyable {
  let transaction: Transaction

  /// Counts a request for a code.
  ///
  /// - Throws: ``RateLimited``.
  func countRequest(for email: String, on device: SigningDevice) throws {
    if let own = try asker(for: email, on: device).subject {
      try transaction.limits.count(.codesByKnownDevice, of: own)
    } else {
      try transaction.limits.countAddress(.codesByAddress)
      try transaction.limits.count(.codesByEmail, of: email)
      try transaction.limits.count(.codesByDevice, of: "\(email) \(device.clientDeviceID)")
    }
  }

  /// Counts a try of a code as wrong, before anybody compares the code: however many come at once,
  /// no more than the limit are compared. Call ``giveBack(_:)`` after a right one.
  ///
  /// - Throws: ``RateLimited``.
  func countTry(of email: String?, on device: SigningDevice) throws -> CountedCodeTry {
    guard let email else {
      try transaction.limits.countAddress(.wrongCodesByAddress)
      return CountedCodeTry(email: nil, user: .stranger)
    }
    let user = try asker(for: email, on: device)
    if let own = user.subject {
      try transaction.limits.count(.wrongCodesByKnownDevice, of: own)
    } else {
      try transaction.limits.countAddress(.wrongCodesByAddress)
      try transaction.limits.count(.wrongCodesByEmail, of: email)
    }
    return CountedCodeTry(email: email, user: user)
  }

  /// Takes back a try whose code was right.
  func giveBack(_ counted: CountedCodeTry) throws(DatabaseError) {
    if let own = counted.user.subject {
      try transaction.limits.giveBack(.wrongCodesByKnownDevice, of: own)
    } else {
      try transaction.limits.giveBackAddress(.wrongCodesByAddress)
      if let email = counted.email {
        try transaction.limits.giveBack(.wrongCodesByEmail, of: email)
      }
    }
  }

  private func asker(
    for email: String, on device: SigningDevice
  ) throws(DatabaseError) -> CodeUser {
    let known = try transaction.connection.row(
      """
      SELECT d.id, d.credential_hash, d.credential_expires_at
      FROM accounts a JOIN devices d ON d.account_id = a.id
      WHERE a.email = ? AND d.client_device_id = ? AND d.revoked_at IS NULL
      """,
      [.text(email), .text(device.clientDeviceID)]
    ) { row in
      (id: row.text(0), credential: StoredCredential(row: row, hash: 1, expiresAt: 2))
    }
    guard let known else { return .stranger }
    guard let shown = device.credentialHash,
      known.credential?.matches(shown, at: transaction.now) == true
    else { return .device(id: known.id) }
    return .credentialHolder(deviceID: known.id)
  }
}

extension Transaction {
  var codeLimits: CodeLimitStatements {
    CodeLimitStatements(transaction: Transaction(sharing: self))
  }
}

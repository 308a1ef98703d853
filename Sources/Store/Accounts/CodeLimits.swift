import MariaDB

/// A try of a code that has been counted as wrong.
struct CountedCodeTry {
  /// nil where neither the e-mail address nor its code is known.
  let email: String?
  fileprivate let user: KnownDevice
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
    if let own = try transaction.knownDevices.find(device, of: email).subject {
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
    let user = try transaction.knownDevices.find(device, of: email)
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

  /// Counts a mail to an address that nobody has proven: whoever signed up may have named a
  /// stranger's. Other addresses take the same statements, without a limit.
  ///
  /// - Returns: whether the mail may be sent.
  func admitMail(to email: String) throws(DatabaseError) -> Bool {
    let isUnproven = try transaction.connection.row(
      "SELECT email_verified_at IS NULL FROM accounts WHERE email = ?", [.text(email)]
    ) { row in row.boolean(0) }
    let limit = Limit.mailsToUnproven
    return try transaction.limits.admit(isUnproven == true ? limit : limit.unlimited, of: email)
  }
}

extension Transaction {
  var codeLimits: CodeLimitStatements {
    CodeLimitStatements(transaction: Transaction(sharing: self))
  }
}

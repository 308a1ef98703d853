import MariaDB

/// Statements on the requests for codes, which `rate_limits` counts.
///
/// Each network has a share of what strangers may do with an e-mail address, so that those of one network do not keep
/// others out. A device of the account has budgets of its own. For an e-mail address without an account the
/// statements are those of a stranger, so that neither answer nor time tells.
struct CodeLimitStatements: ~Copyable {
  let transaction: Transaction

  /// Counts a request for a code.
  ///
  /// - Throws: ``RateLimited``.
  func countRequest(
    by user: KnownDevice, for email: String, on device: SigningDevice
  ) throws {
    let limits = transaction.limits
    let asker = transaction.asker(user)
    switch user {
    case .proven:
      try limits.count(.codesByKnownDevice, of: asker)
      try limits.count(.codesADay, of: asker)
    case .named(let id):
      try limits.count(.codesByKnownDevice, of: asker)
      try limits.countShare(.codesADayByNetwork, of: id)
      try limits.count(.codesADay, of: id)
    case .stranger:
      try limits.countAddress(.codesByAddress)
      let address = countedSubject(ofEmail: email)
      try limits.countShare(.codesByEmail, of: address)
      try limits.count(.codesByDevice, of: "\(address) \(device.digest) \(asker)")
      try limits.countShare(.codesADayByNetwork, of: address)
      try limits.count(.codesADay, of: address)
    }
  }

  /// Counts a mail to an address that nobody has proven: whoever signed up may have named a stranger's. Other
  /// addresses take the same statements, without a limit.
  ///
  /// - Returns: whether the mail may be sent.
  func admitMail(to email: String, by user: KnownDevice) throws(DatabaseError) -> Bool {
    let isUnproven = try transaction.connection.row(
      "SELECT email_verified_at IS NULL FROM accounts WHERE email = ?", [.text(email)]
    ) { row in row.boolean(0) }
    return try admitMail(toUnproven: email, by: user, isLimited: isUnproven == true)
  }

  /// Counts a mail: 6 a day for each network, and 30 in all; for a device that shows its credential only 6 of its own.
  ///
  /// - Returns: whether the mail may be sent.
  func admitMail(
    toUnproven email: String, by user: KnownDevice, isLimited: Bool
  ) throws(DatabaseError) -> Bool {
    let (share, all) = (Limit.mailsToUnprovenByNetwork, Limit.mailsToUnproven)
    if let own = user.subject {
      return try transaction.limits.admit(isLimited ? share : share.unlimited, of: own)
    }
    let address = countedSubject(ofEmail: email)
    let isWithin = try transaction.limits.admitShare(
      isLimited ? share : share.unlimited, of: address)
    // What is not sent uses nothing up for others.
    return try transaction.limits.admit(
      isLimited ? all : all.unlimited, of: address, times: isWithin ? 1 : 0) && isWithin
  }
}

extension Transaction {
  var codeLimits: CodeLimitStatements {
    CodeLimitStatements(transaction: Transaction(sharing: self))
  }
}

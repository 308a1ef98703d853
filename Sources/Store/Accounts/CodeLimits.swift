import MariaDB

/// Statements on the requests for codes, which `rate_limits` counts.
///
/// Each network has a share of the budget of strangers for an e-mail address, so that strangers in
/// one network cannot lock others out. A device of the account has its own budgets. An e-mail
/// address without an account takes the statements of a stranger, so that neither answer nor time
/// reveals it.
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

  /// Counts a mail to an unproven address: the person who signed up may have named a stranger's.
  /// Other addresses take the same statements, without a limit.
  ///
  /// - Returns: whether the mail may be sent.
  func admitMail(to email: String, by user: KnownDevice) throws(DatabaseError) -> Bool {
    let isUnproven = try transaction.connection.row(
      "SELECT email_verified_at IS NULL FROM accounts WHERE email = ?", [.text(email)]
    ) { row in row.boolean(0) }
    return try admitMail(toUnproven: email, by: user, isLimited: isUnproven == true)
  }

  /// Counts a mail: 6 a day for each network, and 30 in all. A device that shows its credential has
  /// its own 6 a day instead.
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
    // A mail that is not sent does not count for others.
    return try transaction.limits.admit(
      isLimited ? all : all.unlimited, of: address, times: isWithin ? 1 : 0) && isWithin
  }
}

extension Transaction {
  var codeLimits: CodeLimitStatements {
    CodeLimitStatements(transaction: Transaction(sharing: self))
  }
}

import Base
import Cryptography
import MariaDB

/// A live code that a try was counted against.
struct TypedCode {
  let email: String
  let challengeHash: [UInt8]
  let codeMAC: [UInt8]
  /// Whether the try came from the asker: from the same network or device, or with the code's
  /// challenge.
  let isOwn: Bool
  /// Tries of the asker, or of all others together; includes this try, once it is counted.
  fileprivate(set) var attempts: Int64
  /// The limit of ``attempts``.
  fileprivate(set) var allowed: Int64
  let deviceName: String?
  let platform: DevicePlatform?

  /// - Parameter asker: the caller who types the code; nil for a caller with its challenge.
  fileprivate init(row: borrowing Row, triedBy asker: String?) {
    email = row.text(0)
    challengeHash = row.bytes(1)
    codeMAC = row.bytes(2)
    isOwn = asker == nil || asker == row.text(3)
    attempts = row.integer(isOwn ? 4 : 5)
    allowed = isOwn ? 5 : 20
    deviceName = row.optionalText(6)
    platform = row.optionalText(7).flatMap { DevicePlatform(rawValue: $0) }
  }

  var isDead: Bool { attempts >= allowed }
}

/// A try that is counted before it is compared with the codes.
struct CountedCodeTry {
  /// The codes to compare with: at most one of each asker.
  fileprivate(set) var codes: [TypedCode] = []
  /// The limits that the try was counted in.
  fileprivate var budgets: [(limit: Limit, subject: String)] = []
  fileprivate var hits: Int64 = 0
}

/// Statements on the tries of mailed codes.
///
/// A try counts against the live codes that it names. The asker of a code has five tries of it,
/// which others cannot use up. Others, who may be the same person in another network, have five for
/// each network and 20 together. Wrong tries also count for the e-mail address, or for the device
/// of the account. When that daily budget is used up, a code allows its asker one try instead of
/// five, and others none. So wrong tries of others never make the right code fail for its asker.
struct CodeTryStatements: ~Copyable {
  let transaction: Transaction

  /// Counts a try against each live code that it names, as wrong. Call ``giveBack(_:)`` after a right one.
  ///
  /// - Throws: ``RateLimited`` for a try that names no such code, at more than 100 tries an hour from one address.
  func count(_ name: LoginCodeName, on device: SigningDevice) throws -> CountedCodeTry {
    var counted = CountedCodeTry()
    let (codes, user) = try liveCodes(name, on: device)
    if let email = codes.first?.email {
      counted.hits = Int64(codes.count)
      let isWithin = try countBudgets(of: user, email, in: &counted)
      for var code in codes {
        if !isWithin {
          guard code.isOwn else { continue }
          code.allowed = 1
        }
        if try count(&code) { counted.codes.append(code) }
      }
    }
    if counted.codes.isEmpty {
      // Its code was spent or used up meanwhile.
      try giveBack(counted)
      try transaction.limits.countAddress(.wrongCodesByAddress)
    }
    return counted
  }

  /// Takes back a try whose code was right.
  func giveBack(_ counted: CountedCodeTry) throws(DatabaseError) {
    for budget in counted.budgets {
      try transaction.limits.giveBack(budget.limit, of: budget.subject, times: counted.hits)
    }
  }

  /// - Returns: whether this call is the one that spends the code.
  func spend(_ code: TypedCode) throws(DatabaseError) -> Bool {
    let now = Parameter.time(transaction.now)
    return try transaction.connection.execute(
      """
      UPDATE login_codes SET spent_at = ?
      WHERE challenge_hash = ? AND code_mac = ? AND spent_at IS NULL AND expires_at > ?
      """,
      [now, .bytes(code.challengeHash), .bytes(code.codeMAC), now]) == 1
  }

  /// The codes that may still be tried, and the caller who tries them. With an e-mail address they
  /// are at most 20: the caller's own code, and then the newest.
  private func liveCodes(
    _ name: LoginCodeName, on device: SigningDevice
  ) throws(DatabaseError) -> (codes: [TypedCode], user: KnownDevice) {
    let (phone, now) = (Parameter.text(device.clientDeviceID), Parameter.time(transaction.now))
    switch name {
    case .email(let email):
      let user = try transaction.knownDevices.find(device, of: email)
      let asker = transaction.asker(user)
      let codes = try transaction.connection.rows(
        """
        SELECT email, challenge_hash, code_mac, asked_by, attempts, others_attempts, device_name, platform
        FROM login_codes
        WHERE email = ? AND client_device_id = ? AND spent_at IS NULL AND expires_at > ?
        ORDER BY asked_by = ? DESC, expires_at DESC, challenge_hash LIMIT 20
        """,
        [.text(email), phone, now, .text(asker)]
      ) { row in TypedCode(row: row, triedBy: asker) }
      return (codes.filter { !$0.isDead }, user)
    case .challenge(let hash):
      let code = try transaction.connection.row(
        """
        SELECT email, challenge_hash, code_mac, asked_by, attempts, others_attempts, device_name, platform
        FROM login_codes
        WHERE challenge_hash = ? AND client_device_id = ? AND spent_at IS NULL AND expires_at > ?
        """,
        [.bytes(hash), phone, now]
      ) { row in TypedCode(row: row, triedBy: nil) }
      guard let code, !code.isDead else { return ([], .stranger) }
      return ([code], try transaction.knownDevices.find(device, of: code.email))
    }
  }

  /// - Returns: whether the try is within the budgets of the day.
  private func countBudgets(
    of user: KnownDevice, _ email: String, in counted: inout CountedCodeTry
  ) throws(DatabaseError) -> Bool {
    switch user {
    case .proven:
      return try count(.wrongCodesByKnownDevice, of: transaction.asker(user), in: &counted)
    case .named(let id):
      guard try countShare(of: id, in: &counted) else { return false }
      return try count(.wrongCodesByKnownDevice, of: id, in: &counted)
    case .stranger:
      // Counted with the tries that name no code, but never rejected for it.
      for network in transaction.origin.networks {
        let limit = Limit.wrongCodesByAddress.times(network.factor)
        _ = try count(limit, of: network.subject, in: &counted)
      }
      let address = countedSubject(ofEmail: email)
      guard try countShare(of: address, in: &counted) else { return false }
      return try count(.wrongCodesByEmail, of: address, in: &counted)
    }
  }

  private func countShare(
    of subject: String, in counted: inout CountedCodeTry
  ) throws(DatabaseError) -> Bool {
    var isWithin = true
    for share in transaction.shares(.wrongCodesByNetwork, of: subject) {
      if try !count(share.limit, of: share.subject, in: &counted) { isWithin = false }
    }
    return isWithin
  }

  private func count(
    _ limit: Limit, of subject: String, in counted: inout CountedCodeTry
  ) throws(DatabaseError) -> Bool {
    counted.budgets.append((limit, subject))
    return try transaction.limits.admit(limit, of: subject, times: counted.hits)
  }

  /// - Returns: whether the code may be compared.
  private func count(_ code: inout TypedCode) throws(DatabaseError) -> Bool {
    let now = Parameter.time(transaction.now)
    if code.isOwn {
      let counted = try transaction.connection.execute(
        """
        UPDATE login_codes SET attempts = attempts + 1
        WHERE challenge_hash = ? AND attempts < ? AND spent_at IS NULL AND expires_at > ?
        """,
        [.bytes(code.challengeHash), .integer(code.allowed), now])
      guard counted == 1 else { return false }
    } else {
      let name = hexEncoded(Array(code.challengeHash.prefix(16)))
      guard try transaction.limits.admitShare(.wrongCodesOfOthers, of: name) else { return false }
      let counted = try transaction.connection.execute(
        """
        UPDATE login_codes SET others_attempts = others_attempts + 1
        WHERE challenge_hash = ? AND others_attempts < ? AND spent_at IS NULL AND expires_at > ?
        """,
        [.bytes(code.challengeHash), .integer(code.allowed), now])
      guard counted == 1 else { return false }
    }
    code.attempts += 1
    return true
  }
}

extension Transaction {
  var codeTries: CodeTryStatements {
    CodeTryStatements(transaction: Transaction(sharing: self))
  }
}

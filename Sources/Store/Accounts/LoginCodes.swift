import Base
import Cryptography
import MariaDB

/// Mailed codes as requests use them.
package struct LoginCodes: Sendable {
  let records: Records

  /// Offers the passkeys of the account that has the code's e-mail address, and keeps `challenge` for
  /// them. Without passkeys it replaces the live code of e-mail and device and posts the mail.
  ///
  /// For an e-mail address that nobody has it runs the statements of an account without passkeys, and
  /// posts a mail that is never sent, so that neither answer nor time tells. The same happens for an
  /// address that nobody has proven, after six mails of a day.
  ///
  /// - Parameter challenge: nil where a code is asked for.
  /// - Throws: ``Refusal/credential(account:device:)``; ``RateLimited``: 20 codes an hour from one address; in 15 minutes 10 to one e-mail and
  ///   3 for one e-mail and one device; for a device of the account only 3 codes in 15 minutes; 20
  ///   challenges a minute from one address.
  package func start(
    with code: NewLoginCode, or challenge: NewPasskeyChallenge?, on device: SigningDevice
  ) throws -> SignInStart {
    try records.signIns.requireValidCredential(of: device)
    return try records.transaction { transaction in
      guard try transaction.signIns.isKnown(device) else { return .deviceUnknown }
      if let challenge {
        let offered = try transaction.passkeys.startSignIn(code.email, with: challenge, on: device)
        if !offered.isEmpty { return .passkey(offered: offered) }
      }
      try transaction.loginCodes.mail(code, on: device)
      return .codeMailed
    }
  }

  /// Signs in with a mailed code, which proves the e-mail address. It counts the try before it compares
  /// the code.
  ///
  /// - Parameters:
  ///   - bearer: whose access token the request carries, if it is valid.
  ///   - macs: the MACs that the typed code has for an e-mail address, one for each key.
  /// - Throws: ``Refusal/credential(account:device:)``; ``RateLimited`` at more than 50 wrong codes a
  ///   day for one e-mail address or 100 an hour from one address; for a device of the account only at
  ///   more than 50 of its own a day.
  /// - Returns: ``SignInOutcome/refused`` also where the code is dead after five tries.
  package func signIn(
    with name: LoginCodeName, on device: SigningDevice, bearer: Caller?,
    macs: (_ email: String) -> [[UInt8]]
  ) throws -> SignInOutcome {
    try records.signIns.requireValidCredential(of: device)
    let signedIn = try redeem(name, on: device, macs: macs) { transaction, account, typed in
      try transaction.addressProofs.record(of: account, on: device, bearer: bearer)
      var device = device
      device.name = device.name ?? typed.deviceName
      device.platform = device.platform ?? typed.platform
      return (account, try transaction.signIns.begin(account.id, on: device, by: .code))
    }
    return signedIn.map { account, session in .signedIn(account, session) } ?? .refused
  }

  /// Spends a code that is right, and does `body` in the same transaction.
  ///
  /// - Throws: what ``signIn(with:on:bearer:macs:)`` throws.
  /// - Returns: nil where the code is wrong, dead or nobody's.
  func redeem<T>(
    _ name: LoginCodeName, on device: SigningDevice, macs: (_ email: String) -> [[UInt8]],
    _ body: (borrowing Transaction, Account, TypedCode) throws -> T
  ) throws -> T? {
    let counted = try records.transaction { transaction in
      let email = try transaction.loginCodes.recipient(of: name, on: device)
      return try transaction.codeLimits.countTry(of: email, on: device)
    }
    guard let typed = try countTry(of: counted.email, on: device) else {
      try auditDead(name, on: device)
      return nil
    }
    let isRight = macs(typed.email).contains { isEqualInConstantTime($0, typed.codeMAC) }
    guard isRight else {
      try auditWrong(typed, on: device)
      return nil
    }
    // Found before: in the transaction the account is locked by its id, as everybody else locks it, and before the
    // first read, so that all later reads see the rows as they are.
    let id = try records.read { transaction in
      try transaction.accounts.find(email: typed.email)?.id
    }
    return try records.transaction { transaction -> T? in
      guard try transaction.loginCodes.spend(typed, on: device), let id,
        try transaction.accounts.lock(id), let account = try transaction.accounts.find(id: id),
        account.email == typed.email  // it may have got another address since it was found
      else { return nil }
      let result = try body(transaction, account, typed)
      try transaction.codeLimits.giveBack(counted)
      return result
    }
  }

  /// Counts a try against the live code.
  ///
  /// - Returns: nil where there is no code that may still be tried.
  private func countTry(of email: String?, on device: SigningDevice) throws -> TypedCode? {
    guard let email else { return nil }
    return try records.transaction { transaction in
      try transaction.loginCodes.countTry(email: email, on: device)
    }
  }

  private func auditDead(_ name: LoginCodeName, on device: SigningDevice) throws {
    try records.signIns.auditDead("no live code") { transaction in
      guard case .email(let email) = name else { return [(nil, nil)] }
      let account = try transaction.accounts.find(email: email)
      return [
        (account?.id, try transaction.devices.id(of: device.clientDeviceID, account: account))
      ]
    }
  }

  private func auditWrong(_ typed: TypedCode, on device: SigningDevice) throws {
    try records.transaction { transaction in
      let account = try transaction.accounts.find(email: typed.email)
      try transaction.audit.write(
        typed.attempts < 5 ? .codeRefused : .codeDead, account: account?.id,
        device: try transaction.devices.id(of: device.clientDeviceID, account: account),
        detail: "try \(typed.attempts)")
    }
  }
}

extension Records {
  package var loginCodes: LoginCodes { LoginCodes(records: self) }
}

/// Statements on `login_codes`.
struct LoginCodeStatements: ~Copyable {
  let transaction: Transaction

  /// Replaces the live code of e-mail and device, and posts the mail, which is sent only if an account
  /// has the e-mail address.
  ///
  /// - Throws: ``RateLimited``.
  func mail(_ code: NewLoginCode, on device: SigningDevice) throws {
    try transaction.codeLimits.countRequest(for: code.email, on: device)
    let account = try transaction.accounts.find(email: code.email)
    let mayMail = try transaction.codeLimits.admitMail(to: code.email)
    try replace(code, on: device)
    try transaction.mails.post(
      .loginCode, to: code.email, of: account?.id,
      MailContent(
        secret: code.digits, language: device.language ?? account?.language ?? .english,
        device: device.name ?? "", address: transaction.origin.storedAddress, at: transaction.now),
      id: code.mailID, isSuppressed: account == nil || !mayMail,
      lifetime: code.expiresAt - transaction.now)
    try transaction.audit.write(
      .codeRequested, account: account?.id,
      device: try transaction.devices.id(of: device.clientDeviceID, account: account))
  }

  private func replace(_ code: NewLoginCode, on device: SigningDevice) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO login_codes (email, client_device_id, challenge_hash, code_mac, device_name,
        platform, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE challenge_hash = VALUES(challenge_hash), code_mac = VALUES(code_mac),
        device_name = VALUES(device_name), platform = VALUES(platform), attempts = 0,
        expires_at = VALUES(expires_at), spent_at = NULL
      """,
      [
        .text(code.email), .text(device.clientDeviceID), .bytes(code.challengeHash),
        .bytes(code.codeMAC), .text(device.name), .text(device.platform?.rawValue),
        .time(code.expiresAt),
      ])
  }

  /// The e-mail address that the code is for; nil for an unknown challenge.
  fileprivate func recipient(
    of name: LoginCodeName, on device: SigningDevice
  ) throws(DatabaseError) -> String? {
    switch name {
    case .email(let email): return email
    case .challenge(let hash):
      return try transaction.connection.row(
        "SELECT email FROM login_codes WHERE challenge_hash = ? AND client_device_id = ?",
        [.bytes(hash), .text(device.clientDeviceID)]
      ) { row in row.text(0) }
    }
  }

  /// - Returns: nil where there is no code that may still be tried.
  fileprivate func countTry(email: String, on device: SigningDevice) throws(DatabaseError)
    -> TypedCode?
  {
    let counted = try transaction.connection.execute(
      """
      UPDATE login_codes SET attempts = attempts + 1
      WHERE email = ? AND client_device_id = ? AND attempts < 5 AND spent_at IS NULL AND expires_at > ?
      """,
      [.text(email), .text(device.clientDeviceID), .time(transaction.now)])
    guard counted == 1 else { return nil }
    return try transaction.connection.row(
      """
      SELECT email, code_mac, attempts, device_name, platform FROM login_codes
      WHERE email = ? AND client_device_id = ?
      """,
      [.text(email), .text(device.clientDeviceID)]
    ) { row in TypedCode(row: row) }
  }

  /// - Returns: whether this call is the one that spends the code.
  fileprivate func spend(_ code: TypedCode, on device: SigningDevice) throws(DatabaseError) -> Bool
  {
    let now = Parameter.time(transaction.now)
    return try transaction.connection.execute(
      """
      UPDATE login_codes SET spent_at = ?
      WHERE email = ? AND client_device_id = ? AND code_mac = ? AND spent_at IS NULL AND expires_at > ?
      """,
      [now, .text(code.email), .text(device.clientDeviceID), .bytes(code.codeMAC), now]) == 1
  }
}

extension Transaction {
  var loginCodes: LoginCodeStatements {
    LoginCodeStatements(transaction: Transaction(sharing: self))
  }
}

/// The code that a try was counted against.
struct TypedCode {
  let email: String
  fileprivate let codeMAC: [UInt8]
  fileprivate let attempts: Int64
  let deviceName: String?
  let platform: DevicePlatform?

  fileprivate init(row: borrowing Row) {
    email = row.text(0)
    codeMAC = row.bytes(1)
    attempts = row.integer(2)
    deviceName = row.optionalText(3)
    platform = row.optionalText(4).flatMap { DevicePlatform(rawValue: $0) }
  }
}

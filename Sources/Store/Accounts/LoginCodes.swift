import Base
import Cryptography
import MariaDB

/// Mailed codes as requests use them.
package struct LoginCodes: Sendable {
  let records: Records

  /// Offers the passkeys of the account that has the code's e-mail address, and stores `challenge`
  /// for them. Without passkeys it replaces the live code of e-mail, device and asker and posts the
  /// mail.
  ///
  /// For an e-mail address without an account it runs the statements of an account without
  /// passkeys, and posts a mail that is never sent, so that neither answer nor time reveals it. The
  /// same happens for an unproven address, after six mails a day from one network, or 30 in all.
  ///
  /// - Parameter challenge: nil for a sign-in by code.
  /// - Throws: ``Refusal/credential(account:device:)``; ``RateLimited``: from one network 20 codes an hour, 10 in 15
  ///   minutes to one e-mail, 3 for one e-mail and one device, 15 a day to one e-mail; from all networks 60 a day to
  ///   one e-mail; for a device of the account only 3 in 15 minutes and 60 a day; 20 challenges a minute from one
  ///   address.
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
  ///   - bearer: the caller whom the request's access token names, if it is valid.
  ///   - macs: the MACs that the typed code has for an e-mail address, one for each key.
  /// - Throws: ``Refusal/credential(account:device:)``; ``Refusal/banned(account:)`` for a right code;
  ///   ``RateLimited`` at more than 100 tries an hour from one address that name no live code.
  /// - Returns: ``SignInOutcome/refused`` also if the code is dead: after five tries, or after one
  ///   on a day with too many wrong codes; see ``CodeTryStatements``.
  package func signIn(
    with name: LoginCodeName, on device: SigningDevice, bearer: Caller?,
    macs: (_ email: String) -> [[UInt8]]
  ) throws -> SignInOutcome {
    try records.signIns.requireValidCredential(of: device)
    let signedIn = try redeem(name, on: device, macs: macs) { transaction, account, typed in
      try transaction.addressProofs.record(of: account, on: device, bearer: bearer)
      // Read again: a handover of the account changes its name.
      let account = try transaction.accounts.find(id: account.id) ?? account
      var device = device
      device.name = device.name ?? typed.deviceName
      device.platform = device.platform ?? typed.platform
      return (account, try transaction.signIns.begin(account.id, on: device, by: .code))
    }
    return signedIn.map { account, session in .signedIn(account, session) } ?? .refused
  }

  /// Spends a right code, and runs `body` in the same transaction, unless the account is banned.
  ///
  /// - Throws: what ``signIn(with:on:bearer:macs:)`` throws.
  /// - Returns: nil if the code is wrong, dead or of no account.
  func redeem<T>(
    _ name: LoginCodeName, on device: SigningDevice, macs: (_ email: String) -> [[UInt8]],
    _ body: (borrowing Transaction, Account, TypedCode) throws -> T
  ) throws -> T? {
    let counted = try records.transaction { transaction in
      try transaction.codeTries.count(name, on: device)
    }
    guard let first = counted.codes.first else {
      try auditDead(name, on: device)
      return nil
    }
    let typedMACs = macs(first.email)
    let right = counted.codes.first { code in
      typedMACs.contains { isEqualInConstantTime($0, code.codeMAC) }
    }
    guard let right else {
      try auditWrong(first, on: device)
      return nil
    }
    // Found before the transaction, which locks the account by its id, as all others do, and before
    // the first read, so that all later reads see current rows.
    let id = try records.read { transaction in
      try transaction.accounts.find(email: right.email)?.id
    }
    let redeemed = try records.transaction { transaction -> Redeemed<T>? in
      // The account comes first, as in every transaction that locks both.
      let banState = try id.flatMap { id in try transaction.accounts.lockForSignIn(id) }
      guard try transaction.codeTries.spend(right), let id, let isBanned = banState,
        let account = try transaction.accounts.find(id: id),
        account.email == right.email  // it may have got another address since it was found
      else { return nil }
      let outcome =
        isBanned
        ? Redeemed<T>.banned(account: id) : .done(try body(transaction, account, right))
      try transaction.codeTries.giveBack(counted)
      return outcome
    }
    switch redeemed {
    case nil: return nil
    case .banned(let account): throw Refusal.banned(account: account)
    case .done(let result): return result
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
        typed.isDead ? .codeDead : .codeRefused, account: account?.id,
        device: try transaction.devices.id(of: device.clientDeviceID, account: account),
        detail: typed.isOwn ? "try \(typed.attempts)" : "try \(typed.attempts) of others")
    }
  }
}

extension Records {
  package var loginCodes: LoginCodes { LoginCodes(records: self) }
}

/// The result of a right code.
private enum Redeemed<T> {
  case done(T)
  case banned(account: String)
}

/// Statements on `login_codes`.
struct LoginCodeStatements: ~Copyable {
  let transaction: Transaction

  /// Replaces the live code of e-mail, device and asker, and posts the mail, which is sent only if an account
  /// has the e-mail address. Codes that others asked for stay.
  ///
  /// - Throws: ``RateLimited``.
  func mail(_ code: NewLoginCode, on device: SigningDevice) throws {
    let user = try transaction.knownDevices.find(device, of: code.email)
    try transaction.codeLimits.countRequest(by: user, for: code.email, on: device)
    let account = try transaction.accounts.find(email: code.email)
    let mayMail = try transaction.codeLimits.admitMail(to: code.email, by: user)
    try replace(code, on: device, askedBy: transaction.asker(user))
    try transaction.mails.post(
      .loginCode, to: code.email, of: account?.id,
      MailContent(
        secret: code.digits, language: device.language ?? account?.language ?? .english,
        device: device.name ?? "", address: transaction.origin.storedAddress, at: transaction.now,
        handsOver: try transaction.addressProofs.wouldHandOver(code.email, by: device)),
      id: code.mailID, isSuppressed: account == nil || !mayMail,
      lifetime: code.expiresAt - transaction.now)
    try transaction.audit.write(
      .codeRequested, account: account?.id,
      device: try transaction.devices.id(of: device.clientDeviceID, account: account))
  }

  /// Ends the codes that were mailed to the account's address: they may be in the hands of a thief
  /// who has read the mailbox.
  func endAll(of account: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE login_codes SET spent_at = ?
      WHERE email = (SELECT email FROM accounts WHERE id = ?) AND spent_at IS NULL
      """,
      [.time(transaction.now), .text(account)])
  }

  private func replace(
    _ code: NewLoginCode, on device: SigningDevice, askedBy asker: String
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO login_codes (email, client_device_id, asked_by, challenge_hash, code_mac,
        device_name, platform, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE challenge_hash = VALUES(challenge_hash), code_mac = VALUES(code_mac),
        device_name = VALUES(device_name), platform = VALUES(platform), attempts = 0,
        others_attempts = 0, expires_at = VALUES(expires_at), spent_at = NULL
      """,
      [
        .text(code.email), .text(device.clientDeviceID), .text(asker), .bytes(code.challengeHash),
        .bytes(code.codeMAC), .text(device.name), .text(device.platform?.rawValue),
        .time(code.expiresAt),
      ])
  }
}

extension Transaction {
  var loginCodes: LoginCodeStatements {
    LoginCodeStatements(transaction: Transaction(sharing: self))
  }
}

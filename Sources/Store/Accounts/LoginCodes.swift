package import Base
import Cryptography
import MariaDB

/// A mailed code, and what is kept of it.
package struct NewLoginCode: Sendable {
  /// Lower-cased.
  package let email: String
  /// SHA-256 of the challenge that the app gets.
  package let challengeHash: [UInt8]
  /// HMAC of the code, bound to e-mail and device.
  package let codeMAC: [UInt8]
  /// Of the mail's row in the outbox.
  package let mailID: String
  /// The code, sealed for the companion.
  package let sealed: String
  package let expiresAt: Timestamp

  package init(
    email: String, challengeHash: [UInt8], codeMAC: [UInt8], mailID: String, sealed: String,
    expiresAt: Timestamp
  ) {
    self.email = email
    self.challengeHash = challengeHash
    self.codeMAC = codeMAC
    self.mailID = mailID
    self.sealed = sealed
    self.expiresAt = expiresAt
  }
}

/// How somebody is to sign in.
package enum SignInStart: Sendable, Equatable {
  case codeMailed
  /// With one of these passkeys, named by their ids as authenticators know them.
  case passkey(offered: [[UInt8]])
  /// The device is neither registered nor described.
  case deviceUnknown
}

/// What somebody who types a code names it by.
package enum LoginCodeName: Sendable {
  case email(String)
  /// SHA-256 of the challenge.
  case challenge([UInt8])
}

extension Database {
  /// Keeps `challenge` where an account with passkeys has the code's e-mail address. Else replaces the live code of
  /// e-mail and device, and puts the mail into the outbox.
  ///
  /// An unknown e-mail takes the same statements as that of an account without passkeys, with a mail that is never sent,
  /// so that neither answer nor time tells.
  ///
  /// - Parameter challenge: nil where a code is asked for.
  /// - Throws: ``Refusal/rateLimited(retryAfter:)``: 20 codes an hour from one address, 10 to one e-mail
  ///   and 3 for it and one device in 15 minutes; 20 challenges a minute from one address.
  package func startSignIn(
    with code: NewLoginCode, or challenge: NewPasskeyChallenge?, on device: SigningDevice,
    from origin: Origin, at now: Timestamp
  ) throws -> SignInStart {
    try pool.transaction { connection in
      guard try connection.isKnown(device) else { return .deviceUnknown }
      if let challenge {
        let offered = try connection.startSignIn(
          code.email, with: challenge, on: device, from: origin, at: now)
        if !offered.isEmpty { return .passkey(offered: offered) }
      }
      try connection.count(.codesByAddress, of: origin.address, at: now)
      try connection.count(.codesByEmail, of: code.email, at: now)
      try connection.count(
        .codesByDevice, of: "\(code.email) \(device.clientDeviceID)", at: now)
      let account = try connection.account(email: code.email)
      try connection.replaceCode(code, device: device)
      try connection.post(
        Mail(id: code.mailID, recipient: code.email, sealed: code.sealed),
        suppressed: account == nil, lifetime: code.expiresAt - now, from: origin)
      try connection.audit(
        .codeRequested, account: account?.id,
        device: try connection.deviceID(device.clientDeviceID, of: account), from: origin, at: now)
      return .codeMailed
    }
  }

  /// Signs in with a mailed code. The try is counted before the code is compared.
  ///
  /// - Parameter macs: the MACs that the typed code has for an e-mail address, one for each key.
  /// - Throws: ``Refusal/credential(account:device:)``.
  /// - Returns: nil where the code is wrong, expired, spent, or dead after five tries.
  package func signIn(
    withCodeOf name: LoginCodeName, on device: SigningDevice, from origin: Origin,
    at now: Timestamp, macs: (_ email: String) -> [[UInt8]]
  ) throws -> (Account, Session)? {
    guard let typed = try countTry(of: name, on: device, at: now) else {
      try auditDeadSignIn("no live code", from: origin, at: now) { connection in
        guard case .email(let email) = name else { return [(nil, nil)] }
        let account = try connection.account(email: email)
        return [(account?.id, try connection.deviceID(device.clientDeviceID, of: account))]
      }
      return nil
    }
    let isRight = macs(typed.email).contains { isEqualInConstantTime($0, typed.codeMAC) }
    guard isRight else {
      try pool.transaction { connection in
        let account = try connection.account(email: typed.email)
        try connection.audit(
          typed.attempts < 5 ? .codeRefused : .codeDead, account: account?.id,
          device: try connection.deviceID(device.clientDeviceID, of: account),
          detail: "try \(typed.attempts)", from: origin, at: now)
      }
      return nil
    }
    return try pool.transaction { connection in
      guard try connection.spend(typed, on: device, at: now),
        let account = try connection.account(email: typed.email)
      else { return nil }
      var device = device
      device.name = device.name ?? typed.deviceName
      device.platform = device.platform ?? typed.platform
      return (account, try connection.signIn(account.id, on: device, from: origin, at: now))
    }
  }

  /// Counts a try against the live code.
  ///
  /// - Returns: nil where there is no code that may still be tried.
  private func countTry(
    of name: LoginCodeName, on device: SigningDevice, at now: Timestamp
  ) throws -> TypedCode? {
    try pool.transaction { connection in
      let email: String
      switch name {
      case .email(let given): email = given
      case .challenge(let hash):
        let found = try connection.row(
          "SELECT email FROM login_codes WHERE challenge_hash = ? AND client_device_id = ?",
          [.bytes(hash), .text(device.clientDeviceID)]
        ) { row in row.text(0) }
        guard let found else { return nil }
        email = found
      }
      return try connection.countTry(email: email, on: device, at: now)
    }
  }
}

extension Connection {
  /// The row of the account's device, nil where it has none; asks also where there is no account, so
  /// that the time does not tell.
  func deviceID(
    _ clientDeviceID: String, of account: Account?
  ) throws(DatabaseError) -> String? {
    try row(
      "SELECT id FROM devices WHERE account_id = ? AND client_device_id = ?",
      // Of nobody, for NULL would need no look.
      [.text(account?.id ?? "00000000-0000-0000-0000-000000000000"), .text(clientDeviceID)]
    ) { row in row.text(0) }
  }

  fileprivate func replaceCode(
    _ code: NewLoginCode, device: SigningDevice
  ) throws(DatabaseError) {
    _ = try execute(
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

  fileprivate func countTry(
    email: String, on device: SigningDevice, at now: Timestamp
  ) throws(DatabaseError) -> TypedCode? {
    let counted = try execute(
      """
      UPDATE login_codes SET attempts = attempts + 1
      WHERE email = ? AND client_device_id = ? AND attempts < 5 AND spent_at IS NULL AND expires_at > ?
      """,
      [.text(email), .text(device.clientDeviceID), .time(now)])
    guard counted == 1 else { return nil }
    return try row(
      """
      SELECT email, code_mac, attempts, device_name, platform FROM login_codes
      WHERE email = ? AND client_device_id = ?
      """,
      [.text(email), .text(device.clientDeviceID)]
    ) { row in TypedCode(row: row) }
  }

  /// - Returns: whether this call is the one that spends the code.
  fileprivate func spend(
    _ code: TypedCode, on device: SigningDevice, at now: Timestamp
  ) throws(DatabaseError) -> Bool {
    try execute(
      """
      UPDATE login_codes SET spent_at = ?
      WHERE email = ? AND client_device_id = ? AND code_mac = ? AND spent_at IS NULL AND expires_at > ?
      """,
      [
        .time(now), .text(code.email), .text(device.clientDeviceID), .bytes(code.codeMAC),
        .time(now),
      ]) == 1
  }
}

/// The code that a try was counted against.
private struct TypedCode {
  let email: String
  let codeMAC: [UInt8]
  let attempts: Int64
  let deviceName: String?
  let platform: DevicePlatform?

  init(row: borrowing Row) {
    email = row.text(0)
    codeMAC = row.bytes(1)
    attempts = row.integer(2)
    deviceName = row.optionalText(3)
    platform = row.optionalText(4).flatMap { DevicePlatform(rawValue: $0) }
  }
}

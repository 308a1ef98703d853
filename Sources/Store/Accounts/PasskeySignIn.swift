import Base
package import Cryptography
import MariaDB

/// What a challenge was issued for; it answers for nothing else.
enum PasskeyPurpose: String {
  case registration, authentication
}

/// What an app sends to sign in with a passkey.
package struct PasskeySignIn: Sendable {
  package let assertion: PasskeyAssertion
  /// SHA-256 of the challenge that the app names, or else of the one that the client data name.
  package let challengeHash: [UInt8]
  /// Lower-cased; where the app names one, it must be the account's.
  package let email: String?

  package init(assertion: PasskeyAssertion, challengeHash: [UInt8], email: String?) {
    self.assertion = assertion
    self.challengeHash = challengeHash
    self.email = email
  }
}

extension Database {
  /// Signs in with the assertion of a passkey. The live challenge that it answers, on the device that asked for it, is
  /// spent whatever comes of it, before anything is verified.
  ///
  /// - Throws: ``Refusal/credential(account:device:)``.
  /// - Returns: nil where the challenge is not live, or anything about the assertion is wrong; an unknown passkey takes
  ///   as long as a wrong signature.
  package func signIn(
    with given: PasskeySignIn, at party: RelyingParty, on device: SigningDevice,
    from origin: Origin, at now: Timestamp
  ) throws -> (Account, Session)? {
    let asked = try pool.transaction { connection in
      try connection.spendChallenge(of: given, on: device, at: now)
    }
    let use: PasskeyUse
    do throws(WebAuthnError) {
      use = try party.verify(
        given.assertion, by: asked?.passkey, of: asked?.account.id,
        challengeHash: given.challengeHash)
    } catch {
      if let asked {
        try pool.write { connection in
          try connection.auditRefusal(
            error, in: "sign-in", account: asked.account.id, device: asked.deviceID,
            from: origin, at: now)
        }
      } else {
        try auditDeadSignIn("passkey: no live challenge", from: origin, at: now) { connection in
          let account = try connection.row(
            "SELECT account_id FROM passkey_challenges WHERE challenge_hash = ?",
            [.bytes(given.challengeHash)]
          ) { row in row.text(0) }
          return [(account, nil)]
        }
      }
      return nil
    }
    guard let asked, let passkey = asked.passkey else { return nil }
    return try pool.transaction { connection in
      if let error = try connection.record(use, of: passkey, at: now) {
        try connection.auditRefusal(
          error, in: "sign-in", account: asked.account.id, device: asked.deviceID, from: origin,
          at: now)
        return nil
      }
      var device = device
      device.name = device.name ?? asked.challenge.deviceName
      device.platform = device.platform ?? asked.challenge.platform
      let session = try connection.signIn(
        asked.account.id, on: device, detail: "passkey", from: origin, at: now)
      return (asked.account, session)
    }
  }
}

extension Connection {
  /// Keeps a challenge for the account with `email`, if it has passkeys.
  ///
  /// For an account without and for an e-mail address that nobody has this is one statement, the same.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` at more than 20 a minute from one address.
  /// - Returns: the ids of the passkeys as authenticators know them, the newest first; none: there is no challenge.
  func startSignIn(
    _ email: String, with challenge: NewPasskeyChallenge, on device: SigningDevice,
    from origin: Origin, at now: Timestamp
  ) throws -> [[UInt8]] {
    let offered = try rows(
      """
      SELECT p.account_id, p.credential_id FROM accounts a JOIN passkeys p ON p.account_id = a.id
      WHERE a.email = ? ORDER BY p.created_at DESC, p.id
      """,
      [.text(email)]
    ) { row in (account: row.text(0), credentialID: row.bytes(1)) }
    guard let account = offered.first?.account else { return [] }
    try count(.passkeyStarts, of: origin.address, at: now)
    try insert(
      challenge, for: .authentication, of: account, clientDeviceID: device.clientDeviceID,
      name: device.name, platform: device.platform)
    return offered.map(\.credentialID)
  }

  func insert(
    _ challenge: NewPasskeyChallenge, for purpose: PasskeyPurpose, of account: String,
    clientDeviceID: String, name: String? = nil, platform: DevicePlatform? = nil
  ) throws(DatabaseError) {
    _ = try execute(
      """
      INSERT INTO passkey_challenges (challenge_hash, purpose, account_id, client_device_id,
        device_name, platform, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .bytes(challenge.hash), .text(purpose.rawValue), .text(account), .text(clientDeviceID),
        .text(name), .text(platform?.rawValue), .time(challenge.expiresAt),
      ])
  }

  /// Spends a challenge that is live, was issued for `purpose` and on the device.
  ///
  /// - Returns: nil where there is none such: another call may have spent it.
  func spend(
    _ challengeHash: [UInt8], for purpose: PasskeyPurpose, onDevice clientDeviceID: String,
    at now: Timestamp
  ) throws(DatabaseError) -> SpentPasskeyChallenge? {
    let spent = try execute(
      """
      UPDATE passkey_challenges SET spent_at = ?
      WHERE challenge_hash = ? AND purpose = ? AND client_device_id = ? AND spent_at IS NULL
        AND expires_at > ?
      """,
      [
        .time(now), .bytes(challengeHash), .text(purpose.rawValue), .text(clientDeviceID),
        .time(now),
      ])
    guard spent == 1 else { return nil }
    return try row(
      "SELECT account_id, device_name, platform FROM passkey_challenges WHERE challenge_hash = ?",
      [.bytes(challengeHash)]
    ) { row in SpentPasskeyChallenge(row: row) }
  }

  /// - Returns: nil where there is no such challenge, or it is not for the account with the e-mail address that was
  ///   given.
  fileprivate func spendChallenge(
    of given: PasskeySignIn, on device: SigningDevice, at now: Timestamp
  ) throws(DatabaseError) -> AskedSignIn? {
    guard
      let challenge = try spend(
        given.challengeHash, for: .authentication, onDevice: device.clientDeviceID, at: now),
      let account = try account(id: challenge.accountID),
      given.email.map({ $0 == account.email }) ?? true
    else { return nil }
    return AskedSignIn(
      challenge: challenge, account: account,
      deviceID: try deviceID(device.clientDeviceID, of: account),
      passkey: try passkey(withCredentialID: given.assertion.credentialID, of: account.id))
  }
}

struct SpentPasskeyChallenge {
  let accountID: String
  /// As the request for the challenge described the device.
  let deviceName: String?
  let platform: DevicePlatform?

  fileprivate init(row: borrowing Row) {
    accountID = row.text(0)
    deviceName = row.optionalText(1)
    platform = row.optionalText(2).flatMap { DevicePlatform(rawValue: $0) }
  }
}

private struct AskedSignIn {
  let challenge: SpentPasskeyChallenge
  let account: Account
  /// Of the account's device, if it is one already.
  let deviceID: String?
  let passkey: StoredPasskey?
}

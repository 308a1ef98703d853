import Base
package import Cryptography
import MariaDB

/// What an app sends to sign in with a passkey.
package struct PasskeySignIn: Sendable {
  package let assertion: PasskeyAssertion
  /// SHA-256 of the challenge that the app names, or else of the one in the client data.
  package let challengeHash: [UInt8]
  /// Lower-cased. If the app names one, it must be the account's.
  package let email: String?

  package init(assertion: PasskeyAssertion, challengeHash: [UInt8], email: String?) {
    self.assertion = assertion
    self.challengeHash = challengeHash
    self.email = email
  }
}

extension Passkeys {
  /// Signs in with the assertion of a passkey. Its live challenge, issued for the same device, is
  /// spent whatever the outcome, before anything is verified.
  ///
  /// It is refused if the challenge is not live, or if anything about the assertion is wrong. An
  /// unknown passkey takes as long as a wrong signature.
  ///
  /// - Throws: ``Refusal/credential(account:device:)``.
  package func signIn(
    with given: PasskeySignIn, at party: RelyingParty, on device: SigningDevice
  ) throws -> SignInOutcome {
    try records.signIns.requireValidCredential(of: device)
    let asked = try records.transaction { transaction in
      try transaction.passkeys.spendChallenge(of: given, on: device)
    }
    let use: PasskeyUse
    do throws(WebAuthnError) {
      use = try party.verify(
        given.assertion, by: asked?.passkey, of: asked?.account.id,
        challengeHash: given.challengeHash)
    } catch {
      try auditRefusal(error, of: given, asked)
      return .refused
    }
    guard let asked, let passkey = asked.passkey else { return .refused }
    return try records.transaction { transaction in
      switch try transaction.passkeys.record(use, of: passkey) {
      case .recorded:
        return .signedIn(asked.account, try transaction.signIns.begin(asked, on: device))
      case .cloned: try transaction.passkeys.auditRefusal(.signCount, of: asked)
      case .gone: try transaction.passkeys.auditRefusal(.credential, of: asked)
      }
      return .refused
    }
  }

  private func auditRefusal(
    _ error: WebAuthnError, of given: PasskeySignIn, _ asked: AskedSignIn?
  ) throws {
    if let asked {
      return try records.transaction { transaction in
        try transaction.passkeys.auditRefusal(error, of: asked)
      }
    }
    try records.signIns.auditDead("passkey: no live challenge") { transaction in
      [(try transaction.passkeyChallenges.account(of: given.challengeHash), nil)]
    }
  }
}

/// A sign-in whose challenge was live.
private struct AskedSignIn {
  let challenge: SpentPasskeyChallenge
  let account: Account
  /// The account's device; nil if nobody has signed in on it yet.
  let deviceID: String?
  /// nil if the account does not have the passkey.
  let passkey: StoredPasskey?
}

extension PasskeyStatements {
  /// Keeps a challenge for the account with `email`, if it has passkeys and its address is proven:
  /// else the passkeys may be a stranger's.
  ///
  /// An account without passkeys and an unknown e-mail address take the same single statement.
  ///
  /// - Throws: ``RateLimited``
  /// - Returns: the ids of the account's passkeys as authenticators know them, the newest first. If
  ///   there are none, no challenge is kept.
  func startSignIn(
    _ email: String, with challenge: NewPasskeyChallenge, on device: SigningDevice
  ) throws -> [[UInt8]] {
    let offered = try transaction.connection.rows(
      """
      SELECT p.account_id, p.credential_id FROM accounts a JOIN passkeys p ON p.account_id = a.id
      WHERE a.email = ? AND a.email_verified_at IS NOT NULL ORDER BY p.created_at DESC, p.id
      """,
      [.text(email)]
    ) { row in (account: row.text(0), credentialID: row.bytes(1)) }
    guard let account = offered.first?.account else { return [] }
    try transaction.passkeys.countStart(by: transaction.knownDevices.find(device, of: email))
    try transaction.passkeyChallenges.insert(
      challenge, for: .authentication, of: account, clientDeviceID: device.clientDeviceID,
      name: device.name, platform: device.platform)
    return offered.map(\.credentialID)
  }

  /// Counts a challenge for a passkey: 20 a minute from one address, or for one device of the account.
  ///
  /// - Throws: ``RateLimited``
  func countStart(by known: KnownDevice) throws {
    if let own = known.subject {
      try transaction.limits.count(.passkeyStartsByKnownDevice, of: own)
    } else {
      try transaction.limits.countAddress(.passkeyStarts)
    }
  }

  /// - Returns: nil if there is no such challenge, or if its account does not have the e-mail
  ///   address that was given.
  fileprivate func spendChallenge(
    of given: PasskeySignIn, on device: SigningDevice
  ) throws -> AskedSignIn? {
    guard
      let challenge = try transaction.passkeyChallenges.spend(
        given.challengeHash, for: .authentication, on: device.clientDeviceID),
      let account = try transaction.accounts.find(id: challenge.accountID),
      given.email.map({ $0 == account.email }) ?? true
    else { return nil }
    return AskedSignIn(
      challenge: challenge, account: account,
      deviceID: try transaction.devices.id(of: device.clientDeviceID, account: account),
      passkey: try find(credentialID: given.assertion.credentialID, of: account.id))
  }

  fileprivate func auditRefusal(
    _ error: WebAuthnError, of asked: AskedSignIn
  ) throws(DatabaseError) {
    try auditRefusal(error, in: "sign-in", account: asked.account.id, device: asked.deviceID)
  }
}

extension SignInStatements {
  /// The request for the challenge describes what this request leaves out of the device.
  fileprivate func begin(_ asked: AskedSignIn, on device: SigningDevice) throws -> Session {
    var device = device
    device.name = device.name ?? asked.challenge.deviceName
    device.platform = device.platform ?? asked.challenge.platform
    return try begin(asked.account.id, on: device, detail: "passkey")
  }
}

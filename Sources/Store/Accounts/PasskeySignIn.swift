import Base
package import Cryptography
import MariaDB

/// An app's request to sign in with a passkey.
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
  /// Stores a challenge for any passkey of the site: the passkey that answers names the account.
  ///
  /// - Throws: ``RateLimited`` at more than 20 a minute from one address, or from the device that shows its
  ///   credential; ``Refusal/credential(account:device:)``.
  /// - Returns: false if the device is neither registered nor described.
  package func startSignIn(
    with challenge: NewPasskeyChallenge, on device: SigningDevice
  ) throws -> Bool {
    try records.signIns.requireValidCredential(of: device)
    return try records.transaction { transaction in
      guard try transaction.signIns.isKnown(device) else { return false }
      let known = try transaction.knownDevices.find(device)
      try transaction.passkeys.countStart(by: known)
      try transaction.phoneChallenges.insert(
        challenge.hash, for: .passkey, on: device, askedBy: transaction.asker(known),
        until: challenge.expiresAt)
      return true
    }
  }

  /// Signs in with the assertion of a passkey. Its live challenge, issued for the same device, is
  /// spent whatever the outcome, before anything is verified.
  ///
  /// The sign-in is refused if the challenge is not live, or if anything about the assertion is
  /// wrong. An unknown passkey takes as long as a wrong signature.
  ///
  /// - Throws: ``Refusal/credential(account:device:)``.
  package func signIn(
    with given: PasskeySignIn, at party: RelyingParty, on device: SigningDevice
  ) throws -> SignInOutcome {
    try records.signIns.requireValidCredential(of: device)
    let spent = try records.transaction { transaction in
      try transaction.passkeys.spendChallenge(of: given, on: device)
    }
    let asked = spent.signIn
    let use: PasskeyUse
    do throws(WebAuthnError) {
      use = try party.verify(
        given.assertion, by: asked?.passkey, of: asked?.account.id,
        challengeHash: given.challengeHash)
    } catch {
      try auditRefusal(error, of: given, spent)
      let isKnown = try records.read { transaction in
        try transaction.passkeys.exists(credentialID: given.assertion.credentialID)
      }
      return spent.wasLive && !isKnown ? .unknownPasskey : .refused
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
    _ error: WebAuthnError, of given: PasskeySignIn, _ spent: SpentChallenge
  ) throws {
    if let asked = spent.signIn {
      return try records.transaction { transaction in
        try transaction.passkeys.auditRefusal(error, of: asked)
      }
    }
    let reason = spent.wasLive ? "passkey: of no account" : "passkey: no live challenge"
    try records.signIns.auditDead(reason) { transaction in
      [(try transaction.passkeyChallenges.account(of: given.challengeHash), nil)]
    }
  }
}

private struct SpentChallenge {
  /// Whether the challenge was live.
  let wasLive: Bool
  /// nil if the challenge was not live, or no account is known.
  let signIn: AskedSignIn?
}

/// A sign-in whose challenge was live.
private struct AskedSignIn {
  /// The name in the request for the challenge.
  let deviceName: String?
  let platform: DevicePlatform?
  let account: Account
  /// The account's device; nil before its first sign-in.
  let deviceID: String?
  /// nil if the account does not have the passkey.
  let passkey: StoredPasskey?
}

extension PasskeyStatements {
  /// Stores a challenge for the account with `email`, if it has passkeys and its address is proven:
  /// otherwise the passkeys may be a stranger's.
  ///
  /// An account without passkeys and an unknown e-mail address take the same single statement.
  ///
  /// - Throws: ``RateLimited``
  /// - Returns: the ids of the account's passkeys as authenticators know them, the newest first. If
  ///   there are none, no challenge is stored.
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

  /// Counts a challenge for a passkey: 20 a minute from one address, or from the device that shows its
  /// credential.
  ///
  /// - Throws: ``RateLimited``
  func countStart(by known: KnownDevice) throws {
    // Naming a device is not enough: a stranger could use up its owner's limit.
    if case .proven(let id) = known {
      try transaction.limits.count(.passkeyStartsByKnownDevice, of: id)
    } else {
      try transaction.limits.countAddress(.passkeyStarts)
    }
  }

  /// Spends the challenge, which was issued for an account or for any passkey.
  fileprivate func spendChallenge(
    of given: PasskeySignIn, on device: SigningDevice
  ) throws -> SpentChallenge {
    if let challenge = try transaction.passkeyChallenges.spend(
      given.challengeHash, for: .authentication, on: device.clientDeviceID)
    {
      let passkey = try find(
        credentialID: given.assertion.credentialID, of: challenge.accountID)
      let asked = try signIn(
        to: challenge.accountID, with: passkey, given, on: device,
        describedAs: (challenge.deviceName, challenge.platform))
      return SpentChallenge(wasLive: asked != nil, signIn: asked)
    }
    guard
      try transaction.phoneChallenges.spend(
        given.challengeHash, for: .passkey, on: device.clientDeviceID)
    else { return SpentChallenge(wasLive: false, signIn: nil) }
    guard let passkey = try findOfProven(credentialID: given.assertion.credentialID) else {
      return SpentChallenge(wasLive: true, signIn: nil)
    }
    let description = try transaction.phoneChallenges.description(of: given.challengeHash)
    return SpentChallenge(
      wasLive: true,
      signIn: try signIn(
        to: passkey.accountID, with: passkey, given, on: device,
        describedAs: description ?? (nil, nil)))
  }

  /// - Returns: nil if the account is gone, or does not have the e-mail address that was given.
  private func signIn(
    to accountID: String, with passkey: StoredPasskey?, _ given: PasskeySignIn,
    on device: SigningDevice, describedAs description: (name: String?, platform: DevicePlatform?)
  ) throws -> AskedSignIn? {
    guard let account = try transaction.accounts.find(id: accountID),
      given.email.map({ $0 == account.email }) ?? true
    else { return nil }
    return AskedSignIn(
      deviceName: description.name, platform: description.platform, account: account,
      deviceID: try transaction.devices.id(of: device.clientDeviceID, account: account),
      passkey: passkey)
  }

  fileprivate func auditRefusal(
    _ error: WebAuthnError, of asked: AskedSignIn
  ) throws(DatabaseError) {
    try auditRefusal(error, in: "sign-in", account: asked.account.id, device: asked.deviceID)
  }
}

extension SignInStatements {
  /// Takes the device's name and platform from the request for the challenge, if this request has
  /// none.
  fileprivate func begin(_ asked: AskedSignIn, on device: SigningDevice) throws -> Session {
    var device = device
    device.name = device.name ?? asked.deviceName
    device.platform = device.platform ?? asked.platform
    return try begin(asked.account.id, on: device, by: .passkey, detail: "passkey")
  }
}

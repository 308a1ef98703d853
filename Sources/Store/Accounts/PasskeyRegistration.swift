import Base
package import Cryptography
import MariaDB

/// An app's answer to register a passkey (`AuthenticatorAttestationResponse`), with its name.
package struct NewPasskey: Sendable {
  package let name: String
  package let clientDataJSON: [UInt8]
  package let attestationObject: [UInt8]
  /// SHA-256 of the challenge in the client data.
  package let challengeHash: [UInt8]

  package init(
    name: String, clientDataJSON: [UInt8], attestationObject: [UInt8], challengeHash: [UInt8]
  ) {
    self.name = name
    self.clientDataJSON = clientDataJSON
    self.attestationObject = attestationObject
    self.challengeHash = challengeHash
  }
}

package enum PasskeyRegistrationStart: Sendable {
  /// The account that gets the passkey. An authenticator that holds one of `excluded` must not make
  /// another.
  case started(Account, excluded: [[UInt8]])
  /// The account has as many passkeys as it may have.
  case full
}

package enum PasskeyRegistrationOutcome: Sendable {
  /// - Parameter isOffered: whether sign-ins offer the passkey: only if the account's address is
  ///   proven.
  case registered(ListedPasskey, isOffered: Bool)
  /// The challenge is not live, or the response does not verify.
  case refused
  /// The credential's id is in use, by this account or another.
  case taken
  /// The account has as many passkeys as it may have.
  case full
}

extension Passkeys {
  /// Stores a challenge for a new passkey of the caller's account, to be answered on the same
  /// device.
  ///
  /// - Throws: ``Refusal``, also if the caller shows no fresh proof; ``RateLimited`` at more than
  ///   20 a minute from one address, or from the device that shows its credential, including
  ///   sign-ins.
  package func startRegistration(
    _ challenge: NewPasskeyChallenge, by caller: Caller
  ) throws -> PasskeyRegistrationStart {
    try records.transaction { transaction in
      let session = try transaction.sessions.live(caller)
      try transaction.sessions.requireProofForPasskey(caller)
      guard let account = try transaction.accounts.find(id: caller.accountID) else {
        throw Refusal.sessionEnded
      }
      let excluded = try transaction.passkeys.credentialIDs(of: account.id)
      guard excluded.count < StoredPasskey.mostOfAnAccount else { return .full }
      try transaction.passkeys.countStart(
        by: session.isShown(by: caller, at: records.now)
          ? .proven(id: session.deviceID) : .stranger)
      try transaction.passkeyChallenges.insert(
        challenge, for: .registration, of: account.id, clientDeviceID: caller.clientDeviceID)
      return .started(account, excluded: excluded)
    }
  }

  /// Registers the passkey that answers a live challenge of the caller's account and device. The
  /// challenge is spent whatever the outcome.
  ///
  /// - Throws: ``Refusal``; ``RateLimited`` at more than 60 an hour.
  package func register(
    _ new: NewPasskey, at party: RelyingParty, by caller: Caller
  ) throws -> PasskeyRegistrationOutcome {
    guard let device = try spendChallenge(of: new, by: caller) else { return .refused }
    let passkey: Passkey
    do throws(WebAuthnError) {
      passkey = try party.verifyRegistration(
        clientDataJSON: new.clientDataJSON, attestationObject: new.attestationObject,
        challengeDigest: new.challengeHash)
    } catch {
      try records.transaction { transaction in
        try transaction.passkeys.auditRefusal(
          error, in: "registration", account: caller.accountID, device: device)
      }
      return .refused
    }
    return try add(passkey, named: new.name, by: caller, on: device)
  }

  /// - Returns: the id of the caller's device; nil if the challenge is not live or not the caller's.
  private func spendChallenge(of new: NewPasskey, by caller: Caller) throws -> String? {
    try records.transaction { transaction in
      let session = try transaction.sessions.live(caller)
      let challenge = try transaction.passkeyChallenges.spend(
        new.challengeHash, for: .registration, on: caller.clientDeviceID)
      return challenge?.accountID == caller.accountID ? session.deviceID : nil
    }
  }

  private func add(
    _ passkey: Passkey, named name: String, by caller: Caller, on deviceID: String
  ) throws -> PasskeyRegistrationOutcome {
    do {
      return try records.transaction { transaction in
        // First, because it also locks: the passkeys of one account are added one after the other,
        // and each call sees those that were added before.
        try transaction.limits.count(.passkeyRegistrations, of: caller.accountID)
        // A handover of the account ends this session before or after, not in between.
        try transaction.sessions.lock(caller)
        _ = try transaction.sessions.live(caller)
        try transaction.sessions.spendSignUpForPasskey(caller)
        let others = try transaction.passkeys.credentialIDs(of: caller.accountID)
        guard others.count < StoredPasskey.mostOfAnAccount else { return .full }
        let listed = ListedPasskey(
          id: transaction.makeID(), name: name, createdAt: transaction.now, lastUsedAt: nil)
        try transaction.passkeys.insert(passkey, as: listed, by: caller)
        try transaction.audit.write(
          .passkeyAdded, account: caller.accountID, device: deviceID, detail: listed.id)
        try transaction.notices.tell(.passkeyAdded(listed.id), of: caller.sessionID)
        return .registered(
          listed, isOffered: try transaction.accounts.isProven(caller.accountID))
      }
    } catch let error as DatabaseError where error.code == .duplicateEntry {
      return .taken
    }
  }
}

extension SessionStatements {
  /// Refuses the session of a sign-up that has added a passkey or key since the challenge was issued.
  ///
  /// - Throws: ``Refusal/noFreshProof``.
  fileprivate func spendSignUpForPasskey(_ caller: Caller) throws {
    guard try isSignUp(caller), try !hasFreshProof(caller) else { return }
    let age = Session.proofLifetime + NewPasskeyChallenge.lifetime
    guard try spendSignUp(caller, within: age) else { throw Refusal.noFreshProof }
  }
}

extension PasskeyStatements {
  fileprivate func insert(
    _ passkey: Passkey, as listed: ListedPasskey, by caller: Caller
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO passkeys (id, account_id, credential_id, public_key, sign_count, is_backup_eligible,
        is_backed_up, name, created_at, session_id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(listed.id), .text(caller.accountID), .bytes(passkey.credentialID),
        .bytes(passkey.publicKey),
        .integer(Int64(passkey.signCount)), .boolean(passkey.isBackupEligible),
        .boolean(passkey.isBackedUp), .text(listed.name), .time(listed.createdAt),
        .text(caller.sessionID),
      ])
  }
}

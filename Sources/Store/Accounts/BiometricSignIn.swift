package import Base
import Cryptography
import MariaDB

package enum BiometricOutcome: Sendable {
  case signedIn(Account, Session)
  /// No account has a key on the device.
  case unknown
  /// The signature is wrong, or the challenge is not live.
  case refused
}

extension Biometrics {
  /// Stores a challenge for the keys of a phone, or for the first key that the caller is to set up there.
  ///
  /// - Parameter caller: the caller whom the request's access token names, if it is valid.
  /// - Throws: ``RateLimited`` at more than 10 a minute from one network, or from the device that shows
  ///   its credential; ``Refusal/credential(account:device:)``.
  /// - Returns: false if no account has a key on the device, and the caller is not signed in there.
  package func keepChallenge(
    _ challenge: String, of device: SigningDevice, for caller: Caller?, until expiresAt: Timestamp
  ) throws -> Bool {
    try records.signIns.requireValidCredential(of: device)
    let hasKey = try records.read { transaction in
      try !transaction.biometrics.keys(on: device.clientDeviceID).isEmpty
    }
    guard try hasKey || isSignedIn(caller, on: device) else { return false }
    try records.transaction { transaction in
      let known = try transaction.knownDevices.find(device)
      let asker = transaction.asker(known)
      // First, because it also locks: requests of one asker run one after the other.
      try transaction.limits.count(
        .biometricChallenges, of: known.subject ?? "\(device.digest) \(asker)")
      try transaction.phoneChallenges.insert(
        sha256(challenge), for: .biometric, on: device, askedBy: asker, until: expiresAt)
    }
    return true
  }

  private func isSignedIn(_ caller: Caller?, on device: SigningDevice) throws -> Bool {
    guard let caller, caller.clientDeviceID == device.clientDeviceID else { return false }
    return try records.transaction { transaction in
      try transaction.sessions.deviceID(of: caller) != nil
    }
  }

  /// Signs in with a signature of a live challenge, which is spent whatever the outcome. The try is
  /// counted before the signature is verified.
  ///
  /// Several accounts may have a key on the device: the key that verifies the signature decides who
  /// is signed in.
  ///
  /// - Throws: ``RateLimited`` for 15 minutes after the fifth wrong signature from one network or
  ///   from the device that shows its credential, and for strangers at more than 100 an hour from
  ///   one address; ``Refusal/credential(account:device:)``.
  package func signIn(
    withSignature signature: String, of challenge: String, on device: SigningDevice
  ) throws -> BiometricOutcome {
    try records.signIns.requireValidCredential(of: device)
    switch try countTry(of: challenge, on: device) {
    case .unknown: return .unknown
    case .dead(let keys):
      try records.signIns.auditDead("biometric: no live challenge") { _ in
        keys.map { ($0.accountID, $0.deviceID) }
      }
      return .refused
    case .locked(let lock): throw lock
    case .counted(let tries, let known):
      let bytes = base64Decoded(challenge) ?? []
      let signer = try tries.first {
        try BiometricKey(base64: $0.key.publicKey).isSignature(signature, of: bytes)
      }
      if let signer {
        try giveBack(tries, signedWith: signer, by: known)
        return try signIn(with: signer.key, on: device)
      }
      try records.transaction { transaction in
        try transaction.biometrics.auditWrongSignature(of: tries)
      }
      return .refused
    }
  }

  /// Uses its own transaction: a rejected sign-in does not make the signature wrong.
  private func giveBack(
    _ tries: [BiometricAttempt], signedWith signer: BiometricAttempt, by known: KnownDevice
  ) throws {
    try records.transaction { transaction in
      for other in tries where other.key.id != signer.key.id {
        try transaction.biometrics.giveBack(other)
      }
      try transaction.biometrics.forgetTries(signer)
      if known.subject == nil {
        try transaction.limits.giveBackAddress(.wrongSignaturesByAddress)
      }
    }
  }

  /// Signs in the owner of the key whose signature was right.
  private func signIn(
    with key: StoredBiometricKey, on device: SigningDevice
  ) throws -> BiometricOutcome {
    try records.transaction { transaction in
      guard try transaction.biometrics.hold(key),
        let account = try transaction.accounts.find(id: key.accountID)
      else { return .refused }
      let session = try transaction.signIns.begin(
        account.id, on: device, by: key.isProof ? .trustedKey : .untrustedKey, detail: "biometric")
      return .signedIn(account, session)
    }
  }

  /// Spends the challenge. Counts a try if it was live and a key is not locked.
  ///
  /// The challenge is spent in a statement of its own: if its row were locked until a commit, many
  /// calls at once would wait longer than a statement may take.
  private func countTry(of challenge: String, on device: SigningDevice) throws -> CountedSignature {
    let (keys, known, lock) = try records.read { transaction in
      let keys = try transaction.biometrics.keys(on: device.clientDeviceID)
      let known = try transaction.knownDevices.find(device)
      return (keys, known, try transaction.biometrics.lock(of: keys, for: known))
    }
    guard !keys.isEmpty else { return .unknown }
    if lock == nil, known.subject == nil { try records.countAddress(.wrongSignaturesByAddress) }
    let isSpentHere = try records.write { transaction in
      try transaction.phoneChallenges.spend(
        sha256(challenge), for: .biometric, on: device.clientDeviceID)
    }
    if let lock { return .locked(lock) }
    guard isSpentHere else { return .dead(keys) }
    return try records.transaction { transaction in
      .counted(try transaction.biometrics.countTries(with: keys, by: known), by: known)
    }
  }
}

private enum CountedSignature {
  /// No account has a key on the device.
  case unknown
  /// The challenge was not live.
  case dead([StoredBiometricKey])
  /// All keys are locked.
  case locked(RateLimited)
  case counted([BiometricAttempt], by: KnownDevice)
}

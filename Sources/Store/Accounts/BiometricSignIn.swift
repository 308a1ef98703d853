package import Base
import Cryptography
import MariaDB

package enum BiometricOutcome: Sendable {
  case signedIn(Account, Session)
  /// No account has a key on the device.
  case unknown
  /// The signature is wrong, or the challenge is not the live one.
  case refused
}

extension Biometrics {
  /// Replaces the live challenge of a device.
  ///
  /// - Throws: ``RateLimited`` at more than 10 a minute.
  /// - Returns: false if no account has a key on the device.
  package func keepChallenge(
    _ challenge: String, of clientDeviceID: String, until expiresAt: Timestamp
  ) throws -> Bool {
    try records.transaction { transaction in
      guard try !transaction.biometrics.keys(on: clientDeviceID).isEmpty else { return false }
      try transaction.limits.count(.biometricChallenges, of: clientDeviceID)
      _ = try transaction.connection.execute(
        """
        INSERT INTO biometric_challenges (client_device_id, challenge_hash, expires_at)
        VALUES (?, ?, ?)
        ON DUPLICATE KEY UPDATE challenge_hash = VALUES(challenge_hash),
          expires_at = VALUES(expires_at), spent_at = NULL
        """,
        [.text(clientDeviceID), .bytes(sha256(challenge)), .time(expiresAt)])
      return true
    }
  }

  /// Signs in with a signature of the live challenge, which is spent whatever the outcome. The try
  /// is counted before the signature is verified.
  ///
  /// Several accounts may have a key on the device: the key that verifies the signature decides who
  /// is signed in.
  ///
  /// - Throws: ``RateLimited`` for 15 minutes after the fifth wrong signature;
  ///   ``Refusal/credential(account:device:)``.
  package func signIn(
    withSignature signature: String, of challenge: String, on device: SigningDevice
  ) throws -> BiometricOutcome {
    switch try countTry(of: challenge, on: device.clientDeviceID) {
    case .unknown: return .unknown
    case .dead(let keys):
      try records.signIns.auditDead("biometric: no live challenge") { _ in
        keys.map { ($0.accountID, $0.deviceID) }
      }
      return .refused
    case .locked(let rest): throw RateLimited(retryAfter: rest)
    case .counted(let keys, let number):
      let bytes = base64Decoded(challenge) ?? []
      let signer = try keys.first {
        try BiometricKey(base64: $0.publicKey).isSignature(signature, of: bytes)
      }
      if let signer { return try signIn(with: signer, on: device) }
      try records.transaction { transaction in
        try transaction.biometrics.auditWrongSignature(of: keys, try: number)
      }
      return .refused
    }
  }

  /// Signs in the owner of the key whose signature was right.
  private func signIn(
    with key: StoredBiometricKey, on device: SigningDevice
  ) throws -> BiometricOutcome {
    // In a transaction of its own: a sign-in that is refused does not make the signature wrong.
    try records.write { transaction in
      try transaction.biometrics.forgetTries(on: device.clientDeviceID)
    }
    return try records.transaction { transaction in
      guard try transaction.biometrics.hold(key),
        let account = try transaction.accounts.find(id: key.accountID)
      else { return .refused }
      let session = try transaction.signIns.begin(
        account.id, on: device, detail: "biometric", isProof: key.trustedAt <= transaction.now)
      return .signedIn(account, session)
    }
  }

  /// Spends the live challenge. Counts a try if that was `challenge` and the device is not locked.
  ///
  /// The challenge is spent in a statement of its own: if its row were locked until a commit, many
  /// calls at once would wait longer than a statement may take.
  private func countTry(
    of challenge: String, on clientDeviceID: String
  ) throws -> BiometricTry {
    let (keys, live, lock) = try records.read { transaction in
      let statements = transaction.biometrics
      let keys = try statements.keys(on: clientDeviceID)
      return (
        keys, keys.isEmpty ? nil : try statements.liveChallenge(of: clientDeviceID),
        try statements.lock(on: clientDeviceID)
      )
    }
    guard !keys.isEmpty else { return .unknown }
    let isSpentHere = try live.map { live in
      try records.write { transaction in
        try transaction.biometrics.spend(live, of: clientDeviceID)
      }
    }
    if let lock { return .locked(lock) }
    guard isSpentHere == true, live == sha256(challenge) else { return .dead(keys) }
    return try records.transaction { transaction in
      .counted(keys, try: try transaction.biometrics.countTry(on: clientDeviceID))
    }
  }
}

private enum BiometricTry {
  /// No account has a key on the device.
  case unknown
  /// The challenge was not the live one.
  case dead([StoredBiometricKey])
  case locked(Duration)
  case counted([StoredBiometricKey], try: Int64)
}

extension BiometricStatements {
  /// The hash of the device's live challenge; nil if it has none.
  fileprivate func liveChallenge(of clientDeviceID: String) throws(DatabaseError) -> [UInt8]? {
    try transaction.connection.row(
      """
      SELECT challenge_hash FROM biometric_challenges
      WHERE client_device_id = ? AND spent_at IS NULL AND expires_at > ?
      """,
      [.text(clientDeviceID), .time(transaction.now)]
    ) { row in row.bytes(0) }
  }

  /// - Returns: whether this call is the one that spends the challenge.
  fileprivate func spend(
    _ challengeHash: [UInt8], of clientDeviceID: String
  ) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE biometric_challenges SET spent_at = ?
      WHERE client_device_id = ? AND challenge_hash = ? AND spent_at IS NULL
      """,
      [.time(transaction.now), .text(clientDeviceID), .bytes(challengeHash)]) == 1
  }
}

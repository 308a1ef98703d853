import Base
import Cryptography
import MariaDB

package enum BiometricType: String, Sendable {
  case face, fingerprint
}

/// A key that a phone keeps behind its biometrics, as it is set up.
package struct NewBiometricKey: Sendable {
  /// SubjectPublicKeyInfo in base64, at most 200 characters.
  package let publicKey: String
  package let type: BiometricType

  package init(publicKey: String, type: BiometricType) {
    self.publicKey = publicKey
    self.type = type
  }
}

package enum BiometricOutcome: Sendable {
  case signedIn(Account, Session)
  /// No account has a key on the device.
  case unknown
  /// The signature is wrong, or the challenge is not the live one.
  case refused
}

extension Database {
  /// Makes `key` the one biometric key of the caller's device.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: the key's id; nil where the caller's device is another one.
  package func setUp(
    _ key: NewBiometricKey, onDevice clientDeviceID: String, by caller: Caller, at now: Timestamp
  ) throws -> String? {
    try pool.transaction { connection in
      let session = try connection.live(caller, at: now)
      guard clientDeviceID == caller.clientDeviceID else { return nil }
      let id = timeOrderedUUID(milliseconds: now.milliseconds)
      guard try connection.store(key, id: id, of: session.deviceID, at: now) else {
        throw Refusal.sessionEnded
      }
      try connection.audit(
        .biometricEnabled, account: caller.accountID, device: session.deviceID,
        detail: key.type.rawValue, from: caller.origin, at: now)
      return id
    }
  }

  /// Replaces the live challenge of a device.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` at more than 10 a minute.
  /// - Returns: false where no account has a key on the device.
  package func keepChallenge(
    _ challenge: String, of clientDeviceID: String, until expiresAt: Timestamp, at now: Timestamp
  ) throws -> Bool {
    try pool.transaction { connection in
      guard try !connection.biometricKeys(on: clientDeviceID).isEmpty else { return false }
      try connection.count(.biometricChallenges, of: clientDeviceID, at: now)
      _ = try connection.execute(
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

  /// Signs in with a signature of the live challenge, which is spent whatever comes of it. The try is
  /// counted before the signature is verified.
  ///
  /// Several accounts may have a key on the device: the one that verifies decides.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` for 15 minutes after the fifth wrong signature;
  ///   ``Refusal/credential(account:device:)``.
  package func signIn(
    withSignature signature: String, of challenge: String, on device: SigningDevice,
    from origin: Origin, at now: Timestamp
  ) throws -> BiometricOutcome {
    let keys: [StoredBiometricKey]
    let tries: Int64
    switch try countTry(of: challenge, on: device.clientDeviceID, at: now) {
    case .unknown: return .unknown
    case .dead(let candidates):
      try auditDeadSignIn("biometric: no live challenge", from: origin, at: now) { _ in
        candidates.map { ($0.accountID, $0.deviceID) }
      }
      return .refused
    case .locked(let rest): throw Refusal.rateLimited(retryAfter: rest)
    case .counted(let candidates, let number): (keys, tries) = (candidates, number)
    }
    let bytes = base64Decoded(challenge) ?? []
    let signer = try keys.first {
      try BiometricKey(base64: $0.publicKey).isSignature(signature, of: bytes)
    }
    guard let signer else {
      try pool.transaction { connection in
        try connection.auditWrongSignature(of: keys, try: tries, from: origin, at: now)
      }
      return .refused
    }
    // On its own: what refuses the sign-in below does not make the signature wrong.
    try pool.write { connection in
      try connection.forgetBiometricTries(on: device.clientDeviceID)
    }
    return try pool.transaction { connection in
      guard try connection.hold(signer), let account = try connection.account(id: signer.accountID)
      else { return .refused }
      let session = try connection.signIn(
        account.id, on: device, detail: "biometric", from: origin, at: now)
      return .signedIn(account, session)
    }
  }

  /// Spends the live challenge, and counts a try if that was `challenge` and the device is not locked.
  ///
  /// It is spent in a statement of its own: behind a lock that is held until a commit a crowd would queue
  /// for longer than a statement may take.
  private func countTry(
    of challenge: String, on clientDeviceID: String, at now: Timestamp
  ) throws -> BiometricTry {
    let (keys, live, lock) = try pool.read { connection in
      let keys = try connection.biometricKeys(on: clientDeviceID)
      return (
        keys, keys.isEmpty ? nil : try connection.liveChallenge(of: clientDeviceID, at: now),
        try connection.biometricLock(on: clientDeviceID, at: now)
      )
    }
    guard !keys.isEmpty else { return .unknown }
    let isSpentHere = try live.map { live in
      try pool.write { connection in try connection.spend(live, of: clientDeviceID, at: now) }
    }
    if let lock { return .locked(lock) }
    guard isSpentHere == true, live == sha256(challenge) else { return .dead(keys) }
    return try pool.transaction { connection in
      .counted(keys, try: try connection.countBiometricTry(on: clientDeviceID, at: now))
    }
  }
}

extension Connection {
  /// Whether a biometric key signs in on the device.
  func hasBiometricKey(_ deviceID: String) throws(DatabaseError) -> Bool {
    try row("SELECT TRUE FROM biometric_keys WHERE device_id = ?", [.text(deviceID)]) { row in
      row.boolean(0)
    } ?? false
  }

  func removeBiometricKey(of deviceID: String) throws(DatabaseError) {
    _ = try execute("DELETE FROM biometric_keys WHERE device_id = ?", [.text(deviceID)])
  }

  /// How long the device is locked after five wrong signatures; nil where it is not.
  func biometricLock(
    on clientDeviceID: String, at now: Timestamp
  ) throws(DatabaseError) -> Duration? {
    let limit = Limit.biometricFailures
    let startedAt = try row(
      """
      SELECT window_started_at FROM rate_limits
      WHERE name = ? AND subject = ? AND hits >= ? AND window_started_at > ?
      """,
      [
        .text(limit.name), .text(clientDeviceID), .integer(limit.allowed),
        .time(now - limit.window),
      ]
    ) { row in Timestamp(milliseconds: row.milliseconds(0)) }
    return startedAt.map { $0 + limit.window - now }
  }

  /// Counts a signature before it is verified; the fifth within 15 minutes locks the device from then on.
  /// A right one is followed by ``forgetBiometricTries(on:)``.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` where others have locked the device meanwhile.
  /// - Returns: which try it is, 1 to 5.
  func countBiometricTry(
    on clientDeviceID: String, at now: Timestamp
  ) throws -> Int64 {
    let limit = Limit.biometricFailures
    let tries = try count(limit, of: clientDeviceID, at: now)
    if tries == limit.allowed {
      _ = try execute(
        "UPDATE rate_limits SET window_started_at = ? WHERE name = ? AND subject = ?",
        [.time(now), .text(limit.name), .text(clientDeviceID)])
    }
    return tries
  }

  func forgetBiometricTries(on clientDeviceID: String) throws(DatabaseError) {
    _ = try execute(
      "UPDATE rate_limits SET hits = 0 WHERE name = ? AND subject = ?",
      [.text(Limit.biometricFailures.name), .text(clientDeviceID)])
  }

  /// The keys of all accounts on the device, the newest first.
  func biometricKeys(
    on clientDeviceID: String
  ) throws(DatabaseError) -> [StoredBiometricKey] {
    try rows(
      """
      SELECT k.id, k.public_key, d.id, d.account_id
      FROM devices d JOIN biometric_keys k ON k.device_id = d.id
      WHERE d.client_device_id = ? AND d.revoked_at IS NULL
      ORDER BY k.enrolled_at DESC, k.id
      """,
      [.text(clientDeviceID)]
    ) { row in StoredBiometricKey(row: row) }
  }

  /// - Returns: false where the device has been revoked meanwhile: its next sign-in finds no key.
  fileprivate func store(
    _ key: NewBiometricKey, id: String, of deviceID: String, at now: Timestamp
  ) throws(DatabaseError) -> Bool {
    try execute(
      """
      INSERT INTO biometric_keys (device_id, id, type, public_key, enrolled_at)
      SELECT d.id, ?, ?, ?, ? FROM devices d WHERE d.id = ? AND d.revoked_at IS NULL
      ON DUPLICATE KEY UPDATE id = VALUES(id), type = VALUES(type),
        public_key = VALUES(public_key), enrolled_at = VALUES(enrolled_at)
      """,
      [
        .text(id), .text(key.type.rawValue), .text(key.publicKey), .time(now), .text(deviceID),
      ]) > 0
  }

  /// The hash of the device's live challenge; nil where it has none.
  fileprivate func liveChallenge(
    of clientDeviceID: String, at now: Timestamp
  ) throws(DatabaseError) -> [UInt8]? {
    try row(
      """
      SELECT challenge_hash FROM biometric_challenges
      WHERE client_device_id = ? AND spent_at IS NULL AND expires_at > ?
      """,
      [.text(clientDeviceID), .time(now)]
    ) { row in row.bytes(0) }
  }

  /// - Returns: whether this call is the one that spends the challenge.
  fileprivate func spend(
    _ challengeHash: [UInt8], of clientDeviceID: String, at now: Timestamp
  ) throws(DatabaseError) -> Bool {
    try execute(
      """
      UPDATE biometric_challenges SET spent_at = ?
      WHERE client_device_id = ? AND challenge_hash = ? AND spent_at IS NULL
      """,
      [.time(now), .text(clientDeviceID), .bytes(challengeHash)]) == 1
  }

  /// Keeps the key and its device from going before the transaction's end.
  ///
  /// - Returns: false where one of them has gone since the key was read.
  func hold(_ key: StoredBiometricKey) throws(DatabaseError) -> Bool {
    try row(
      """
      SELECT TRUE FROM devices d JOIN biometric_keys k ON k.device_id = d.id
      WHERE d.id = ? AND k.id = ? AND d.revoked_at IS NULL FOR UPDATE
      """,
      [.text(key.deviceID), .text(key.id)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Whose signature it should have been nobody knows: the account of each key is told.
  func auditWrongSignature(
    of keys: [StoredBiometricKey], try number: Int64, from origin: Origin, at now: Timestamp
  ) throws(DatabaseError) {
    for key in keys {
      try audit(
        number < Limit.biometricFailures.allowed ? .biometricRefused : .biometricLocked,
        account: key.accountID, device: key.deviceID, detail: "try \(number)", from: origin, at: now
      )
    }
  }
}

private enum BiometricTry {
  case unknown
  /// The challenge was not the live one.
  case dead([StoredBiometricKey])
  case locked(Duration)
  case counted([StoredBiometricKey], try: Int64)
}

struct StoredBiometricKey {
  let id: String
  let publicKey: String
  let deviceID: String
  let accountID: String

  init(row: borrowing Row) {
    id = row.text(0)
    publicKey = row.text(1)
    deviceID = row.text(2)
    accountID = row.text(3)
  }
}

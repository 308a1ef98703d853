import Base
import Cryptography
import MariaDB

package enum BiometricType: String, Sendable, CaseIterable {
  case face, fingerprint
}

/// A key that a phone keeps behind its biometrics, as it is set up.
package struct NewBiometricKey: Sendable {
  /// SubjectPublicKeyInfo in base64, at most 200 characters.
  package let publicKey: String
  package let type: BiometricType
  /// A proof that the phone has the private half; nil: the app gave none.
  package let proof: Proof?

  package struct Proof: Sendable {
    /// As the site gave it: 32 bytes in base64.
    package let challenge: String
    /// DER in base64.
    package let signature: String

    package init(challenge: String, signature: String) {
      self.challenge = challenge
      self.signature = signature
    }
  }

  /// The time for which a key that was set up with only a bearer confirms no payment.
  static let probation = Duration.seconds(86_400)

  package init(publicKey: String, type: BiometricType, proof: Proof?) {
    self.publicKey = publicKey
    self.type = type
    self.proof = proof
  }
}

package enum BiometricSetUp: Sendable {
  /// The key's id.
  case done(id: String)
  /// The device is not the caller's.
  case otherDevice
  /// The proof is no signature of a live challenge by the key.
  case notSigned
  /// Another account has the key on the phone, and there is no proof.
  case keyInUse
}

/// A biometric key of a device that is not revoked.
struct StoredBiometricKey {
  let id: String
  let publicKey: String
  let deviceID: String
  let accountID: String
  private let trustedAt: Timestamp
  private let enrolledAt: Timestamp
  /// Whether it was set up with a proof. Only then is a sign-in with it a proof, whatever its age.
  let isProof: Bool

  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    publicKey = row.text(1)
    deviceID = row.text(2)
    accountID = row.text(3)
    trustedAt = row.timestamp(4)
    enrolledAt = row.timestamp(5)
    isProof = trustedAt <= enrolledAt
  }

  /// Whether the key confirms payments.
  ///
  /// A time in the future is now: the clock was set back. Only the end of the probation is really in the
  /// future. A use with a fresh proof ends the probation earlier.
  func isTrusted(at now: Timestamp) -> Bool {
    isProof || trustedAt <= now || trustedAt < enrolledAt + NewBiometricKey.probation
  }
}

/// Biometric keys as requests use them.
package struct Biometrics: Sendable {
  let records: Records

  /// Makes `key` the only biometric key of the caller's device. The first key needs no fresh proof,
  /// but without one it never counts as a proof, and confirms payments only after a day. A key that
  /// the device has already stays as it is: the request is repeated, because its answer was lost.
  ///
  /// A key that another account has on the phone needs a proof of the private half: a public key is no secret, and a
  /// sign-in goes to the account whose key verifies.
  ///
  /// - Throws: ``Refusal``, also if it would replace a key and the caller shows no fresh proof;
  ///   ``RateLimited`` at more than 10 keys an hour, each of which is mailed to the owner.
  package func setUp(
    _ key: NewBiometricKey, on clientDeviceID: String, by caller: Caller
  ) throws -> BiometricSetUp {
    if let proof = key.proof, clientDeviceID == caller.clientDeviceID {
      try records.sessions.admit(caller)
      guard try isSigned(proof, by: key, on: clientDeviceID) else { return .notSigned }
    }
    return try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let session = try transaction.sessions.live(caller)
      guard clientDeviceID == caller.clientDeviceID else { return .otherDevice }
      try transaction.limits.count(.biometricKeys, of: session.deviceID)
      let id = transaction.makeID()
      if key.proof == nil, try transaction.biometrics.isInUse(key, on: caller) { return .keyInUse }
      let isProven =
        try transaction.sessions.hasFreshProof(caller)
        || transaction.sessions.spendSignUp(caller, within: Session.proofLifetime)
      if !isProven, let present = try transaction.biometrics.key(on: session.deviceID) {
        guard present.publicKey == key.publicKey else { throw Refusal.noFreshProof }
        return .done(id: present.id)
      }
      let trustedAt = isProven ? transaction.now : transaction.now + NewBiometricKey.probation
      guard
        try transaction.biometrics.store(key, id: id, on: session.deviceID, trustedAt: trustedAt)
      else {
        throw Refusal.sessionEnded
      }
      try transaction.audit.write(
        .biometricEnabled, account: caller.accountID, device: session.deviceID,
        detail: key.type.rawValue)
      try transaction.notices.tell(.biometricKeyAdded, of: caller.sessionID)
      return .done(id: id)
    }
  }

  /// Spends the challenge of the proof, whatever the outcome.
  private func isSigned(
    _ proof: NewBiometricKey.Proof, by key: NewBiometricKey, on clientDeviceID: String
  ) throws -> Bool {
    let isSpentHere = try records.write { transaction in
      try transaction.phoneChallenges.spend(
        sha256(proof.challenge), for: .biometric, on: clientDeviceID)
    }
    return try isSpentHere
      && BiometricKey(base64: key.publicKey).isSignature(
        proof.signature, of: base64Decoded(proof.challenge) ?? [])
  }

  /// Removes the biometric key of a device of the caller's account, if it has one. The owner is told if it
  /// is another device than the caller's.
  ///
  /// - Throws: ``Refusal``, also if the caller shows no fresh proof to remove the key of another device.
  /// - Returns: false if the account has no such device.
  package func remove(from clientDeviceID: String, by caller: Caller) throws -> Bool {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let locked = try transaction.devices.lock(clientDeviceID, of: caller.accountID)
      let session = try transaction.sessions.live(caller)
      guard let device = locked else { return false }
      let isOwn = device == session.deviceID
      if !isOwn { try transaction.sessions.requireFreshProof(caller) }
      let removed = try transaction.connection.execute(
        "DELETE FROM biometric_keys WHERE device_id = ?", [.text(device)])
      if removed == 1 {
        try transaction.audit.write(
          .biometricDisabled, account: caller.accountID, device: device)
        if !isOwn { try transaction.notices.tell(.keyRemoved, of: caller.sessionID) }
      }
      return true
    }
  }
}

extension Records {
  package var biometrics: Biometrics { Biometrics(records: self) }
}

/// Statements on `biometric_keys`.
struct BiometricStatements: ~Copyable {
  let transaction: Transaction

  /// Whether the device has a biometric key.
  func isSet(on deviceID: String) throws(DatabaseError) -> Bool {
    try key(on: deviceID) != nil
  }

  /// The biometric key of the device; nil if it has none.
  fileprivate func key(
    on deviceID: String
  ) throws(DatabaseError) -> (id: String, publicKey: String)? {
    try transaction.connection.row(
      "SELECT id, public_key FROM biometric_keys WHERE device_id = ?", [.text(deviceID)]
    ) { row in (id: row.text(0), publicKey: row.text(1)) }
  }

  /// Whether another account has the key on the caller's phone. Keeps the devices there from changing before the
  /// transaction's end: of two accounts that set one key at once, the second finds the first.
  fileprivate func isInUse(_ key: NewBiometricKey, on caller: Caller) throws -> Bool {
    let point = try BiometricKey(base64: key.publicKey).point
    return try transaction.connection.rows(
      """
      SELECT k.public_key FROM devices d JOIN biometric_keys k ON k.device_id = d.id
      WHERE d.client_device_id = ? AND d.account_id <> ? FOR UPDATE
      """,
      [.text(caller.clientDeviceID), .text(caller.accountID)]
    ) { row in row.text(0) }
    .contains { try BiometricKey(base64: $0).point == point }
  }

  /// The keys of all accounts on the device, the newest first.
  func keys(on clientDeviceID: String) throws(DatabaseError) -> [StoredBiometricKey] {
    try transaction.connection.rows(
      """
      SELECT k.id, k.public_key, d.id, d.account_id, k.trusted_at, k.enrolled_at
      FROM devices d JOIN biometric_keys k ON k.device_id = d.id
      WHERE d.client_device_id = ? AND d.revoked_at IS NULL
      ORDER BY k.enrolled_at DESC, k.id
      """,
      [.text(clientDeviceID)]
    ) { row in StoredBiometricKey(row: row) }
  }

  /// Keeps the key and its device from changing before the transaction's end.
  ///
  /// - Returns: false if the key was removed or the device revoked since the key was read.
  func hold(_ key: StoredBiometricKey) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      """
      SELECT TRUE FROM devices d JOIN biometric_keys k ON k.device_id = d.id
      WHERE d.id = ? AND k.id = ? AND d.revoked_at IS NULL FOR UPDATE
      """,
      [.text(key.deviceID), .text(key.id)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Makes a held key confirm payments from now on, because its owner has used it with a fresh proof.
  func trust(_ key: StoredBiometricKey) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE biometric_keys SET trusted_at = ? WHERE device_id = ? AND id = ? AND trusted_at > ?",
      [.time(transaction.now), .text(key.deviceID), .text(key.id), .time(transaction.now)])
  }

  /// - Returns: false if the device was revoked meanwhile: its next sign-in must find no key.
  fileprivate func store(
    _ key: NewBiometricKey, id: String, on deviceID: String, trustedAt: Timestamp
  ) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      INSERT INTO biometric_keys (device_id, id, type, public_key, enrolled_at, trusted_at)
      SELECT d.id, ?, ?, ?, ?, ? FROM devices d WHERE d.id = ? AND d.revoked_at IS NULL
      ON DUPLICATE KEY UPDATE id = VALUES(id), type = VALUES(type),
        public_key = VALUES(public_key), enrolled_at = VALUES(enrolled_at),
        trusted_at = VALUES(trusted_at)
      """,
      [
        .text(id), .text(key.type.rawValue), .text(key.publicKey), .time(transaction.now),
        .time(trustedAt), .text(deviceID),
      ]) > 0
  }
}

extension Transaction {
  var biometrics: BiometricStatements {
    BiometricStatements(transaction: Transaction(sharing: self))
  }
}

package import Base
import Cryptography
import MariaDB

/// An app's request to enroll a key.
package struct PresentedAttestation: Sendable {
  /// The attestation object, CBOR.
  package let object: [UInt8]
  package let keyID: [UInt8]
  package let challengeID: String
  package let bundleID: String

  package init(object: [UInt8], keyID: [UInt8], challengeID: String, bundleID: String) {
    self.object = object
    self.keyID = keyID
    self.challengeID = challengeID
    self.bundleID = bundleID
  }
}

/// The result of a ``PresentedAttestation``.
package enum AttestationOutcome: Sendable {
  case enrolled
  case refused(AttestationRefusal)
}

/// The keys of genuine apps as requests use them.
package struct AttestedKeys: Sendable {
  let records: Records

  /// Stores a challenge for one attestation of the app `bundleID`.
  ///
  /// - Throws: ``RateLimited`` at more than 60 a minute from one address.
  /// - Returns: the challenge's id.
  package func keepChallenge(
    _ challenge: [UInt8], for bundleID: String, until expiresAt: Timestamp
  ) throws -> String {
    try records.transaction { transaction in
      let id = transaction.makeID()
      try transaction.limits.countAddress(.attestationChallenges)
      _ = try transaction.connection.execute(
        """
        INSERT INTO attestation_challenges (id, challenge_hash, bundle_id, expires_at)
        VALUES (?, ?, ?, ?)
        """,
        [.text(id), .bytes(sha256(challenge)), .text(bundleID), .time(expiresAt)])
      return id
    }
  }

  /// Enrolls the key that `attestation` attests to. Its challenge is spent even if the key is
  /// refused.
  ///
  /// A key that is enrolled already keeps its counter and its phone.
  ///
  /// - Throws: ``RateLimited`` at more than 600 refusals an hour from one address.
  package func enroll(
    _ attestation: PresentedAttestation, of apps: AttestedApps
  ) throws -> AttestationOutcome {
    let challenge = try records.transaction { transaction in
      try transaction.attestedKeys.spendChallenge(of: attestation)
    }
    let verdict = challenge.flatMap { digest in
      apps.verify(attestation, over: digest, at: records.now)
    }
    return try records.transaction { transaction in
      switch verdict {
      case .success(let key):
        try transaction.attestedKeys.store(key)
        try transaction.audit.write(
          .keyAttested, detail: "\(key.environment) key \(base64Encoded(key.keyID))",
          facts: attestation.facts(.verified))
        return .enrolled
      case .failure(let refusal):
        try transaction.limits.countAddress(.attestationRefusals)
        try transaction.audit.write(
          .attestationRefused, facts: attestation.facts(.refused, because: refusal.code))
        return .refused(refusal)
      }
    }
  }

  /// Whether the key is enrolled and still accepted.
  ///
  /// - Parameter caller: the user of the key, if known: the key of another phone does not count.
  package func isEnrolled(
    _ keyID: [UInt8], of apps: AttestedApps, for caller: Caller?
  ) throws -> Bool {
    let key = try records.read { transaction in try transaction.attestedKeys.find(keyID) }
    if let caller, let key, !key.isOf(caller) { return false }
    return key.flatMap { apps.verifier(ofKeyOf: $0.appID, in: $0.environment) } != nil
  }
}

extension Records {
  package var attestedKeys: AttestedKeys { AttestedKeys(records: self) }
}

extension AttestedApps {
  fileprivate func verify(
    _ attestation: PresentedAttestation, over challengeDigest: [UInt8], at now: Timestamp
  ) -> Result<AppAttest.Attestation, AttestationRefusal> {
    guard let verifier = verifier(for: attestation.bundleID) else { return .failure(.otherApp) }
    return Result { () throws(AppAttestError) in
      try verifier.verifyAttestation(
        attestation.object, keyID: attestation.keyID, challengeDigest: challengeDigest,
        at: now.milliseconds)
    }.mapError { AttestationRefusal($0) }
  }
}

extension PresentedAttestation {
  fileprivate func facts(
    _ verdict: ClientFacts.Attestation, because reason: String? = nil
  ) -> ClientFacts {
    ClientFacts(
      platform: "iOS", bundleID: bundleID, appVersion: nil, attestation: verdict,
      attestationReason: reason)
  }
}

/// A key as it is stored.
struct AttestedKey {
  let publicKey: [UInt8]
  let appID: String
  let environment: AppAttest.Environment
  let counter: UInt32
  /// The device that used it last; nil before its first assertion.
  let deviceID: String?
  /// The phone that it belongs to; nil before its first assertion.
  private let clientDeviceID: String?

  init(row: borrowing Row) {
    publicKey = row.bytes(0)
    appID = row.text(1)
    environment = AppAttest.Environment(rawValue: row.text(2))!  // the column is an ENUM of them
    counter = UInt32(row.integer(3))
    deviceID = row.optionalText(4)
    clientDeviceID = row.optionalText(5)
  }

  /// Whether the caller may use it: only on the phone that it belongs to, but with any account.
  func isOf(_ caller: Caller) -> Bool {
    clientDeviceID.map { $0 == caller.clientDeviceID } ?? true
  }
}

/// Statements on `attestation_keys` and `attestation_challenges`.
struct AttestedKeyStatements: ~Copyable {
  let transaction: Transaction

  func find(_ id: [UInt8]) throws(DatabaseError) -> AttestedKey? {
    try transaction.connection.row(
      """
      SELECT k.public_key, k.app_id, k.environment, k.counter, k.device_id, d.client_device_id
      FROM attestation_keys k LEFT JOIN devices d ON d.id = k.device_id WHERE k.id = ?
      """,
      [.bytes(id)]
    ) { row in AttestedKey(row: row) }
  }

  /// Spends the challenge that the attestation names. Only one of several simultaneous calls
  /// succeeds.
  ///
  /// - Returns: the digest of the challenge.
  fileprivate func spendChallenge(
    of attestation: PresentedAttestation
  ) throws(DatabaseError) -> Result<[UInt8], AttestationRefusal> {
    let now = transaction.now
    let spent = try transaction.connection.execute(
      """
      UPDATE attestation_challenges SET spent_at = ?
      WHERE id = ? AND spent_at IS NULL AND expires_at > ?
      """,
      [.time(now), .text(attestation.challengeID), .time(now)])
    let found = try transaction.connection.row(
      """
      SELECT challenge_hash, bundle_id, spent_at IS NULL FROM attestation_challenges WHERE id = ?
      """,
      [.text(attestation.challengeID)]
    ) { row in (digest: row.bytes(0), bundleID: row.text(1), isUnspent: row.boolean(2)) }
    guard let found else { return .failure(.unknownChallenge) }
    guard spent == 1 else { return .failure(found.isUnspent ? .expiredChallenge : .spentChallenge) }
    guard found.bundleID == attestation.bundleID else { return .failure(.otherApp) }
    return .success(found.digest)
  }

  /// Enrolls `key`, or updates Apple's data of an enrolled key.
  fileprivate func store(_ key: AppAttest.Attestation) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO attestation_keys (id, public_key, app_id, environment, category, bundle_version,
        receipt, attested_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE category = VALUES(category), bundle_version = VALUES(bundle_version),
        receipt = VALUES(receipt), attested_at = VALUES(attested_at)
      """,
      [
        .bytes(key.keyID), .bytes(key.publicKey), .text(key.appID),
        .text(key.environment.rawValue), .integer(key.extensions.category.map { Int64($0) }),
        .text(key.extensions.bundleVersion?.cut(to: 64).withoutControls), .bytes(key.receipt),
        .time(transaction.now),
      ])
  }
}

extension Transaction {
  var attestedKeys: AttestedKeyStatements {
    AttestedKeyStatements(transaction: Transaction(sharing: self))
  }
}

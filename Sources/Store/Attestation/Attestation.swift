import Base
package import Cryptography
import MariaDB

/// Whether apps have to prove that they are genuine, and what counts as proof.
package struct AttestationPolicy: Sendable {
  package enum Mode: String, CaseIterable, Sendable {
    /// Nobody looks at what apps send as proof.
    case off
    /// Proofs are verified and the outcome is written down; every write passes.
    case observe
    /// A write without proof is refused.
    case enforce
  }

  package let mode: Mode
  /// Whether simulators and Macs, which can prove nothing, may write where others must prove it.
  package let acceptsStubs: Bool
  /// nil where no team is named: then nothing can be proved.
  package let apps: AttestedApps?

  package init(mode: Mode = .observe, acceptsStubs: Bool = false, apps: AttestedApps? = nil) {
    self.mode = mode
    self.acceptsStubs = acceptsStubs
    self.apps = apps
  }
}

/// The apps whose keys are enrolled and believed.
package struct AttestedApps: Sendable {
  private let teamID: String
  private let bundleIDs: Set<String>
  private let environments: Set<AppAttest.Environment>
  private let root: Certificate

  /// - Parameters:
  ///   - bundleIDs: none means every app of the team.
  ///   - root: the certificate that attestations must lead to.
  package init(
    teamID: String, bundleIDs: Set<String> = [], environments: Set<AppAttest.Environment>,
    root: Certificate = .appleAppAttestationRoot
  ) {
    self.teamID = teamID
    self.bundleIDs = bundleIDs
    self.environments = environments
    self.root = root
  }

  /// `TeamID.BundleID` of each app that is named.
  package var appIDs: [String] { bundleIDs.sorted().map { "\(teamID).\($0)" } }

  /// What verifies attestations of the app; nil if it is none of ours.
  fileprivate func verifier(for bundleID: String) -> AppAttest? {
    guard bundleIDs.isEmpty || bundleIDs.contains(bundleID) else { return nil }
    return AppAttest(appIDs: ["\(teamID).\(bundleID)"], environments: environments, root: root)
  }

  /// What verifies assertions of a key that was once enrolled; nil if it would not be today.
  func verifier(ofKeyOf appID: String, in environment: AppAttest.Environment) -> AppAttest? {
    guard appID.hasPrefix("\(teamID)."), environments.contains(environment) else { return nil }
    return verifier(for: String(appID.dropFirst(teamID.count + 1)))
  }
}

/// Why an app is not believed to be genuine, in the word that audit log and answers have for it.
package struct AttestationRefusal: Error, Hashable, Sendable {
  package let code: String

  package static let unknownChallenge = AttestationRefusal(code: "challenge_unknown")
  package static let spentChallenge = AttestationRefusal(code: "challenge_spent")
  package static let expiredChallenge = AttestationRefusal(code: "challenge_expired")
  /// The app is none of ours, or not the one that asked for the challenge.
  package static let otherApp = AttestationRefusal(code: "app")
  package static let noAssertion = AttestationRefusal(code: "assertion_missing")
  package static let stub = AttestationRefusal(code: "stub")
  package static let noChallenge = AttestationRefusal(code: "challenge_missing")
  package static let malformedChallenge = AttestationRefusal(code: "challenge_malformed")
  /// What was signed names another method or another address.
  package static let otherRequest = AttestationRefusal(code: "challenge_mismatch")
  /// What was signed is too old, or from the future.
  package static let otherTime = AttestationRefusal(code: "challenge_time")
  package static let malformed = AttestationRefusal(.malformed)
  package static let unknownKey = AttestationRefusal(code: "key_unknown")
  package static let keyOfAnotherDevice = AttestationRefusal(code: "key_of_another_device")
  /// The key is of an app or an environment that does not count any more.
  package static let outdatedKey = AttestationRefusal(code: "key_not_accepted")
  /// The counter is not above that of an assertion before: a repetition, or one that was overtaken.
  package static let outOfOrder = AttestationRefusal(.outOfOrder)

  private init(code: String) { self.code = code }

  init(_ error: AppAttestError) { code = error.rawValue }
}

/// What an app shows to have a key enrolled.
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

extension Database {
  /// Keeps a challenge for one attestation of the app `bundleID`.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` at more than 60 a minute from one address.
  /// - Returns: the challenge's id.
  package func keepAttestationChallenge(
    _ challenge: [UInt8], for bundleID: String, until expiresAt: Timestamp, from origin: Origin,
    at now: Timestamp
  ) throws -> String {
    let id = timeOrderedUUID(milliseconds: now.milliseconds)
    try pool.transaction { connection in
      try connection.count(.attestationChallenges, of: origin.address, at: now)
      _ = try connection.execute(
        """
        INSERT INTO attestation_challenges (id, challenge_hash, bundle_id, expires_at)
        VALUES (?, ?, ?, ?)
        """,
        [.text(id), .bytes(sha256(challenge)), .text(bundleID), .time(expiresAt)])
    }
    return id
  }

  /// Enrols the key that `attestation` attests to, and spends its challenge whatever comes of it.
  ///
  /// A key that is enrolled already keeps its counter and its device.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` at more than 600 refusals an hour from one address.
  /// - Returns: why it is not enrolled; nil if it is.
  package func enroll(
    _ attestation: PresentedAttestation, of apps: AttestedApps, from origin: Origin,
    at now: Timestamp
  ) throws -> AttestationRefusal? {
    let challenge = try pool.transaction { connection in
      try connection.spendChallenge(of: attestation, at: now)
    }
    let verdict = challenge.flatMap { digest in
      apps.verify(attestation, over: digest, at: now)
    }
    return try pool.transaction { connection in
      switch verdict {
      case .success(let key):
        try connection.store(key, at: now)
        try connection.audit(
          .keyAttested, detail: "\(key.environment) key \(base64Encoded(key.keyID))",
          facts: attestation.facts(nil), from: origin, at: now)
        return nil
      case .failure(let refusal):
        try connection.count(.attestationRefusals, of: origin.address, at: now)
        try connection.audit(
          .attestationRefused, facts: attestation.facts(refusal), from: origin, at: now)
        return refusal
      }
    }
  }

  /// Whether the key is enrolled, and still counts.
  package func isEnrolled(_ keyID: [UInt8], of apps: AttestedApps) throws -> Bool {
    let key = try pool.read { connection in try connection.attestedKey(keyID) }
    return key.flatMap { apps.verifier(ofKeyOf: $0.appID, in: $0.environment) } != nil
  }
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
  fileprivate func facts(_ refusal: AttestationRefusal?) -> ClientFacts {
    ClientFacts(
      platform: "iOS", bundleID: bundleID, appVersion: nil,
      attestation: refusal == nil ? .verified : .refused, refusal: refusal)
  }
}

/// A key as it is stored.
struct AttestedKey {
  let publicKey: [UInt8]
  let appID: String
  let environment: AppAttest.Environment
  let counter: UInt32
  /// nil before its first assertion.
  let deviceID: String?

  init(row: borrowing Row) {
    publicKey = row.bytes(0)
    appID = row.text(1)
    environment = AppAttest.Environment(rawValue: row.text(2))!  // the column is an ENUM of them
    counter = UInt32(row.integer(3))
    deviceID = row.optionalText(4)
  }
}

extension Connection {
  func attestedKey(_ id: [UInt8]) throws(DatabaseError) -> AttestedKey? {
    try row(
      """
      SELECT public_key, app_id, environment, counter, device_id FROM attestation_keys WHERE id = ?
      """,
      [.bytes(id)]
    ) { row in AttestedKey(row: row) }
  }

  func removeAttestedKeys(of deviceID: String) throws(DatabaseError) {
    _ = try execute("DELETE FROM attestation_keys WHERE device_id = ?", [.text(deviceID)])
  }

  /// Spends the challenge that the attestation names: of many calls one wins.
  ///
  /// - Returns: the digest of the challenge.
  fileprivate func spendChallenge(
    of attestation: PresentedAttestation, at now: Timestamp
  ) throws(DatabaseError) -> Result<[UInt8], AttestationRefusal> {
    let spent = try execute(
      """
      UPDATE attestation_challenges SET spent_at = ?
      WHERE id = ? AND spent_at IS NULL AND expires_at > ?
      """,
      [.time(now), .text(attestation.challengeID), .time(now)])
    let found = try row(
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

  /// Enrols `key`, or renews what Apple said of it.
  fileprivate func store(
    _ key: AppAttest.Attestation, at now: Timestamp
  ) throws(DatabaseError) {
    _ = try execute(
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
        .text(key.extensions.bundleVersion?.cut(to: 64)), .bytes(key.receipt), .time(now),
      ])
  }
}

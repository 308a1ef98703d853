import Base
import Cryptography
import MariaDB

/// What an app sends with a request to prove that it is genuine.
package struct PresentedAssertion: Sendable {
  package let keyID: [UInt8]
  /// The assertion, CBOR.
  package let object: [UInt8]
  /// What the app signed, as it was received; that it is for this request is known already.
  package let clientData: [UInt8]

  package init(keyID: [UInt8], object: [UInt8], clientData: [UInt8]) {
    self.keyID = keyID
    self.object = object
    self.clientData = clientData
  }
}

extension Database {
  /// Judges what the app of a write says of itself, before the write.
  ///
  /// A valid assertion advances the counter of its key, and makes an unbound key the caller's device's.
  /// That is committed: the assertion is spent whatever comes of the write.
  ///
  /// - Parameters:
  ///   - facts: as the app says.
  ///   - assertion: what it sent as proof, or what is wrong with that; nil where it sent none.
  /// - Returns: `facts` with the verdict.
  /// - Throws: ``Refusal/attestation(_:)`` where proof is asked for, which is written down then; other
  ///   ``Refusal``s.
  package func judge(
    _ facts: ClientFacts, by assertion: Result<PresentedAssertion, AttestationRefusal>?,
    of caller: Caller, under policy: AttestationPolicy, at now: Timestamp
  ) throws -> ClientFacts {
    guard policy.mode != .off else { return facts }
    var facts = facts
    if let assertion {
      guard let apps = policy.apps else { return facts }  // nobody can know
      switch assertion {
      case .success(let presented):
        facts.refusal = try verify(presented, of: caller, for: apps, at: now)
      case .failure(let refusal): facts.refusal = refusal
      }
      facts.attestation = facts.refusal == nil ? .verified : .refused
    }
    guard policy.mode == .enforce else { return facts }
    if assertion == nil, !(facts.attestation == .stub && policy.acceptsStubs) {
      facts.refusal = facts.attestation == .stub ? .stub : .noAssertion
      facts.attestation = .refused
    }
    guard let refusal = facts.refusal else { return facts }
    try auditRefusedWrite(by: caller, facts: facts, at: now)
    throw Refusal.attestation(refusal)
  }

  /// Binds the key of a valid assertion to the caller's device, if it is bound to none yet.
  ///
  /// - Throws: ``Refusal``.
  package func bindKey(
    of assertion: PresentedAssertion, to caller: Caller, for apps: AttestedApps, at now: Timestamp
  ) throws {
    let isUnbound = try pool.read { connection in
      try connection.row(
        "SELECT TRUE FROM attestation_keys WHERE id = ? AND device_id IS NULL",
        [.bytes(assertion.keyID)]
      ) { row in row.boolean(0) }
    }
    if isUnbound == true { _ = try verify(assertion, of: caller, for: apps, at: now) }
  }

  /// - Returns: why the assertion is not valid; nil if it is, and is spent now.
  private func verify(
    _ assertion: PresentedAssertion, of caller: Caller, for apps: AttestedApps, at now: Timestamp
  ) throws -> AttestationRefusal? {
    while true {
      let (device, key) = try pool.read { connection in
        let device = try connection.live(caller, at: now).deviceID
        return (device, try connection.attestedKey(assertion.keyID))
      }
      guard let key else { return .unknownKey }
      guard key.deviceID ?? device == device else { return .keyOfAnotherDevice }
      guard let verifier = apps.verifier(ofKeyOf: key.appID, in: key.environment)
      else { return .outdatedKey }
      let counter: UInt32
      do throws(AppAttestError) {
        counter = try verifier.verifyAssertion(
          assertion.object, of: assertion.clientData, by: key.verifiable, where: { _ in true }
        ).counter
      } catch {
        return AttestationRefusal(error)
      }
      let isSpent = try pool.transaction { connection in
        try connection.spend(
          assertion, to: counter, of: key, by: caller, on: device, at: now)
      }
      if isSpent { return nil }  // else the key or the session is not as it was: asked again
    }
  }

  /// Leaves a row though nothing is written. Counted for the device, so that the rows have an end.
  private func auditRefusedWrite(
    by caller: Caller, facts: ClientFacts, at now: Timestamp
  ) throws {
    try pool.transaction { connection in
      let device = try connection.live(caller, at: now).deviceID
      try connection.count(.attestationRefusals, of: device, at: now)
      try connection.audit(
        .writeRefused, account: caller.accountID, device: device, facts: facts,
        from: caller.origin, at: now)
    }
  }
}

extension AttestedKey {
  fileprivate var verifiable: AppAttest.Key {
    AppAttest.Key(publicKey: publicKey, appID: appID, counter: counter)
  }
}

extension Connection {
  /// Advances the counter and binds the key, if it is bound as it was read and the session is alive.
  ///
  /// - Returns: false where another assertion, another device or the session's end came first.
  fileprivate func spend(
    _ assertion: PresentedAssertion, to counter: UInt32, of key: AttestedKey, by caller: Caller,
    on device: String, at now: Timestamp
  ) throws(DatabaseError) -> Bool {
    let changed = try execute(
      """
      UPDATE attestation_keys k
      JOIN sessions s ON s.id = ?
      JOIN devices d ON d.id = s.device_id
      SET k.counter = ?, k.device_id = d.id, k.bound_at = IFNULL(k.bound_at, ?)
      WHERE k.id = ? AND k.counter < ? AND (k.device_id <=> ?) AND s.ended_at IS NULL
        AND s.expires_at > ? AND d.revoked_at IS NULL
      """,
      [
        .text(caller.sessionID), .integer(Int64(counter)), .time(now), .bytes(assertion.keyID),
        .integer(Int64(counter)), .text(key.deviceID), .time(now),
      ])
    guard changed == 1 else { return false }
    if key.deviceID == nil {
      try audit(
        .keyBound, account: caller.accountID, device: device,
        detail: "key \(base64Encoded(assertion.keyID))", from: caller.origin, at: now)
    }
    return true
  }
}

import Base
import Cryptography
import MariaDB

/// The proof that an app sends with a request to show that it is genuine.
package struct PresentedAssertion: Sendable {
  package let keyID: [UInt8]
  /// The assertion, CBOR.
  package let object: [UInt8]
  /// The bytes that the app signed, as they were received. The caller has checked that they are for
  /// this request.
  package let clientData: [UInt8]

  package init(keyID: [UInt8], object: [UInt8], clientData: [UInt8]) {
    self.keyID = keyID
    self.object = object
    self.clientData = clientData
  }
}

/// The decision whether a write may go on.
package enum AssertionOutcome: Sendable {
  /// The app's description of itself, with the result of its proof.
  case passed(ClientFacts)
  /// Proof is required, and is missing or wrong.
  case refused(AttestationRefusal)
}

/// Assertions as requests use them.
package struct Assertions: Sendable {
  let records: Records

  /// Checks the proof that an app sends with a write, before the write.
  ///
  /// A valid assertion advances the counter of its key, and binds an unbound key to the caller's
  /// phone. This is committed, so that the assertion is spent even if the write fails. A refusal is
  /// audited.
  ///
  /// - Parameters:
  ///   - facts: the app's description of itself.
  ///   - assertion: the proof, or the problem with its form; nil if the app sent none.
  /// - Throws: ``Refusal``; ``RateLimited``.
  package func check(
    _ facts: ClientFacts, _ assertion: Result<PresentedAssertion, AttestationRefusal>?,
    of caller: Caller, under policy: AttestationPolicy
  ) throws -> AssertionOutcome {
    guard policy.mode != .off else { return .passed(facts) }
    let verdict: Verdict
    if let assertion {
      guard let apps = policy.apps else { return .passed(facts) }
      verdict =
        switch assertion {
        case .success(let presented): try verify(presented, of: caller, for: apps)
        case .failure(let refusal): .invalid(refusal)
        }
    } else {
      let isStub = facts.attestation == .stub
      guard policy.mode == .enforce, !(isStub && policy.acceptsStubs) else {
        return .passed(facts)
      }
      verdict = .invalid(isStub ? .stub : .noAssertion)
    }
    let facts = facts.with(verdict)
    guard policy.mode == .enforce, case .invalid(let refusal) = verdict else {
      return .passed(facts)
    }
    try auditRefusedWrite(by: caller, facts: facts)
    return .refused(refusal)
  }

  /// Binds the key of a valid assertion to the caller's phone, if the key is not bound yet.
  ///
  /// - Throws: ``Refusal``.
  package func bindKey(
    of assertion: PresentedAssertion, to caller: Caller, for apps: AttestedApps
  ) throws {
    let isUnbound = try records.read { transaction in
      try transaction.connection.row(
        "SELECT TRUE FROM attestation_keys WHERE id = ? AND device_id IS NULL",
        [.bytes(assertion.keyID)]
      ) { row in row.boolean(0) }
    }
    if isUnbound == true { _ = try verify(assertion, of: caller, for: apps) }
  }

  /// Verifies the assertion, and spends it if it is valid.
  private func verify(
    _ assertion: PresentedAssertion, of caller: Caller, for apps: AttestedApps
  ) throws -> Verdict {
    while true {
      let (device, key) = try records.read { transaction in
        let device = try transaction.sessions.live(caller).deviceID
        return (device, try transaction.attestedKeys.find(assertion.keyID))
      }
      guard let key else { return .invalid(.unknownKey) }
      guard key.isOf(caller) else { return .invalid(.keyOfAnotherDevice) }
      guard let verifier = apps.verifier(ofKeyOf: key.appID, in: key.environment)
      else { return .invalid(.outdatedKey) }
      let counter: UInt32
      do throws(AppAttestError) {
        counter = try verifier.verifyAssertion(
          assertion.object, of: assertion.clientData, by: key.verifiable, where: { _ in true }
        ).counter
      } catch {
        return .invalid(AttestationRefusal(error))
      }
      let isSpent = try records.transaction { transaction in
        try transaction.attestedKeys.spend(
          assertion, to: counter, of: key, by: caller, on: device)
      }
      if isSpent { return .valid }  // else the key or the session has changed: verify again
    }
  }

  /// Writes the audit row of a refused write. Counted for the device, so that the rows are limited.
  private func auditRefusedWrite(by caller: Caller, facts: ClientFacts) throws {
    try records.transaction { transaction in
      let device = try transaction.sessions.live(caller).deviceID
      try transaction.limits.count(.attestationRefusals, of: device)
      try transaction.audit.write(
        .writeRefused, account: caller.accountID, device: device, facts: facts)
    }
  }
}

extension Records {
  package var assertions: Assertions { Assertions(records: self) }
}

private enum Verdict {
  case valid
  case invalid(AttestationRefusal)
}

extension ClientFacts {
  fileprivate func with(_ verdict: Verdict) -> ClientFacts {
    var facts = self
    switch verdict {
    case .valid:
      facts.attestation = .verified
      facts.attestationReason = nil
    case .invalid(let refusal):
      facts.attestation = .refused
      facts.attestationReason = refusal.code
    }
    return facts
  }
}

extension AttestedKey {
  fileprivate var verifiable: AppAttest.Key {
    AppAttest.Key(publicKey: publicKey, appID: appID, counter: counter)
  }
}

extension AttestedKeyStatements {
  /// Advances the counter and binds the key, if its binding has not changed since it was read and
  /// the session is alive.
  ///
  /// - Returns: false if another assertion, another device or the session's end came first.
  fileprivate func spend(
    _ assertion: PresentedAssertion, to counter: UInt32, of key: AttestedKey, by caller: Caller,
    on device: String
  ) throws(DatabaseError) -> Bool {
    let now = transaction.now
    let changed = try transaction.connection.execute(
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
      try transaction.audit.write(
        .keyBound, account: caller.accountID, device: device,
        detail: "key \(base64Encoded(assertion.keyID))")
    }
    return true
  }
}

package import Cryptography

/// A try to confirm a payment, after it is counted.
private struct PasskeyTry: Sendable {
  let challenge: [UInt8]
  let passkey: StoredPasskey?
  let deviceID: String
}

/// The result of a payment whose assertion was checked.
private enum PasskeyPaymentOutcome: Sendable {
  case ended(PaymentOutcome)
  case refused(WebAuthnError)
}

extension Payments {
  /// Confirms a payment, once, with an assertion of its challenge by a passkey of the caller's
  /// account. A try is counted before the assertion is verified.
  ///
  /// - Throws: ``Refusal``.
  package func confirm(
    _ confirmation: PaymentConfirmation, with assertion: PasskeyAssertion, at party: RelyingParty,
    by caller: Caller
  ) throws -> PaymentOutcome {
    let attempt: PasskeyTry
    switch try countTry(of: confirmation, with: assertion, by: caller) {
    case .counted(let counted): attempt = counted
    case .refused(let outcome): return outcome
    }
    let error: WebAuthnError
    switch try confirm(confirmation, with: assertion, at: party, as: attempt, by: caller) {
    case .ended(let outcome): return outcome
    case .refused(let reason): error = reason
    }
    try records.transaction { transaction in
      try transaction.passkeys.auditRefusal(
        error, in: "payment", account: caller.accountID, device: attempt.deviceID)
      try transaction.payments.auditUnproven(
        confirmation, .passkey, by: caller, on: attempt.deviceID)
    }
    return .unproven
  }

  private func countTry(
    of confirmation: PaymentConfirmation, with assertion: PasskeyAssertion, by caller: Caller
  ) throws -> PaymentTry<PasskeyTry> {
    try records.transaction(rollingBack: PaymentTry<PasskeyTry>.self) { transaction in
      try transaction.payments.hold(confirmation.id)
      let session = try transaction.sessions.live(caller)
      switch try transaction.payments.countTry(of: confirmation, by: caller) {
      case .counted(let challenge):
        let passkey = try transaction.passkeys.find(
          credentialID: assertion.credentialID, of: caller.accountID)
        return .counted(
          PasskeyTry(challenge: challenge, passkey: passkey, deviceID: session.deviceID))
      case .refused(let outcome):
        throw RolledBack(outcome: PaymentTry<PasskeyTry>.refused(outcome))
      }
    }
  }

  /// Verifies the assertion, confirms the payment and records the use of the passkey.
  private func confirm(
    _ confirmation: PaymentConfirmation, with assertion: PasskeyAssertion, at party: RelyingParty,
    as attempt: PasskeyTry, by caller: Caller
  ) throws -> PasskeyPaymentOutcome {
    let use: PasskeyUse
    do throws(WebAuthnError) {
      use = try party.verify(
        assertion, by: attempt.passkey, of: caller.accountID,
        challengeHash: sha256(attempt.challenge))
    } catch {
      return .refused(error)
    }
    guard let passkey = attempt.passkey else { return .refused(.credential) }
    return try records.transaction(rollingBack: PasskeyPaymentOutcome.self) { transaction in
      // First: if two calls carry one assertion, the second finds the payment confirmed, not a clone.
      let outcome = try transaction.payments.confirm(
        confirmation, of: attempt.challenge, by: .passkey, of: caller, on: attempt.deviceID)
      guard case .confirmed = outcome else {
        throw RolledBack(outcome: PasskeyPaymentOutcome.ended(outcome))
      }
      switch try transaction.passkeys.record(use, of: passkey) {
      case .recorded: return .ended(outcome)
      case .cloned: throw RolledBack(outcome: PasskeyPaymentOutcome.refused(.signCount))
      case .gone: throw RolledBack(outcome: PasskeyPaymentOutcome.refused(.credential))
      }
    }
  }
}

import Cryptography

/// A try to confirm a payment, after it is counted.
private struct SignatureTry: Sendable {
  let counted: BiometricAttempt
  let challenge: [UInt8]
}

extension Payments {
  /// Confirms a payment, once, with a signature of its challenge by the biometric key of the
  /// caller's device. A try is counted before the signature is verified, for the payment and for
  /// the device.
  ///
  /// - Parameter signature: DER in base64.
  /// - Throws: ``Refusal``; ``RateLimited`` for 15 minutes after the fifth wrong signature from the
  ///   same network or with the same device credential, of any challenge.
  package func confirm(
    _ confirmation: PaymentConfirmation, withSignature signature: String,
    on clientDeviceID: String, by caller: Caller
  ) throws -> PaymentOutcome {
    let attempt: SignatureTry
    switch try countTry(of: confirmation, on: clientDeviceID, by: caller) {
    case .counted(let counted): attempt = counted
    case .refused(let outcome): return outcome
    }
    let key = attempt.counted.key
    guard try BiometricKey(base64: key.publicKey).isSignature(signature, of: attempt.challenge)
    else {
      try records.transaction { transaction in
        try transaction.biometrics.auditWrongSignature(of: [attempt.counted])
        try transaction.payments.auditUnproven(
          confirmation, .biometric, by: caller, on: key.deviceID)
      }
      return .unproven
    }
    // Uses its own transaction: a rejected payment does not make the signature wrong.
    try records.write { transaction in
      try transaction.biometrics.forgetTries(attempt.counted)
    }
    return try records.transaction(rollingBack: PaymentOutcome.self) { transaction in
      guard try transaction.biometrics.hold(key) else { throw Refusal.sessionEnded }
      let outcome = try transaction.payments.confirm(
        confirmation, of: attempt.challenge, by: .biometric, of: caller, on: key.deviceID)
      guard case .confirmed = outcome else { throw RolledBack(outcome: outcome) }
      if !key.isTrusted(at: transaction.now) { try transaction.biometrics.trust(key) }
      return outcome
    }
  }

  private func countTry(
    of confirmation: PaymentConfirmation, on clientDeviceID: String, by caller: Caller
  ) throws -> PaymentTry<SignatureTry> {
    try records.transaction(rollingBack: PaymentTry<SignatureTry>.self) { transaction in
      try transaction.payments.hold(confirmation.id)
      let session = try transaction.sessions.live(caller)
      guard clientDeviceID == caller.clientDeviceID,
        let key = try transaction.biometrics.keys(on: clientDeviceID)
          .first(where: { $0.deviceID == session.deviceID })
      else { throw RolledBack(outcome: PaymentTry<SignatureTry>.refused(.unknownKey)) }
      guard
        try key.isTrusted(at: transaction.now) || transaction.sessions.hasProofSinceAddress(caller)
      else {
        throw RolledBack(outcome: PaymentTry<SignatureTry>.refused(.keyTooNew))
      }
      let known =
        session.isShown(by: caller, at: records.now)
        ? KnownDevice.proven(id: key.deviceID) : .stranger
      if let lock = try transaction.biometrics.lock(of: [key], for: known) { throw lock }
      switch try transaction.payments.countTry(of: confirmation, by: caller) {
      case .counted(let challenge):
        let tries = try transaction.biometrics.countTries(with: [key], by: known)
        return .counted(SignatureTry(counted: tries[0], challenge: challenge))
      case .refused(let outcome):
        throw RolledBack(outcome: PaymentTry<SignatureTry>.refused(outcome))
      }
    }
  }
}

import MariaDB

/// What an app says of itself in its headers, kept for risk analysis and believed for nothing; and what came of
/// its proof that it is genuine.
package struct ClientFacts: Sendable, Equatable {
  package enum Attestation: String, Sendable {
    case none, stub, unverified, verified, refused
  }

  package let platform: String?
  package let bundleID: String?
  package let appVersion: String?
  package var attestation: Attestation
  /// Why the app is not believed to be genuine; nil where it is, and where nobody asks.
  package var refusal: AttestationRefusal?

  package init(
    platform: String?, bundleID: String?, appVersion: String?, attestation: Attestation,
    refusal: AttestationRefusal? = nil
  ) {
    self.platform = platform
    self.bundleID = bundleID
    self.appVersion = appVersion
    self.attestation = attestation
    self.refusal = refusal
  }
}

/// The events of the audit log.
enum AuditEvent: String {
  case accountCreated = "account_created"
  case apiKeyIssued = "api_key_issued"
  case attestationRefused = "attestation_refused"
  case bankConnected = "bank_connected"
  case bankDisconnected = "bank_disconnected"
  case bankEnrollmentBegun = "bank_enrollment_begun"
  case bankEnrolled = "bank_enrolled"
  case bankRefused = "bank_refused"
  case biometricEnabled = "biometric_enabled"
  case biometricLocked = "biometric_locked"
  case biometricRefused = "biometric_refused"
  case cardDefault = "card_default"
  case cardRemoved = "card_removed"
  case codeDead = "code_dead"
  case codeRequested = "code_requested"
  case codeRefused = "code_refused"
  case credentialRefused = "credential_refused"
  case deviceRegistered = "device_registered"
  case deviceRevoked = "device_revoked"
  case enrollmentRemoved = "enrollment_removed"
  case exchangeRefused = "exchange_refused"
  case keyAttested = "key_attested"
  case keyBound = "key_bound"
  case logout
  case masterKeyRefused = "master_key_refused"
  case merchantAdded = "merchant_added"
  case merchantRevoked = "merchant_revoked"
  case pairingEnded = "pairing_ended"
  case pairingTokensRevoked = "pairing_tokens_revoked"
  case paymentBegun = "payment_begun"
  case paymentConfirmed = "payment_confirmed"
  case paymentRefused = "payment_refused"
  case passkeyAdded = "passkey_added"
  case passkeyCloned = "passkey_cloned"
  case passkeyRefused = "passkey_refused"
  case passkeyRemoved = "passkey_removed"
  case phonePaired = "phone_paired"
  case preferencesWritten = "preferences_written"
  case pushTokenRemoved = "push_token_removed"
  case pushTokenSet = "push_token_set"
  case refreshed
  case refreshRefused = "refresh_refused"
  case refreshReuse = "refresh_reuse"
  case signIn = "sign_in"
  case signInRefused = "sign_in_refused"
  case turnsRegistered = "turns_registered"
  case turnsUnregistered = "turns_unregistered"
  case writeRefused = "write_refused"
}

extension Database {
  /// Writes down that a device credential was refused: the transaction that refused it is undone.
  package func auditRefusedCredential(
    account: String?, device: String?, from origin: Origin, at now: Timestamp
  ) throws {
    try pool.write { connection in
      try connection.audit(
        .credentialRefused, account: account, device: device, from: origin, at: now)
    }
  }
}

extension Connection {
  /// Writes one row of the audit log. `detail` says what happened in words, never a secret.
  mutating func audit(
    _ event: AuditEvent, account: String? = nil, device: String? = nil, detail: String? = nil,
    facts: ClientFacts? = nil, from origin: Origin, at now: Timestamp
  ) throws(DatabaseError) {
    _ = try execute(
      """
      INSERT INTO audit_log (at, event, account_id, device_id, request_id, address, detail,
        platform, bundle_id, app_version, attestation, attestation_reason)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .dateTime(milliseconds: now.milliseconds), .text(event.rawValue), .text(account),
        .text(device), .text(origin.requestID.cut(to: 64)), .text(origin.address.cut(to: 45)),
        .text(detail?.cut(to: 200)), .text(facts?.platform?.cut(to: 20)),
        .text(facts?.bundleID?.cut(to: 128)), .text(facts?.appVersion?.cut(to: 32)),
        .text(facts?.attestation.rawValue), .text(facts?.refusal?.code),
      ])
  }
}

extension Parameter {
  static func time(_ instant: Timestamp) -> Parameter {
    .dateTime(milliseconds: instant.milliseconds)
  }
}

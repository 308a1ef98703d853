/// Why App Attest's verification refused: one case for each step, in the word that logs have for it.
package enum AppAttestError: String, Error, Equatable, Sendable {
  /// Not CBOR as ``CBOR`` reads it, or bytes are left over.
  case malformed
  /// `fmt` is not `apple-appattest`.
  case format
  /// `x5c` is not two byte strings.
  case certificateCount = "certificate_count"
  /// One of the two is no certificate.
  case certificate
  /// The receipt is absent or over ``AppAttest/maximumReceiptSize``.
  case receipt
  /// Authenticator data end too early.
  case authenticatorData = "authenticator_data"
  /// The id of the credential has not 32 bytes, or is not the key id that was sent.
  case credentialID = "credential_id"
  /// The key of the credential is not one for ES256, or not that of the leaf.
  case publicKey = "public_key"
  /// What follows is not one map, or says something unreadable.
  case extensions
  /// The leaf has no nonce, or two.
  case nonceMissing = "nonce_missing"
  /// The leaf's nonce is not in its one form.
  case nonceForm = "nonce_form"
  /// The leaf's nonce is not that of these authenticator data and this challenge.
  case nonce
  /// The leaf's key is not of P-256.
  case curve
  /// The key id is not the digest of the leaf's key.
  case keyID = "key_id"
  /// The app is not one that is configured, or not that of the key.
  case app
  /// The counter of a new key is not 0.
  case counter
  /// Development where production is asked for, or the reverse, or neither.
  case environment
  /// The intermediate may not issue certificates, or the leaf may.
  case authority
  /// A certificate is not valid at this time.
  case validity
  /// The certificates do not lead to the root.
  case untrusted
  /// The category of the app's distribution is one that is refused.
  case category
  /// What was signed is not for this request.
  case challenge
  /// The signature is wrong.
  case signature
  /// The counter is not above the last one: a repetition, or requests that overtook each other.
  case outOfOrder = "assertion_out_of_order"
}

/// Verifies what Apple's App Attest service and the keys that it attests to have signed.
///
/// What it signs is hashed once more than in WebAuthn, so this shares no step with ``RelyingParty``.
package struct AppAttest: Sendable {
  package static let maximumReceiptSize = 16_384

  package enum Environment: String, Sendable {
    case development
    case production
  }

  /// Ids of the apps whose keys are attested, `TeamID.BundleID`.
  package let appIDs: [String]
  /// Environments that are accepted. TestFlight and the App Store are production.
  package let environments: Set<Environment>
  /// Categories of distribution that are refused where one is sent: 1 platform, 2 TestFlight, 3 development,
  /// 4 App Store, 5 enterprise or ad hoc, 6 Developer ID, 10 other. Before iOS 27 none is sent.
  package let refusedCategories: Set<UInt32>
  /// The certificate that all others must lead to.
  package let root: Certificate

  package init(
    appIDs: [String], environments: Set<Environment>, refusedCategories: Set<UInt32> = [],
    root: Certificate = .appleAppAttestationRoot
  ) {
    self.appIDs = appIDs
    self.environments = environments
    self.refusedCategories = refusedCategories
    self.root = root
  }

  /// What Apple adds to authenticator data since 2026. Members that are not known are passed over.
  package struct Extensions: Equatable, Sendable {
    package var bundleVersion: String?
    package var category: UInt32?

    init() {}

    /// - Parameter bytes: nothing, or one map. The flag that should tell which is wrong on real devices.
    init(_ bytes: ArraySlice<UInt8>) throws(AppAttestError) {
      guard !bytes.isEmpty else { return }
      let value = try CBOR.attested(bytes)
      guard value.map != nil else { throw .extensions }
      bundleVersion = value["apple_bundle_version_01"]?.text
      category = try value["apple_validation_category_01"].map(Self.category)
    }

    /// Documented as a number; devices send four bytes, little-endian.
    private static func category(_ value: CBOR) throws(AppAttestError) -> UInt32 {
      if let category = value.integer.flatMap({ UInt32(exactly: $0) }) { return category }
      guard let bytes = value.bytes, bytes.count == 4 else { throw .extensions }
      return bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
  }

  func check(_ extensions: Extensions) throws(AppAttestError) {
    if let category = extensions.category, refusedCategories.contains(category) { throw .category }
  }
}

extension CBOR {
  static func attested(_ bytes: ArraySlice<UInt8>) throws(AppAttestError) -> CBOR {
    do { return try CBOR(decoding: bytes) } catch { throw .malformed }
  }
}

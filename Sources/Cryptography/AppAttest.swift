/// The failed step of App Attest's verification. Logs show its raw value.
package enum AppAttestError: String, Error, Equatable, Sendable {
  /// Not CBOR as ``CBOR`` accepts it, or bytes are left over.
  case malformed
  /// `fmt` is not `apple-appattest`.
  case format
  /// `x5c` does not hold two byte strings.
  case certificateCount = "certificate_count"
  /// One of the two is not a certificate.
  case certificate
  /// The receipt is missing or larger than ``AppAttest/maximumReceiptSize``.
  case receipt
  /// The authenticator data end too early.
  case authenticatorData = "authenticator_data"
  /// The credential's id does not have 32 bytes, or is not the key id that was sent.
  case credentialID = "credential_id"
  /// The credential's key is not for ES256, or is not the leaf's.
  case publicKey = "public_key"
  /// The data after the key are not one map, or have an unreadable member.
  case extensions
  /// The leaf does not have exactly one nonce.
  case nonceMissing = "nonce_missing"
  /// The leaf's nonce has another form than Apple's.
  case nonceForm = "nonce_form"
  /// The leaf's nonce is not for these authenticator data and this challenge.
  case nonce
  /// The leaf's key is not of P-256.
  case curve
  /// The key id is not the digest of the leaf's key.
  case keyID = "key_id"
  /// The app is not configured, or is not the key's.
  case app
  /// The counter of a new key is not 0.
  case counter
  /// The environment is unknown or not accepted.
  case environment
  /// The intermediate may not issue certificates, or the leaf may.
  case authority
  /// A certificate is not yet valid, or has expired.
  case validity
  /// The certificates do not lead to the root.
  case untrusted
  /// The category of the app's distribution is refused.
  case category
  /// The client data are not for this request.
  case challenge
  /// The signature is wrong.
  case signature
  /// The counter is not above the last one: a repeated request, or requests in another order.
  case outOfOrder = "assertion_out_of_order"
}

/// Verifies attestations, which Apple's App Attest service signs, and assertions, which the
/// attested keys sign.
///
/// App Attest hashes once more than WebAuthn does, so this shares no step with ``RelyingParty``.
package struct AppAttest: Sendable {
  package static let maximumReceiptSize = 16_384

  package enum Environment: String, Sendable {
    case development, production
  }

  /// Ids of the accepted apps, `TeamID.BundleID`.
  package let appIDs: [String]
  /// The accepted environments. Apps of TestFlight and the App Store use production.
  package let environments: Set<Environment>
  /// Categories of distribution that are refused: 1 platform, 2 TestFlight, 3 development, 4 App
  /// Store, 5 enterprise or ad hoc, 6 Developer ID, 10 other. Devices before iOS 27 send none, and
  /// are accepted.
  package let refusedCategories: Set<UInt32>
  /// The certificate that every chain must end with.
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

  /// Data that Apple adds to authenticator data since 2026. Unknown members are ignored.
  package struct Extensions: Equatable, Sendable {
    package var bundleVersion: String?
    package var category: UInt32?

    init() {}

    /// - Parameter bytes: nothing, or one map. The flag for extensions is wrong on real devices, so
    ///   it is ignored.
    init(_ bytes: ArraySlice<UInt8>) throws(AppAttestError) {
      guard !bytes.isEmpty else { return }
      let value = try CBOR.attested(bytes)
      guard value.map != nil else { throw .extensions }
      bundleVersion = value["apple_bundle_version_01"]?.text
      category = try value["apple_validation_category_01"].map(Self.category)
    }

    /// Apple documents a number, but devices send four bytes, little-endian.
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

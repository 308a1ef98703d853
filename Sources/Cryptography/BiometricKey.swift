/// A key that a phone keeps behind its biometrics: P-256, for ECDSA with SHA-256.
package struct BiometricKey: Sendable {
  private let key: P256PublicKey

  /// The key of a SubjectPublicKeyInfo in DER, in base64.
  ///
  /// - Throws: ``CryptographyError/malformed``; ``CryptographyError/invalidKey`` for another curve.
  package init(base64 text: String) throws(CryptographyError) {
    guard let bytes = base64Decoded(text) else { throw .malformed }
    key = try P256PublicKey(subjectPublicKeyInfo: bytes)
  }

  /// The point, 65 bytes: equal for two texts of one key.
  package var point: [UInt8] { key.uncompressedPoint }

  /// Whether `signature` (DER in base64) is a signature of `challenge` (32 bytes) by this key.
  ///
  /// Clients differ in what they sign: the bytes, or the text in which they received the bytes,
  /// base64 or base64url. All three are accepted. They cannot be confused, because the text is
  /// longer than 32 bytes.
  package func isSignature(_ signature: String, of challenge: [UInt8]) -> Bool {
    guard let signature = base64Decoded(signature), challenge.count == 32 else { return false }
    return key.isECDSA(signature, of: challenge.span)
      || key.isECDSA(signature, of: base64Encoded(challenge).utf8.span)
      || key.isECDSA(signature, of: base64URLEncoded(challenge).utf8.span)
  }
}

import COpenSSL

/// A private key of RSA. It signs RS256 (RFC 7518 §3.3).
///
/// The corresponding C type is `EVP_PKEY`.
// @unchecked: signing only reads the key.
package final class RSAPrivateKey: @unchecked Sendable {
  /// The least size of the modulus in bits (RFC 7518 §3.3).
  private static let leastSize: CInt = 2048

  private let key: OpaquePointer

  /// The key of a PEM text with an unencrypted `PRIVATE KEY` (PKCS#8, RFC 5958).
  ///
  /// The corresponding C function is `PEM_read_bio_PrivateKey`.
  ///
  /// - Throws: ``CryptographyError/malformed`` if there is no such key;
  ///   ``CryptographyError/invalidKey`` for one of another algorithm, or of fewer than 2048 bits.
  package init(pem: String) throws(CryptographyError) {
    let key = try parse(pem.utf8.span) { PEM_read_bio_PrivateKey($0, nil, refusePassword, nil) }
    guard EVP_PKEY_is_a(key, "RSA") == 1, EVP_PKEY_get_bits(key) >= Self.leastSize else {
      EVP_PKEY_free(key)
      throw .invalidKey
    }
    self.key = key
  }

  deinit { EVP_PKEY_free(key) }

  /// The signature of the UTF-8 form of `message`, by PKCS #1 v1.5 with SHA-256.
  ///
  /// The corresponding C function is `EVP_DigestSign`.
  package func signRS256(_ message: String) throws(CryptographyError) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
    var size = signature.count
    let isSigned = message.utf8.span.withUnsafeBufferPointer {
      EVP_DigestSignInit_ex(context, nil, "SHA256", nil, nil, key, nil) == 1
        && EVP_DigestSign(context, &signature, &size, $0.baseAddress, $0.count) == 1
    }
    guard isSigned else { throw .takingLibraryFailure() }
    return Array(signature[..<size])
  }
}

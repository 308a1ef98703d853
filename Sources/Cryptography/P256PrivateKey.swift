import COpenSSL

/// A private key on the curve P-256. It signs ES256 (RFC 7518 §3.4) and agrees on secrets.
///
/// The corresponding C type is `EVP_PKEY`.
// @unchecked: signing only reads the key.
package final class P256PrivateKey: @unchecked Sendable {
  let handle: OpaquePointer

  /// The key of a PEM text with an unencrypted `PRIVATE KEY` (PKCS#8, RFC 5958).
  ///
  /// The corresponding C function is `PEM_read_bio_PrivateKey`.
  ///
  /// - Throws: ``CryptographyError/malformed`` if there is no such key;
  ///   ``CryptographyError/invalidKey`` for another curve.
  package init(pem: Span<UInt8>) throws(CryptographyError) {
    let key = try parse(pem) { PEM_read_bio_PrivateKey($0, nil, refusePassword, nil) }
    guard P256.isCurve(of: key) else {
      EVP_PKEY_free(key)
      throw .invalidKey
    }
    handle = key
  }

  /// The key of a PEM text.
  package convenience init(pem: String) throws(CryptographyError) {
    try self.init(pem: pem.utf8.span)
  }

  /// - Parameter handle: a key on the curve P-256.
  init(owning handle: OpaquePointer) { self.handle = handle }

  deinit { EVP_PKEY_free(handle) }

  /// The public half.
  ///
  /// The corresponding C function is `EVP_PKEY_up_ref`.
  package func publicKey() throws(CryptographyError) -> P256PublicKey {
    EVP_PKEY_up_ref(handle)
    return try P256PublicKey(owning: handle)
  }

  /// The signature of `message`: r and s, 32 bytes each, big-endian (RFC 7518 §3.4; not DER).
  ///
  /// The corresponding C function is `EVP_DigestSign`.
  package func signES256(_ message: Span<UInt8>) throws(CryptographyError) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var der = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(handle)))
    var size = der.count
    let isSigned = message.withUnsafeBufferPointer {
      EVP_DigestSignInit_ex(context, nil, "SHA256", nil, nil, handle, nil) == 1
        && EVP_DigestSign(context, &der, &size, $0.baseAddress, $0.count) == 1
    }
    guard isSigned, let signature = P256.rawSignature(der[..<size]) else {
      throw .takingLibraryFailure()
    }
    return signature
  }

  /// The signature of the UTF-8 form of `message`.
  package func signES256(_ message: String) throws(CryptographyError) -> [UInt8] {
    try signES256(message.utf8.span)
  }
}

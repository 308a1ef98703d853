import COpenSSL

/// A private key on the curve P-256, which signs ES256 (RFC 7518 §3.4).
///
/// The corresponding C type is `EVP_PKEY`.
// @unchecked: libcrypto only reads a key that signs.
package final class P256PrivateKey: @unchecked Sendable {
  private let key: OpaquePointer

  /// The key of a PEM text with a `PRIVATE KEY` (PKCS#8, RFC 5958), not encrypted.
  ///
  /// The corresponding C function is `PEM_read_bio_PrivateKey`.
  ///
  /// - Throws: ``CryptographyError/malformed`` if there is none; ``CryptographyError/invalidKey`` if it
  ///   is not of the curve P-256.
  package init(pem: Span<UInt8>) throws(CryptographyError) {
    let key = try parse(pem) { PEM_read_bio_PrivateKey($0, nil, neverAsk, nil) }
    guard isOnP256(key) else {
      EVP_PKEY_free(key)
      throw .invalidKey
    }
    self.key = key
  }

  /// The key of a PEM text.
  package convenience init(pem: String) throws(CryptographyError) {
    try self.init(pem: pem.utf8.span)
  }

  deinit { EVP_PKEY_free(key) }

  /// The signature of `message`: r and s, 32 bytes each, big-endian (RFC 7518 §3.4; not DER).
  ///
  /// The corresponding C function is `EVP_DigestSign`.
  package func signES256(_ message: Span<UInt8>) throws(CryptographyError) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var der = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
    var size = der.count
    let isSigned = message.withUnsafeBufferPointer {
      EVP_DigestSignInit_ex(context, nil, "SHA256", nil, nil, key, nil) == 1
        && EVP_DigestSign(context, &der, &size, $0.baseAddress, $0.count) == 1
    }
    guard isSigned, let signature = rawSignature(der[..<size]) else {
      throw .takingLibraryFailure()
    }
    return signature
  }

  /// The signature of the UTF-8 form of `message`.
  package func signES256(_ message: String) throws(CryptographyError) -> [UInt8] {
    try signES256(message.utf8.span)
  }
}

/// A public key on the curve P-256, which verifies ES256.
package final class P256PublicKey: Sendable {
  let key: PublicKey

  /// The key of a PEM text with a `PUBLIC KEY` (SubjectPublicKeyInfo, RFC 7468 §13).
  ///
  /// The corresponding C function is `PEM_read_bio_PUBKEY`.
  ///
  /// - Throws: ``CryptographyError/malformed`` if there is none; ``CryptographyError/invalidKey`` if it
  ///   is not of the curve P-256.
  package convenience init(pem: String) throws(CryptographyError) {
    try self.init(
      owning: parse(pem.utf8.span) { PEM_read_bio_PUBKEY($0, nil, neverAsk, nil) })
  }

  /// The key of a DER SubjectPublicKeyInfo (RFC 5280 §4.1), which must be all of `bytes`.
  ///
  /// The corresponding C function is `d2i_PUBKEY`.
  ///
  /// - Throws: as ``init(pem:)``.
  package convenience init(subjectPublicKeyInfo bytes: [UInt8]) throws(CryptographyError) {
    let key = bytes.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      let key = d2i_PUBKEY(nil, &position, buffer.count)
      guard key != nil, position != buffer.baseAddress! + buffer.count else { return key }
      EVP_PKEY_free(key)
      return nil
    }
    ERR_clear_error()
    guard let key else { throw .malformed }
    try self.init(owning: key)
  }

  /// The key of a point in its uncompressed form (SEC 1 §2.3.3): 4, x and y, 65 bytes.
  ///
  /// - Throws: ``CryptographyError/malformed`` if it is no such form, or not on the curve.
  package convenience init(uncompressedPoint point: [UInt8]) throws(CryptographyError) {
    guard point.count == 1 + 2 * coordinateSize, point.first == 4 else { throw .malformed }
    try self.init(subjectPublicKeyInfo: subjectPublicKeyInfoPrefix + point)
  }

  init(owning handle: OpaquePointer) throws(CryptographyError) {
    key = PublicKey(owning: handle)
    guard isOnP256(handle) else { throw .invalidKey }
  }

  /// Whether `signature` (r and s, 64 bytes) is one of `message` by this key's private half.
  package func isES256(_ signature: [UInt8], of message: Span<UInt8>) -> Bool {
    guard let der = derSignature(signature) else { return false }
    return isECDSA(der, of: message)
  }

  /// Whether `signature`, an ECDSA-Sig-Value in DER (RFC 3279 §2.2.3), is one of `message`, with SHA-256.
  ///
  /// Whoever has one such signature can make another of the same message (r, −s): it is no name for
  /// what was signed.
  package func isECDSA(_ signature: [UInt8], of message: Span<UInt8>) -> Bool {
    key.verifies(signature, of: message, digest: "SHA256")
  }

  /// The point in its uncompressed form, 65 bytes.
  ///
  /// The corresponding C function is `EVP_PKEY_get_bn_param`.
  package var uncompressedPoint: [UInt8] { Self.uncompressedPoint(of: key) }

  static func uncompressedPoint(of key: PublicKey) -> [UInt8] {
    var point: [UInt8] = [4]
    for name in [OSSL_PKEY_PARAM_EC_PUB_X, OSSL_PKEY_PARAM_EC_PUB_Y] {
      var number: OpaquePointer?
      defer { BN_free(number) }
      var coordinate = [UInt8](repeating: 0, count: coordinateSize)
      let isWhole =
        EVP_PKEY_get_bn_param(key.handle, name, &number) == 1
        && BN_bn2binpad(number, &coordinate, Int32(coordinateSize)) == coordinateSize
      precondition(isWhole, "libcrypto cannot tell a point")
      point += coordinate
    }
    return point
  }
}

extension P256PublicKey {
  /// Whether `signature` is one of `message`.
  package func isES256(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    isES256(signature, of: message.span)
  }
}

/// The size of a coordinate, in bytes.
private let coordinateSize = 32

/// What stands before the point in a SubjectPublicKeyInfo: the algorithm and the curve (RFC 5480 §2).
private let subjectPublicKeyInfoPrefix = hexDecoded(
  "3059301306072a8648ce3d020106082a8648ce3d030107034200")!

/// An encrypted key is no key to us: libcrypto would ask the terminal for its password.
func neverAsk(
  _ password: UnsafeMutablePointer<CChar>?, _ size: CInt, _ isWriting: CInt,
  _ context: UnsafeMutableRawPointer?
) -> CInt { -1 }

/// What `read` finds in a PEM text.
///
/// - Throws: ``CryptographyError/malformed`` if that is nothing.
func parse(
  _ pem: Span<UInt8>, _ read: (OpaquePointer?) -> OpaquePointer?
) throws(CryptographyError) -> OpaquePointer {
  let key = pem.withUnsafeBufferPointer { text in
    let source = BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count))
    defer { BIO_free(source) }
    return source == nil ? nil : read(source)
  }
  ERR_clear_error()
  guard let key else { throw .malformed }
  return key
}

private func isOnP256(_ key: OpaquePointer) -> Bool {
  var name = [CChar](repeating: 0, count: 32)
  var size = 0
  let hasGroup = EVP_PKEY_get_group_name(key, &name, name.count, &size) == 1
  ERR_clear_error()
  return hasGroup
    && name.withUnsafeBufferPointer { strcmp($0.baseAddress!, SN_X9_62_prime256v1) == 0 }
}

/// The two coordinates of an ECDSA-Sig-Value (RFC 3279 §2.2.3).
private func rawSignature(_ der: ArraySlice<UInt8>) -> [UInt8]? {
  der.withUnsafeBufferPointer { bytes in
    var position = bytes.baseAddress
    guard let signature = d2i_ECDSA_SIG(nil, &position, bytes.count) else { return nil }
    defer { ECDSA_SIG_free(signature) }
    var raw = [UInt8](repeating: 0, count: 2 * coordinateSize)
    let isWhole = raw.withUnsafeMutableBufferPointer { raw in
      BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw.baseAddress, Int32(coordinateSize)) >= 0
        && BN_bn2binpad(
          ECDSA_SIG_get0_s(signature), raw.baseAddress! + coordinateSize, Int32(coordinateSize))
          >= 0
    }
    return isWhole ? raw : nil
  }
}

/// The ECDSA-Sig-Value of two coordinates; nil unless they are 64 bytes.
private func derSignature(_ raw: [UInt8]) -> [UInt8]? {
  guard raw.count == 2 * coordinateSize else { return nil }
  let signature = ECDSA_SIG_new()
  defer { ECDSA_SIG_free(signature) }
  raw.withUnsafeBufferPointer { raw in
    _ = ECDSA_SIG_set0(
      signature, BN_bin2bn(raw.baseAddress, Int32(coordinateSize), nil),
      BN_bin2bn(raw.baseAddress! + coordinateSize, Int32(coordinateSize), nil))
  }
  var der: UnsafeMutablePointer<UInt8>?
  let size = i2d_ECDSA_SIG(signature, &der)
  defer { CRYPTO_free(der, #fileID, 0) }
  return size > 0 ? Array(UnsafeBufferPointer(start: der, count: Int(size))) : nil
}

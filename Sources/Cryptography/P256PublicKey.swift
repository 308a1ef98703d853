import COpenSSL

/// A public key on the curve P-256. It verifies ES256.
package final class P256PublicKey: Sendable {
  let key: PublicKey

  /// The key of a PEM text with a `PUBLIC KEY` (SubjectPublicKeyInfo, RFC 7468 §13).
  ///
  /// The corresponding C function is `PEM_read_bio_PUBKEY`.
  ///
  /// - Throws: ``CryptographyError/malformed`` if there is no such key;
  ///   ``CryptographyError/invalidKey`` for another curve.
  package convenience init(pem: String) throws(CryptographyError) {
    try self.init(
      owning: parse(pem.utf8.span) { PEM_read_bio_PUBKEY($0, nil, refusePassword, nil) })
  }

  /// The key of a DER SubjectPublicKeyInfo (RFC 5280 §4.1), which must be all of `bytes`.
  ///
  /// The corresponding C function is `d2i_PUBKEY`.
  ///
  /// - Throws: like ``init(pem:)``.
  package convenience init(subjectPublicKeyInfo bytes: [UInt8]) throws(CryptographyError) {
    // The usual form needs no decoder.
    if bytes.starts(with: subjectPublicKeyInfoPrefix),
      let key = P256.makeKey(point: Array(bytes.dropFirst(subjectPublicKeyInfoPrefix.count)))
    {
      try self.init(owning: key)
    } else {
      try self.init(decoding: bytes)
    }
  }

  private convenience init(decoding bytes: [UInt8]) throws(CryptographyError) {
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
  /// - Throws: ``CryptographyError/malformed`` for another form, or if the point
  ///   is not on the curve.
  package convenience init(uncompressedPoint point: [UInt8]) throws(CryptographyError) {
    guard let key = P256.makeKey(point: point) else { throw .malformed }
    try self.init(owning: key)
  }

  init(owning handle: OpaquePointer) throws(CryptographyError) {
    key = PublicKey(owning: handle)
    guard P256.isCurve(of: handle) else { throw .invalidKey }
  }

  /// Whether `signature` (r and s, 64 bytes) is a signature of `message` by this key's private
  /// half.
  package func isES256(_ signature: [UInt8], of message: Span<UInt8>) -> Bool {
    guard let der = P256.derSignature(signature) else { return false }
    return isECDSA(der, of: message)
  }

  /// Whether `signature`, an ECDSA-Sig-Value in DER (RFC 3279 §2.2.3), is a signature of `message`,
  /// with SHA-256.
  ///
  /// Such a signature is not unique: without the key, (r, s) can be turned into (r, −s) for the
  /// same message. Do not use it to identify what was signed.
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
      var coordinate = [UInt8](repeating: 0, count: P256.coordinateSize)
      let isWhole =
        EVP_PKEY_get_bn_param(key.handle, name, &number) == 1
        && BN_bn2binpad(number, &coordinate, Int32(P256.coordinateSize)) == P256.coordinateSize
      precondition(isWhole, "libcrypto cannot give the point")
      point += coordinate
    }
    return point
  }
}

extension P256PublicKey {
  /// Whether `signature` is a signature of `message`.
  package func isES256(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    isES256(signature, of: message.span)
  }
}

/// The bytes before the point in a SubjectPublicKeyInfo: the algorithm and the curve (RFC 5480 §2).
private let subjectPublicKeyInfoPrefix = hexDecoded(
  "3059301306072a8648ce3d020106082a8648ce3d030107034200")!

import COpenSSL

/// The public key of a credential and its algorithm (RFC 9052 §7, RFC 9053 §2, RFC 8230 §2).
package struct COSEKey: Sendable {
  /// Signature algorithms by their numbers in COSE's registry.
  package enum Algorithm: Int64, Sendable {
    case es256 = -7
    case edDSA = -8
    case rs256 = -257
  }

  package let algorithm: Algorithm
  private let key: PublicKey

  /// - Throws: ``CryptographyError/invalidKey`` unless `value` has a known algorithm and exactly
  ///   the members that its type of key needs (WebAuthn §6.5.1), and is a key of P-256, of Ed25519,
  ///   or of RSA with 2,048 to 4,096 bits and the exponent 65,537.
  package init(_ value: CBOR) throws(CryptographyError) {
    guard let algorithm = value[3]?.integer.flatMap(Algorithm.init) else { throw .invalidKey }
    self.algorithm = algorithm
    do {
      key =
        switch algorithm {
        case .es256: try Self.p256(value)
        case .edDSA: try Self.ed25519(value)
        case .rs256: try Self.rsa(value)
        }
    } catch {
      throw .invalidKey
    }
  }

  /// Whether `signature` is a signature of `message` by this key's private half.
  package func verifies(_ signature: [UInt8], of message: Span<UInt8>) -> Bool {
    key.verifies(signature, of: message, digest: algorithm == .edDSA ? nil : "SHA256")
  }

  /// The point of a key for ES256, in its uncompressed form, 65 bytes.
  var uncompressedPoint: [UInt8]? {
    algorithm == .es256 ? P256PublicKey.uncompressedPoint(of: key) : nil
  }

  private static func p256(_ value: CBOR) throws(CryptographyError) -> PublicKey {
    guard value.map?.count == 5, value[1] == .integer(2), value[-1] == .integer(1),
      let x = value[-2]?.bytes, x.count == 32, let y = value[-3]?.bytes
    else { throw .invalidKey }
    return try P256PublicKey(uncompressedPoint: [4] + x + y).key
  }

  private static func ed25519(_ value: CBOR) throws(CryptographyError) -> PublicKey {
    guard value.map?.count == 4, value[1] == .integer(1), value[-1] == .integer(6),
      let x = value[-2]?.bytes, x.count == 32,
      let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, Array(x), x.count)
    else { throw .invalidKey }
    return PublicKey(owning: key)
  }

  private static func rsa(_ value: CBOR) throws(CryptographyError) -> PublicKey {
    guard value.map?.count == 4, value[1] == .integer(3), value[-2] == .bytes([1, 0, 1]),
      let modulus = value[-1]?.bytes, (256...512).contains(modulus.count),
      let first = modulus.first, first != 0
    else { throw .invalidKey }
    // RSAPublicKey (RFC 8017 §A.1.1). The first bit of a number is its sign.
    let number = first < 0x80 ? modulus : [0] + modulus
    let numbers = derHead(0x02, number.count) + number + [0x02, 3, 1, 0, 1]
    let bytes = derHead(0x30, numbers.count) + numbers
    let key = bytes.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      return d2i_PublicKey(EVP_PKEY_RSA, nil, &position, bytes.count)
    }
    ERR_clear_error()
    guard let key else { throw .invalidKey }
    let owned = PublicKey(owning: key)
    guard EVP_PKEY_get_bits(key) >= 2048 else { throw .invalidKey }
    return owned
  }

  /// The tag and size of a value of 256 bytes or more.
  private static func derHead(_ tag: UInt8, _ size: Int) -> [UInt8] {
    [tag, 0x82, UInt8(size >> 8), UInt8(size & 0xFF)]
  }
}

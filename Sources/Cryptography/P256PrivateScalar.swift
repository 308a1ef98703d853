import COpenSSL

extension P256PrivateKey {
  /// The key with a private scalar of 32 bytes, big-endian.
  ///
  /// The corresponding C functions are `d2i_PrivateKey`, which computes the public half, and
  /// `EVP_PKEY_private_check`.
  ///
  /// - Throws: ``CryptographyError/invalidKey`` unless the scalar has 32 bytes and lies between 1 and the
  ///   order of the curve less 1 (SEC 1 §3.2.1).
  package convenience init(scalar: Span<UInt8>) throws(CryptographyError) {
    guard scalar.count == P256.coordinateSize else { throw .invalidKey }
    var der: [UInt8] = []
    der.reserveCapacity(64)  // growing would leave a copy behind
    der += ecPrivateKeyStart
    for index in scalar.indices { der.append(scalar[index]) }
    der += ecPrivateKeyEnd
    defer {
      wipe(&der)
      ERR_clear_error()
    }
    let key = der.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return d2i_PrivateKey(EVP_PKEY_EC, nil, &position, buffer.count)
    }
    guard let key else { throw .invalidKey }
    self.init(owning: key)
    let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_private_check(context) == 1 else { throw .invalidKey }
  }

  /// A scalar for ``init(scalar:)``, made of random bytes.
  package static func randomScalar() -> [UInt8] {
    while true {
      let scalar = randomBytes(P256.coordinateSize)
      // One of 2³² scalars is too large.
      if (try? P256PrivateKey(scalar: scalar.span)) != nil { return scalar }
    }
  }
}

/// The bytes of an ECPrivateKey (RFC 5915 §3) before its 32 bytes of `privateKey`.
private let ecPrivateKeyStart = hexDecoded("30310201010420")!

/// The bytes after them: the curve in `parameters`, and no `publicKey`.
private let ecPrivateKeyEnd = hexDecoded("a00a06082a8648ce3d030107")!

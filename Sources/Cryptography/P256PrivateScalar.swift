import COpenSSL

extension P256PrivateKey {
  /// The key with a private scalar of 32 bytes, big-endian.
  ///
  /// The corresponding C function is `EC_POINT_mul`, which computes the public half.
  ///
  /// - Throws: ``CryptographyError/invalidKey`` unless the scalar has 32 bytes and lies between 1 and the
  ///   order of the curve less 1 (SEC 1 §3.2.1).
  package convenience init(scalar: Span<UInt8>) throws(CryptographyError) {
    let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
    let point = EC_POINT_new(curve)
    let number = scalar.withUnsafeBufferPointer {
      BN_bin2bn($0.baseAddress, Int32($0.count), nil)
    }
    defer {
      BN_clear_free(number)
      EC_POINT_free(point)
      EC_GROUP_free(curve)
    }
    guard scalar.count == P256.coordinateSize, BN_is_zero(number) == 0,
      BN_cmp(number, EC_GROUP_get0_order(curve)) < 0,
      EC_POINT_mul(curve, point, number, nil, nil, nil) == 1
    else { throw .invalidKey }
    var bytes = [UInt8](repeating: 0, count: 1 + 2 * P256.coordinateSize)
    EC_POINT_point2oct(
      curve, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, nil)
    guard let key = P256.makeKey(point: bytes, scalar: number) else { throw .invalidKey }
    self.init(owning: key)
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

import COpenSSL

/// The curve P-256 and the two forms of its signatures.
enum P256 {
  /// The size of a coordinate, in bytes.
  static let coordinateSize = 32

  /// The key with a point in its uncompressed form (SEC 1 §2.3.3), 65 bytes, and with a private scalar.
  ///
  /// The corresponding C function is `EVP_PKEY_fromdata`. The functions that read DER take six times as long, because they
  /// gather all decoders for each key.
  ///
  /// - Parameter scalar: a `BIGNUM` between 1 and the order of the curve less 1, whose point it is; nil for a public key.
  /// - Returns: nil for another form, or if the point is not on the curve.
  static func makeKey(point: [UInt8], scalar: OpaquePointer? = nil) -> OpaquePointer? {
    guard point.count == 1 + 2 * coordinateSize, point.first == 4 else { return nil }
    let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    var (curve, point) = (SN_X9_62_prime256v1.utf8CString, point)
    var secret = [UInt8](repeating: 0, count: coordinateSize)
    defer {
      EVP_PKEY_CTX_free(context)
      wipe(&secret)
      ERR_clear_error()
    }
    if let scalar { BN_bn2nativepad(scalar, &secret, Int32(coordinateSize)) }
    var key: OpaquePointer?
    curve.withUnsafeMutableBufferPointer { curve in
      point.withUnsafeMutableBufferPointer { point in
        secret.withUnsafeMutableBufferPointer { secret in
          var parameters = [
            OSSL_PARAM_construct_utf8_string(groupName.utf8CString, curve.baseAddress, 0),
            OSSL_PARAM_construct_octet_string(
              pointName.utf8CString, point.baseAddress, point.count),
            OSSL_PARAM_construct_end(),
          ]
          if scalar != nil {
            let parameter = OSSL_PARAM_construct_BN(
              scalarName.utf8CString, secret.baseAddress, secret.count)
            parameters.insert(parameter, at: 0)
          }
          var parts = OSSL_KEYMGMT_SELECT_DOMAIN_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY
          if scalar != nil { parts |= OSSL_KEYMGMT_SELECT_PRIVATE_KEY }
          if EVP_PKEY_fromdata_init(context) == 1 {
            _ = EVP_PKEY_fromdata(context, &key, parts, &parameters)
          }
        }
      }
    }
    return key
  }

  static func isCurve(of key: OpaquePointer) -> Bool {
    var name = [CChar](repeating: 0, count: 32)
    var size = 0
    let hasGroup = EVP_PKEY_get_group_name(key, &name, name.count, &size) == 1
    ERR_clear_error()
    return hasGroup
      && name.withUnsafeBufferPointer { strcmp($0.baseAddress!, SN_X9_62_prime256v1) == 0 }
  }

  /// The two coordinates of an ECDSA-Sig-Value (RFC 3279 §2.2.3).
  static func rawSignature(_ der: ArraySlice<UInt8>) -> [UInt8]? {
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
  static func derSignature(_ raw: [UInt8]) -> [UInt8]? {
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
}

/// `OSSL_PKEY_PARAM_GROUP_NAME`, `OSSL_PKEY_PARAM_PUB_KEY` and `OSSL_PKEY_PARAM_PRIV_KEY`. A parameter keeps the name's address.
private let (groupName, pointName, scalarName): (StaticString, StaticString, StaticString) = (
  "group", "pub", "priv"
)

extension StaticString {
  fileprivate var utf8CString: UnsafePointer<CChar> {
    UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
  }
}

import COpenSSL

/// The curve P-256 and the two forms of its signatures.
enum P256 {
  /// The size of a coordinate, in bytes.
  static let coordinateSize = 32

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

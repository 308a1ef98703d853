import COpenSSL

/// Output of HKDF-SHA256, extract and expand (RFC 5869 §2).
///
/// The corresponding C functions are those of `EVP_PKEY_HKDF(7)`.
///
/// - Parameter count: bytes, at most 8160.
package func hkdfSHA256(
  _ keyMaterial: borrowing Secret, salt: [UInt8], info: [UInt8], count: Int
) -> Secret {
  let context = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil)
  defer { EVP_PKEY_CTX_free(context) }
  var output = [UInt8](repeating: 0, count: count)
  var size = count
  defer { wipe(&output) }
  let isReady = keyMaterial.withBytes { material in
    material.withUnsafeBufferPointer {
      EVP_PKEY_derive_init(context) == 1
        && EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1
        && EVP_PKEY_CTX_set1_hkdf_key(context, $0.baseAddress, Int32($0.count)) == 1
        && EVP_PKEY_CTX_set1_hkdf_salt(context, salt, Int32(salt.count)) == 1
        && EVP_PKEY_CTX_add1_hkdf_info(context, info, Int32(info.count)) == 1
    }
  }
  precondition(
    isReady && EVP_PKEY_derive(context, &output, &size) == 1 && size == count,
    "libcrypto cannot compute HKDF-SHA256")
  return Secret(copying: output.span)
}

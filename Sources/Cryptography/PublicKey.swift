import COpenSSL

/// A public key of any algorithm. It verifies signatures.
///
/// The corresponding C type is `EVP_PKEY`.
// @unchecked: verifying only reads the key.
final class PublicKey: @unchecked Sendable {
  let handle: OpaquePointer

  init(owning handle: OpaquePointer) { self.handle = handle }

  deinit { EVP_PKEY_free(handle) }

  /// Whether `signature` is a signature of `message` by this key's private half.
  ///
  /// The corresponding C function is `EVP_DigestVerify`.
  ///
  /// - Parameter digest: nil for a key whose algorithm includes its digest.
  func verifies(_ signature: [UInt8], of message: Span<UInt8>, digest: String?) -> Bool {
    let context = EVP_MD_CTX_new()
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    return message.withUnsafeBufferPointer {
      EVP_DigestVerifyInit_ex(context, nil, digest, nil, nil, handle, nil) == 1
        && EVP_DigestVerify(context, signature, signature.count, $0.baseAddress, $0.count) == 1
    }
  }
}

import COpenSSL

/// An HMAC-SHA256 context with its key set, for any number of messages.
///
/// The corresponding C type is `EVP_MAC_CTX`.
struct MessageAuthenticator: ~Copyable {
  private let context: OpaquePointer

  init(keyedWith secret: borrowing Secret) {
    let method = EVP_MAC_fetch(nil, "HMAC", nil)
    defer { EVP_MAC_free(method) }  // the context keeps its own reference
    guard let context = EVP_MAC_CTX_new(method) else {
      preconditionFailure("libcrypto cannot compute HMAC")
    }
    self.context = context

    var digest = "SHA256".utf8CString
    // A parameter keeps the addresses of its name and its value.
    let isKeyed = digest.withUnsafeMutableBufferPointer { digest in
      OSSL_MAC_PARAM_DIGEST.withCString { name in
        let parameters = [
          OSSL_PARAM_construct_utf8_string(name, digest.baseAddress, 0),
          OSSL_PARAM_construct_end(),
        ]
        return secret.withBytes { bytes in
          bytes.withUnsafeBufferPointer {
            EVP_MAC_init(context, $0.baseAddress, $0.count, parameters)
          }
        }
      }
    }
    precondition(isKeyed == 1, "libcrypto cannot compute HMAC-SHA256")
  }

  deinit { EVP_MAC_CTX_free(context) }

  /// The tag of `message`, 32 bytes.
  mutating func tag(of message: Span<UInt8>) -> [UInt8] {
    var tag = [UInt8](repeating: 0, count: digestSize)
    var size = 0
    let isDone = message.withUnsafeBufferPointer { message in
      EVP_MAC_init(context, nil, 0, nil) == 1
        && EVP_MAC_update(context, message.baseAddress, message.count) == 1
        && EVP_MAC_final(context, &tag, &size, digestSize) == 1
    }
    precondition(isDone && size == digestSize, "libcrypto cannot compute HMAC-SHA256")
    return tag
  }
}

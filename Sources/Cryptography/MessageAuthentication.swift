import COpenSSL
import Synchronization

/// The HMAC-SHA256 tag of `message` under `key`, 32 bytes (RFC 2104).
///
/// Tokens are signed under the same secret. Begin each kind of message with a label of its own,
/// never with bytes that a client chooses, so that a tag of one kind is never valid for another.
package func hmacSHA256(_ message: Span<UInt8>, with key: Key) -> [UInt8] {
  key.authenticator.withLock { $0.tag(of: message) }
}

/// The HMAC-SHA256 tag of `message` under `key`.
package func hmacSHA256(_ message: [UInt8], with key: Key) -> [UInt8] {
  hmacSHA256(message.span, with: key)
}

/// The HMAC-SHA256 tag of the UTF-8 form of `message` under `key`.
package func hmacSHA256(_ message: String, with key: Key) -> [UInt8] {
  hmacSHA256(message.utf8.span, with: key)
}

/// Whether `a` and `b` are the same bytes. The time depends only on their sizes.
///
/// The corresponding C function is `CRYPTO_memcmp`.
package func isEqualInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
}

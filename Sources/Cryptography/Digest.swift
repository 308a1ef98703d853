import COpenSSL

/// The size of a SHA-256 digest and of an HMAC-SHA256 tag, in bytes.
let digestSize = Int(SHA256_DIGEST_LENGTH)

// Fetched once: looking the algorithm up by name takes as long as digesting a token.
private nonisolated(unsafe) let method = EVP_MD_fetch(nil, "SHA256", nil)

/// The SHA-256 digest of `bytes`, 32 bytes (FIPS 180-4).
///
/// The corresponding C function is `EVP_Digest`.
package func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: digestSize) { digest, size in
    let isDone = bytes.withUnsafeBufferPointer {
      EVP_Digest($0.baseAddress, $0.count, digest.baseAddress, nil, method, nil)
    }
    precondition(isDone == 1, "libcrypto cannot compute SHA-256")
    size = digestSize
  }
}

/// The SHA-256 digest of `bytes`.
package func sha256(_ bytes: [UInt8]) -> [UInt8] { sha256(bytes.span) }

/// The SHA-256 digest of the UTF-8 form of `text`.
package func sha256(_ text: String) -> [UInt8] { sha256(text.utf8.span) }

import COpenSSL

// Fetched once: looking an algorithm up by name takes as long as encrypting a short value.
private nonisolated(unsafe) let aes256GCM = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
private nonisolated(unsafe) let aes128GCM = EVP_CIPHER_fetch(nil, "AES-128-GCM", nil)

/// Encrypts or decrypts one value with AES-256-GCM, or with AES-128-GCM.
///
/// The corresponding C type is `EVP_CIPHER_CTX`.
struct Cipher: ~Copyable {
  enum Direction: Int32 {
    case decrypt = 0
    case encrypt = 1
  }

  /// Bytes.
  static let nonceSize = 12
  /// Bytes.
  static let tagSize = 16

  private let context: OpaquePointer

  /// - Parameters:
  ///   - key: 32 bytes, or 16 for AES-128.
  ///   - nonce: 12 bytes, never used before with `key`.
  /// - Throws: ``CryptographyError/invalidKey`` or ``CryptographyError/malformed`` for other sizes,
  ///   because libcrypto would read beyond their end.
  init(
    _ direction: Direction, key: borrowing Secret, nonce: [UInt8]
  ) throws(CryptographyError) {
    guard let context = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
    self.context = context
    guard key.count == 32 || key.count == 16 else { throw .invalidKey }
    guard nonce.count == Self.nonceSize else { throw .malformed }
    let algorithm = key.count == 16 ? aes128GCM : aes256GCM
    let isReady = key.withBytes { key in
      key.withUnsafeBufferPointer {
        EVP_CipherInit_ex2(context, algorithm, $0.baseAddress, nonce, direction.rawValue, nil)
      }
    }
    guard isReady == 1 else { throw .takingLibraryFailure() }
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// Adds `data` to what the tag authenticates. The corresponding C function is `EVP_CipherUpdate`.
  func authenticate(_ data: [UInt8]) throws(CryptographyError) {
    var size: Int32 = 0
    guard EVP_CipherUpdate(context, nil, &size, data, Int32(data.count)) == 1
    else { throw .takingLibraryFailure() }
  }

  /// The ciphertext of a plaintext, or the reverse. Do not use a plaintext before
  /// ``finishDecrypting(tag:)`` has returned. The corresponding C function is `EVP_CipherUpdate`.
  func translate(_ text: [UInt8]) throws(CryptographyError) -> [UInt8] {
    guard !text.isEmpty else { return [] }
    var result = [UInt8](repeating: 0, count: text.count)
    var size: Int32 = 0
    guard EVP_CipherUpdate(context, &result, &size, text, Int32(text.count)) == 1
    else { throw .takingLibraryFailure() }
    return result
  }

  /// The tag, 16 bytes. The corresponding C function is `EVP_CipherFinal_ex`.
  func finishEncrypting() throws(CryptographyError) -> [UInt8] {
    var tag = [UInt8](repeating: 0, count: Self.tagSize)
    guard finish(), control(EVP_CTRL_AEAD_GET_TAG, &tag) else { throw .takingLibraryFailure() }
    return tag
  }

  /// Checks the tag. The corresponding C function is `EVP_CipherFinal_ex`.
  ///
  /// - Throws: ``CryptographyError/unauthentic``; ``CryptographyError/malformed`` for a tag of
  ///   another size, because libcrypto would compare a shorter one.
  func finishDecrypting(tag: [UInt8]) throws(CryptographyError) {
    guard tag.count == Self.tagSize else { throw .malformed }
    var tag = tag
    guard control(EVP_CTRL_AEAD_SET_TAG, &tag) else { throw .takingLibraryFailure() }
    guard finish() else {
      ERR_clear_error()
      throw .unauthentic
    }
  }

  private func control(_ command: Int32, _ tag: inout [UInt8]) -> Bool {
    EVP_CIPHER_CTX_ctrl(context, command, Int32(tag.count), &tag) == 1
  }

  private func finish() -> Bool {
    var nothing: UInt8 = 0  // GCM has no final block
    var size: Int32 = 0
    return EVP_CipherFinal_ex(context, &nothing, &size) == 1
  }
}

import CSodium

/// libsodium's sealed boxes: X25519, XSalsa20 and Poly1305, with a new key pair of the sender in each box.
enum SealedBox {
  /// The size of a public or private key, in bytes.
  static let keySize = Int(crypto_box_PUBLICKEYBYTES)
  /// The number of bytes that a box adds to its content.
  static let overhead = crypto_box_sealbytes()

  private static let isReady = sodium_init() >= 0

  /// The public half of `secret` (32 bytes); nil if it has no public half.
  ///
  /// The corresponding C function is `crypto_scalarmult_base`.
  static func publicHalf(of secret: borrowing Secret) -> [UInt8]? {
    precondition(isReady, "libsodium cannot start")
    var key = [UInt8](repeating: 0, count: keySize)
    let status = secret.withBytes { secret in
      secret.withUnsafeBufferPointer { crypto_scalarmult_base(&key, $0.baseAddress!) }
    }
    return status == 0 ? key : nil
  }

  /// A box with `content` for the owner of `publicKey`; nil if the key cannot seal.
  ///
  /// The corresponding C function is `crypto_box_seal`.
  static func seal(_ content: [UInt8], for publicKey: [UInt8]) -> [UInt8]? {
    precondition(isReady && publicKey.count == keySize, "libsodium cannot seal")
    var box = [UInt8](repeating: 0, count: overhead + content.count)
    let status = crypto_box_seal(&box, content, UInt64(content.count), publicKey)
    return status == 0 ? box : nil
  }

  /// The content of `box`; nil if it was not sealed for `key`, or if a bit of it differs.
  ///
  /// The corresponding C function is `crypto_box_seal_open`.
  static func open(_ box: [UInt8], with key: BoxKey) -> [UInt8]? {
    precondition(isReady, "libsodium cannot start")
    guard box.count >= overhead else { return nil }
    var content = [UInt8](repeating: 0, count: box.count - overhead)
    let status = key.secret.withBytes { secret in
      secret.withUnsafeBufferPointer {
        crypto_box_seal_open(
          &content, box, UInt64(box.count), key.publicKey.bytes, $0.baseAddress!)
      }
    }
    return status == 0 ? content : nil
  }
}

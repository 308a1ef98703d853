import COpenSSL
package import Cryptography

/// A content in the coding `aes128gcm` (RFC 8188), as its receiver reads it.
package struct EncryptedContent {
  package struct Malformed: Error {}

  package let salt: [UInt8]
  package let recordSize: Int
  package let keyID: [UInt8]
  private let records: [[UInt8]]

  package init(_ bytes: [UInt8]) throws {
    guard bytes.count >= 21, bytes.count >= 21 + Int(bytes[20]) else { throw Malformed() }
    salt = Array(bytes[..<16])
    recordSize = bytes[16..<20].reduce(0) { $0 << 8 | Int($1) }
    keyID = Array(bytes[21..<(21 + Int(bytes[20]))])
    let content = Array(bytes[(21 + keyID.count)...])
    let size = recordSize
    guard size >= 18, !content.isEmpty else { throw Malformed() }
    records = stride(from: 0, to: content.count, by: size)
      .map { Array(content[$0..<min($0 + size, content.count)]) }
  }

  /// The content, decrypted.
  package func open(with keyMaterial: borrowing Secret) throws -> [UInt8] {
    let key = derive("aes128gcm", 16, from: keyMaterial)
    let nonce = derive("nonce", 12, from: keyMaterial)
    var content: [UInt8] = []
    for (number, record) in records.enumerated() {
      var own = nonce
      for index in 0..<8 { own[11 - index] ^= UInt8(truncatingIfNeeded: number >> (8 * index)) }
      let text = try decrypt(record, key: key, nonce: own)
      // The delimiter is the last nonzero octet: 2 in the last record, 1 in every other record.
      guard let end = text.lastIndex(where: { $0 != 0 }),
        text[end] == (number == records.count - 1 ? 2 : 1)
      else { throw Malformed() }
      content += text[..<end]
    }
    return content
  }

  private func derive(
    _ word: String, _ count: Int, from keyMaterial: borrowing Secret
  ) -> [UInt8] {
    hkdfSHA256(
      keyMaterial, salt: salt, info: Array("Content-Encoding: \(word)\0".utf8), count: count
    ).withBytes { $0.withUnsafeBufferPointer { Array($0) } }
  }
}

extension EncryptedContent {
  /// Decrypts a message to the browser with this private key and authentication secret (RFC 8291).
  package func open(as browser: P256PrivateKey, authentication: [UInt8]) throws -> [UInt8] {
    let sender = try P256PublicKey(uncompressedPoint: keyID)
    let keyMaterial = hkdfSHA256(
      try browser.sharedSecret(with: sender), salt: authentication,
      info: Array("WebPush: info\0".utf8) + (try browser.publicKey().uncompressedPoint) + keyID,
      count: 32)
    return try open(with: keyMaterial)
  }
}

private func decrypt(_ record: [UInt8], key: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
  let context = EVP_CIPHER_CTX_new()
  defer { EVP_CIPHER_CTX_free(context) }
  guard record.count > 16 else { throw EncryptedContent.Malformed() }
  var (text, tag) = (Array(record.dropLast(16)), Array(record.suffix(16)))
  var size: Int32 = 0
  let ciphertext = text
  var nothing: UInt8 = 0
  guard EVP_DecryptInit_ex2(context, EVP_aes_128_gcm(), key, nonce, nil) == 1,
    EVP_DecryptUpdate(context, &text, &size, ciphertext, Int32(ciphertext.count)) == 1,
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1,
    EVP_DecryptFinal_ex(context, &nothing, &size) == 1
  else { throw EncryptedContent.Malformed() }
  return text
}

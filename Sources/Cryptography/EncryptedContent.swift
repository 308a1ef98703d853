/// `content` in the content coding `aes128gcm` (RFC 8188), as one record without padding.
///
/// - Parameters:
///   - keyMaterial: the secret of both sides. Never use it twice with the same salt.
///   - salt: 16 bytes.
///   - keyID: names the key material, at most 255 bytes.
///   - recordSize: in bytes; at least 17 more than the content.
func encryptedContent(
  _ content: [UInt8], with keyMaterial: borrowing Secret, salt: [UInt8], keyID: [UInt8],
  recordSize: Int = 4096
) throws(CryptographyError) -> [UInt8] {
  precondition(salt.count == 16 && keyID.count <= 255, "RFC 8188 §2.1")
  precondition(content.count + 1 + Cipher.tagSize <= recordSize, "more than one record")
  let key = hkdfSHA256(
    keyMaterial, salt: salt, info: Array("Content-Encoding: aes128gcm\0".utf8), count: 16)
  let nonce = hkdfSHA256(
    keyMaterial, salt: salt, info: Array("Content-Encoding: nonce\0".utf8),
    count: Cipher.nonceSize)
  let cipher = try Cipher(
    .encrypt, key: key, nonce: nonce.withBytes { $0.withUnsafeBufferPointer { Array($0) } })
  let lastRecord: UInt8 = 2  // RFC 8188 §2: the delimiter of the last record
  let ciphertext = try cipher.translate(content + [lastRecord])
  let size = withUnsafeBytes(of: UInt32(recordSize).bigEndian) { Array($0) }
  return salt + size + [UInt8(keyID.count)] + keyID + ciphertext
    + (try cipher.finishEncrypting())
}

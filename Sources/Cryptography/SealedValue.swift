/// `plaintext`, encrypted and authenticated under the newest key: `kid.base64url`.
///
/// The base64url part holds nonce (12 bytes), ciphertext and tag (16 bytes) of AES-256-GCM (NIST SP
/// 800-38D). The AES key is HMAC-SHA256 of a fixed label under the key's secret, so that no token
/// or message tag reveals anything about it. Nonces are random: use one key for at most 2³² values.
///
/// - Parameter context: names the kind of value and its row. Only the same context opens the value,
///   so that a value moved to another row or column does not open.
package func seal(
  _ plaintext: [UInt8], authenticating context: String, with keyring: Keyring
) -> String {
  let key = keyring.newest
  let sealed = encrypt(
    plaintext, authenticating: context, with: key, nonce: randomBytes(Cipher.nonceSize))
  return "\(key.id).\(base64URLEncoded(sealed))"
}

/// `plaintext` sealed under one key in the same form, with a nonce that is derived from plaintext and context:
/// the same value can be sealed again byte for byte.
package func sealRepeatably(
  _ plaintext: [UInt8], authenticating context: String, with key: Key
) -> String {
  let tag = hmacSHA256(Array("sealing nonce\n\(context)\n".utf8) + plaintext, with: key)
  let sealed = encrypt(
    plaintext, authenticating: context, with: key, nonce: Array(tag.prefix(Cipher.nonceSize)))
  return "\(key.id).\(base64URLEncoded(sealed))"
}

/// The plaintext of a value that ``seal(_:authenticating:with:)`` made with the same context.
///
/// - Throws: ``CryptographyError/malformed``; ``CryptographyError/unknownKey``;
///   ``CryptographyError/unauthentic`` if a bit of the value or the context differs.
package func open(
  _ sealed: String, authenticating context: String, with keyring: Keyring
) throws(CryptographyError) -> [UInt8] {
  let text = sealed.utf8
  guard let dot = text.firstIndex(of: UInt8(ascii: ".")),
    let bytes = base64URLDecoded(String(sealed[text.index(after: dot)...])),
    bytes.count >= Cipher.nonceSize + Cipher.tagSize
  else { throw .malformed }
  guard let key = keyring[String(sealed[..<dot])] else { throw .unknownKey }
  return try decrypt(bytes, authenticating: context, with: key)
}

private func encrypt(
  _ plaintext: [UInt8], authenticating context: String, with key: Key, nonce: [UInt8]
) -> [UInt8] {
  do {
    let cipher = try Cipher(.encrypt, key: key.sealingKey, nonce: nonce)
    try cipher.authenticate(associatedData(context, for: key))
    let ciphertext = try cipher.translate(plaintext)
    return nonce + ciphertext + (try cipher.finishEncrypting())
  } catch {
    preconditionFailure("libcrypto cannot encrypt")
  }
}

private func decrypt(
  _ sealed: [UInt8], authenticating context: String, with key: Key
) throws(CryptographyError) -> [UInt8] {
  let nonce = Array(sealed.prefix(Cipher.nonceSize))
  let cipher = try Cipher(.decrypt, key: key.sealingKey, nonce: nonce)
  try cipher.authenticate(associatedData(context, for: key))
  let ciphertext = sealed.dropFirst(Cipher.nonceSize).dropLast(Cipher.tagSize)
  let plaintext = try cipher.translate(Array(ciphertext))
  try cipher.finishDecrypting(tag: Array(sealed.suffix(Cipher.tagSize)))
  return plaintext
}

// A key id has no dot, so two contexts never give the same data.
private func associatedData(_ context: String, for key: Key) -> [UInt8] {
  Array("\(key.id).\(context)".utf8)
}

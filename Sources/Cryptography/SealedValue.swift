/// `plaintext`, encrypted and authenticated under the newest key: `kid.base64url`.
///
/// What is encoded is nonce (12 bytes), ciphertext and tag (16 bytes) of AES-256-GCM (NIST SP
/// 800-38D). The AES key is HMAC-SHA256 of a fixed label under the key's secret, so that no token or
/// message tag says anything about it. Nonces are random: a key is good for 2³² values.
///
/// - Parameter context: Says what is sealed and for whom. Only the same context opens the value, so
///   that it cannot be moved to another row or column.
package func seal(
  _ plaintext: [UInt8], authenticating context: String, with keyring: Keyring
) -> String {
  let key = keyring.newest
  let sealed = SealedValue.encrypt(plaintext, authenticating: context, with: key)
  return "\(key.id).\(base64URLEncoded(sealed))"
}

/// The plaintext of `sealed`, which ``seal(_:authenticating:with:)`` made with the same context.
///
/// - Throws: ``CryptographyError/malformed``; ``CryptographyError/unknownKey``;
///   ``CryptographyError/unauthentic`` if a bit or the context differs.
package func open(
  _ sealed: String, authenticating context: String, with keyring: Keyring
) throws(CryptographyError) -> [UInt8] {
  let text = sealed.utf8
  guard let dot = text.firstIndex(of: UInt8(ascii: ".")),
    let bytes = base64URLDecoded(String(sealed[text.index(after: dot)...])),
    bytes.count >= SealedValue.nonceSize + SealedValue.tagSize
  else { throw .malformed }
  guard let key = keyring[String(sealed[..<dot])] else { throw .unknownKey }
  return try SealedValue.decrypt(bytes, authenticating: context, with: key)
}

enum SealedValue {
  static let nonceSize = 12
  static let tagSize = 16

  /// The AES key that belongs to a key, given its `authenticator`.
  static func deriveKey(with authenticator: inout MessageAuthenticator) -> Secret {
    let label = "switchboard sealed value AES-256-GCM"
    var bytes = authenticator.tag(of: label.utf8.span)
    defer { wipe(&bytes) }
    return Secret(copying: bytes.span)
  }

  fileprivate static func encrypt(
    _ plaintext: [UInt8], authenticating context: String, with key: Key
  ) -> [UInt8] {
    do {
      let nonce = randomBytes(nonceSize)
      let cipher = try Cipher(.encrypt, key: key.sealingKey, nonce: nonce)
      try cipher.authenticate(associatedData(context, for: key))
      let ciphertext = try cipher.translate(plaintext)
      return nonce + ciphertext + (try cipher.finishEncrypting())
    } catch {
      preconditionFailure("libcrypto cannot encrypt")
    }
  }

  fileprivate static func decrypt(
    _ sealed: [UInt8], authenticating context: String, with key: Key
  ) throws(CryptographyError) -> [UInt8] {
    let nonce = Array(sealed.prefix(nonceSize))
    let cipher = try Cipher(.decrypt, key: key.sealingKey, nonce: nonce)
    try cipher.authenticate(associatedData(context, for: key))
    let plaintext = try cipher.translate(Array(sealed.dropFirst(nonceSize).dropLast(tagSize)))
    try cipher.finishDecrypting(tag: Array(sealed.suffix(tagSize)))
    return plaintext
  }

  // A key id has no dot, so two contexts never give the same data.
  private static func associatedData(_ context: String, for key: Key) -> [UInt8] {
    Array("\(key.id).\(context)".utf8)
  }
}

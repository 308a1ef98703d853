/// The keys of a browser's push subscription (Push API, `PushSubscription.getKey`).
package struct WebPushKeys: Sendable {
  /// `p256dh`
  package let publicKey: P256PublicKey
  /// `auth`, 16 bytes; a secret of the page and us.
  package let authentication: [UInt8]

  /// The most bytes that one message can hold (RFC 8291 §4: a body of 4096 bytes).
  package static let maximumContentSize = 3993

  /// - Throws: ``CryptographyError/malformed`` unless `point` is a point of P-256 in its uncompressed form, and
  ///   `authentication` has 16 bytes (RFC 8291 §3.1 and §3.2).
  package init(point: [UInt8], authentication: [UInt8]) throws(CryptographyError) {
    guard authentication.count == 16 else { throw .malformed }
    publicKey = try P256PublicKey(uncompressedPoint: point)
    self.authentication = authentication
  }

  /// `content`, which only this browser can read (RFC 8291 §3.4), with the content coding `aes128gcm`.
  ///
  /// - Parameters:
  ///   - content: at most ``maximumContentSize`` bytes.
  ///   - sender: a key made for this message alone.
  ///   - salt: 16 random bytes.
  package func encrypt(
    _ content: [UInt8], from sender: P256PrivateKey, salt: [UInt8]
  ) throws(CryptographyError) -> [UInt8] {
    let own = try sender.publicKey().uncompressedPoint
    let label = Array("WebPush: info\0".utf8)
    let keyMaterial = hkdfSHA256(
      try sender.sharedSecret(with: publicKey), salt: authentication,
      info: label + publicKey.uncompressedPoint + own, count: 32)
    return try encryptedContent(content, with: keyMaterial, salt: salt, keyID: own)
  }

  /// `content`, encrypted with a new key and a new salt.
  package func encrypt(_ content: [UInt8]) throws(CryptographyError) -> [UInt8] {
    try encrypt(content, from: P256PrivateKey.generate(), salt: randomBytes(16))
  }
}

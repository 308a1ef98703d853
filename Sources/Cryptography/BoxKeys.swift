/// The public halves of ``BoxKeys``, newest first. They can seal values, but not open them.
package struct BoxPublicKeys: Sendable {
  /// At least one key, newest first; no two have the same id.
  let keys: [BoxPublicKey]

  /// The ids of the keys, newest first.
  package var ids: [String] { keys.map(\.id) }

  /// The key that seals.
  var newest: BoxPublicKey { keys[0] }

  /// Reads `public:id:base64url` entries of 32 bytes, newest first, separated by commas or
  /// newlines. The prefix keeps public and private keys from being mixed up.
  ///
  /// - Throws: ``CryptographyError/malformed`` if an entry has another form;
  ///   ``CryptographyError/invalidKey`` if an id or a key is not usable, if an id occurs twice, or if there is no entry.
  package init(parsing text: String) throws(CryptographyError) {
    keys = try parseKeys(text, after: Self.prefix, id: \.id) {
      (id, bytes) throws(CryptographyError) in
      try BoxPublicKey(id: id, bytes: bytes)
    }
  }

  fileprivate init(of keys: [BoxKey]) { self.keys = keys.map(\.publicKey) }

  /// The entries that ``init(parsing:)`` reads, newest first.
  package var entries: [String] {
    keys.map { "\(Self.prefix)\($0.id):\(base64URLEncoded($0.bytes))" }
  }

  private static let prefix = "public:"
}

/// Keys of sealed boxes, newest first: the newest seals, all of them open.
///
/// To rotate, put a new key in front. Remove an old key when no value sealed with it is left.
package struct BoxKeys: Sendable {
  /// At least one key, newest first; no two have the same id.
  let keys: [BoxKey]

  /// The public keys, for programs that only seal.
  package let publicKeys: BoxPublicKeys

  /// Reads `id:base64url` entries of 32 bytes, newest first, separated by commas or newlines.
  ///
  /// - Throws: ``CryptographyError/malformed`` if an entry has another form;
  ///   ``CryptographyError/invalidKey`` if an id or a key is not usable, if an id occurs twice, or if there is no entry.
  package init(parsing text: String) throws(CryptographyError) {
    keys = try parseKeys(text, id: \.id) { (id, bytes) throws(CryptographyError) in
      try BoxKey(id: id, secret: Secret(copying: bytes))
    }
    publicKeys = BoxPublicKeys(of: keys)
  }

  /// The key named `id`, if there is one.
  subscript(id: String) -> BoxKey? { keys.first { $0.id == id } }
}

/// A named public key for sealed boxes.
struct BoxPublicKey: Sendable {
  let id: String
  /// X25519, 32 bytes (RFC 7748 §6.1).
  let bytes: [UInt8]

  /// - Throws: ``CryptographyError/invalidKey`` if `id` has another form, or `bytes` are not a key that can seal.
  init(id: String, bytes: Span<UInt8>) throws(CryptographyError) {
    guard isKeyID(id), bytes.count == SealedBox.keySize else { throw .invalidKey }
    self.id = id
    self.bytes = bytes.withUnsafeBufferPointer { Array($0) }
    // A point of low order seals nothing (RFC 7748 §6.1).
    guard SealedBox.seal([], for: self.bytes) != nil else { throw .invalidKey }
  }
}

/// A named private key for sealed boxes, with its public half.
final class BoxKey: Sendable {
  let publicKey: BoxPublicKey
  let secret: Secret

  var id: String { publicKey.id }

  /// - Throws: ``CryptographyError/invalidKey`` if `id` has another form, or `secret` has not 32 bytes.
  init(id: String, secret: consuming Secret) throws(CryptographyError) {
    guard secret.count == SealedBox.keySize, let bytes = SealedBox.publicHalf(of: secret)
    else { throw .invalidKey }
    publicKey = try BoxPublicKey(id: id, bytes: bytes.span)
    self.secret = secret
  }
}

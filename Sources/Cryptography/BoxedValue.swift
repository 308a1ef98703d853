/// The prefix of boxed values. The id of a ``Key`` has no colon, so no other sealed value begins
/// like this.
private let prefix = "box:"

/// The prefix of values that the newest of `keys` sealed.
package func boxPrefix(of keys: BoxPublicKeys) -> String { "\(prefix)\(keys.newest.id)." }

/// Encrypts `plaintext` under the newest public key, so that only the owner of its private half can
/// read it: `box:kid.base64url`.
///
/// The base64url part is a sealed box of libsodium (`crypto_box_seal`). A box has no associated
/// data, so its content begins with a SHA-256 digest of key id and context. A box does not show who
/// sealed it: the public key is enough to seal.
///
/// - Parameter context: names the kind of value and its row. Only the same context opens the value,
///   so that a value moved to another row or column does not open.
package func seal(
  _ plaintext: [UInt8], authenticating context: String, for keys: BoxPublicKeys
) -> String {
  let key = keys.newest
  var content = digest(of: context, keyID: key.id) + plaintext
  defer { wipe(&content) }
  guard let box = SealedBox.seal(content, for: key.bytes) else {
    preconditionFailure("libsodium cannot seal")  // parsing has tried the key
  }
  return boxPrefix(of: keys) + base64URLEncoded(box)
}

/// The plaintext of a value that ``seal(_:authenticating:for:)`` made with the same context.
///
/// - Throws: ``CryptographyError/malformed``; ``CryptographyError/unknownKey``;
///   ``CryptographyError/unauthentic`` if a bit of the value or the context differs.
package func open(
  _ sealed: String, authenticating context: String, with keys: BoxKeys
) throws(CryptographyError) -> [UInt8] {
  let text = sealed.utf8
  guard sealed.hasPrefix(prefix), let dot = text.firstIndex(of: UInt8(ascii: ".")),
    let box = base64URLDecoded(String(sealed[text.index(after: dot)...])),
    box.count >= SealedBox.overhead + digestSize
  else { throw .malformed }
  let id = String(sealed[..<dot].dropFirst(prefix.count))
  guard let key = keys[id] else { throw .unknownKey }
  guard var content = SealedBox.open(box, with: key) else { throw .unauthentic }
  defer { wipe(&content) }
  guard isEqualInConstantTime(Array(content.prefix(digestSize)), digest(of: context, keyID: id))
  else { throw .unauthentic }
  return Array(content.dropFirst(digestSize))
}

// A key id has no dot, so two contexts never give the same text.
private func digest(of context: String, keyID: String) -> [UInt8] {
  sha256("switchboard boxed value \(keyID).\(context)")
}

/// The keys in use, newest first: the newest signs and seals, all of them verify and open.
///
/// To rotate, put a new key in front. Remove an old key when everything made with it has expired.
package struct Keyring: Sendable {
  /// At least one key, newest first; no two have the same id.
  package let keys: [Key]

  /// The key that signs and seals.
  package var newest: Key { keys[0] }

  /// Reads `kid:base64url` entries, newest first, separated by commas or newlines.
  ///
  /// Blank entries and whitespace around an entry are ignored.
  ///
  /// - Throws: ``CryptographyError/malformed`` if an entry has another form;
  ///   ``CryptographyError/invalidKey`` if ``Key`` refuses an id or a secret, if an id occurs
  ///   twice, or if there is no entry.
  package init(parsing text: String) throws(CryptographyError) {
    keys = try parseKeys(text, id: \.id) { (id, bytes) throws(CryptographyError) in
      try Key(id: id, secret: Secret(copying: bytes))
    }
  }

  /// The key named `id`, if there is one.
  package subscript(id: String) -> Key? { keys.first { $0.id == id } }
}

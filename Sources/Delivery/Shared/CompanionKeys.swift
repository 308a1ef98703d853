package import Cryptography

/// Keys that seal and open values that only the companion may read.
package struct CompanionKeys: Sendable {
  private let boxes: BoxKeys
  /// Keys that open values sealed by earlier versions, and seal nothing; nil if no such value is
  /// left.
  private let earlier: Keyring?

  package init(_ boxes: BoxKeys, earlier: Keyring? = nil) {
    self.boxes = boxes
    self.earlier = earlier
  }

  /// Prefix of the values that ``seal(_:authenticating:)`` makes now.
  package var prefix: String { boxPrefix(of: boxes.publicKeys) }

  /// The public keys.
  package var publicKeys: BoxPublicKeys { boxes.publicKeys }

  /// The public keys, as `switchboard-companion keys public` prints them.
  var publicEntries: [String] { boxes.publicKeys.entries }

  /// Whether an earlier version sealed the value and its keys are not configured.
  package func lacksKeys(of sealed: String) -> Bool { earlier == nil && !isBoxed(sealed) }

  /// Seals `plaintext` for the companion.
  ///
  /// - Parameter context: names the kind of value and its row.
  package func seal(_ plaintext: [UInt8], authenticating context: String) -> String {
    Cryptography.seal(plaintext, authenticating: context, for: boxes.publicKeys)
  }

  /// Opens a value that the responder or the companion sealed with the same context.
  ///
  /// - Throws: ``CryptographyError/malformed``; ``CryptographyError/unknownKey``, also for a value
  ///   of an earlier version whose keys are not configured; ``CryptographyError/unauthentic``.
  package func open(
    _ sealed: String, authenticating context: String
  ) throws(CryptographyError) -> [UInt8] {
    if isBoxed(sealed) {
      return try Cryptography.open(sealed, authenticating: context, with: boxes)
    }
    guard let earlier else { throw .unknownKey }
    return try Cryptography.open(sealed, authenticating: context, with: earlier)
  }
}

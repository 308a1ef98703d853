package import Cryptography

/// Keys that seal and open values that only the companion may read.
package struct CompanionKeys: Sendable {
  private let boxes: BoxKeys

  package init(_ boxes: BoxKeys) {
    self.boxes = boxes
  }

  /// Prefix of the values that ``seal(_:authenticating:)`` makes now.
  package var prefix: String { boxPrefix(of: boxes.publicKeys) }

  /// The public keys.
  package var publicKeys: BoxPublicKeys { boxes.publicKeys }

  /// Seals `plaintext` for the companion.
  ///
  /// - Parameter context: names the kind of value and its row.
  package func seal(_ plaintext: [UInt8], authenticating context: String) -> String {
    Cryptography.seal(plaintext, authenticating: context, for: boxes.publicKeys)
  }

  /// Opens a value that the responder or the companion sealed with the same context.
  ///
  /// - Throws: ``CryptographyError/malformed``; ``CryptographyError/unknownKey``;
  ///   ``CryptographyError/unauthentic``.
  package func open(
    _ sealed: String, authenticating context: String
  ) throws(CryptographyError) -> [UInt8] {
    try Cryptography.open(sealed, authenticating: context, with: boxes)
  }
}

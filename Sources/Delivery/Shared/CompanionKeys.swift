package import Cryptography

/// The keys that seal and open what only the companion may read.
package struct CompanionKeys: Sendable {
  private let boxes: BoxKeys

  package init(_ boxes: BoxKeys) {
    self.boxes = boxes
  }

  /// The first characters of each value that ``seal(_:authenticating:)`` makes now.
  package var prefix: String { boxPrefix(of: boxes.publicKeys) }

  /// The public halves.
  package var publicKeys: BoxPublicKeys { boxes.publicKeys }

  /// The public halves, as `switchboard-companion keys public` prints them.
  var publicEntries: [String] { boxes.publicKeys.entries }

  /// `plaintext`, sealed for the companion.
  ///
  /// - Parameter context: says what is sealed and which row it belongs to.
  package func seal(_ plaintext: [UInt8], authenticating context: String) -> String {
    Cryptography.seal(plaintext, authenticating: context, for: boxes.publicKeys)
  }

  /// The plaintext of a value that the responder or the companion sealed with the same context.
  ///
  /// - Throws: ``CryptographyError/malformed``; ``CryptographyError/unknownKey``; ``CryptographyError/unauthentic``.
  package func open(
    _ sealed: String, authenticating context: String
  ) throws(CryptographyError) -> [UInt8] {
    try Cryptography.open(sealed, authenticating: context, with: boxes)
  }
}

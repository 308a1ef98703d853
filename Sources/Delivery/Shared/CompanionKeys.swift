package import Cryptography

/// The keys that seal and open what only the companion may read.
package struct CompanionKeys: Sendable {
  private let boxes: BoxKeys
  /// Opens what earlier versions have sealed, and seals nothing; nil where nothing of it is left.
  private let earlier: Keyring?

  package init(_ boxes: BoxKeys, earlier: Keyring? = nil) {
    self.boxes = boxes
    self.earlier = earlier
  }

  /// What a value begins with that ``seal(_:authenticating:)`` makes now.
  package var prefix: String { boxPrefix(of: boxes.publicKeys) }

  /// The public halves.
  package var publicKeys: BoxPublicKeys { boxes.publicKeys }

  /// The public halves, as `switchboard-companion keys public` prints them.
  var publicEntries: [String] { boxes.publicKeys.entries }

  /// Whether an earlier version sealed the value with keys that are not given.
  package func lacksKeys(of sealed: String) -> Bool { earlier == nil && !isBoxed(sealed) }

  /// `plaintext`, sealed for the companion.
  ///
  /// - Parameter context: says what is sealed and which row it belongs to.
  package func seal(_ plaintext: [UInt8], authenticating context: String) -> String {
    Cryptography.seal(plaintext, authenticating: context, for: boxes.publicKeys)
  }

  /// The plaintext of a value that the responder or the companion sealed with the same context.
  ///
  /// - Throws: ``CryptographyError/malformed``; ``CryptographyError/unknownKey``, also for a value of an earlier version
  ///   where its keys are not given; ``CryptographyError/unauthentic``.
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

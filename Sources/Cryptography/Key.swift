import Synchronization

/// A named secret of at least 32 bytes: it signs tokens, authenticates messages and seals values.
///
/// Tokens and messages are authenticated with the secret itself, so that other programs can check
/// them. Sealing uses a key derived from it (see ``seal(_:authenticating:with:)``).
package final class Key: Sendable {
  /// The fewest bytes a secret may have: the size of the digest (RFC 7518 §3.2).
  package static let minimumSecretSize = 32

  /// The key id (`kid`): 1 to 32 of the characters `A–Z a–z 0–9 _ -`.
  package let id: String

  /// The one header segment of tokens under this key, with the dot that ends it.
  let tokenHeader: [UInt8]

  /// The AES-256 key that seals under this key.
  let sealingKey: Secret

  // One keyed context, started anew for each message, costs a third of a new one. Its lock is held
  // for a fraction of a microsecond.
  let authenticator: Mutex<MessageAuthenticator>

  /// - Throws: ``CryptographyError/invalidKey`` if `id` or the size of `secret` is not as promised.
  package init(id: String, secret: consuming Secret) throws(CryptographyError) {
    guard Self.isValid(id: id), secret.count >= Self.minimumSecretSize else { throw .invalidKey }
    var authenticator = MessageAuthenticator(keyedWith: secret)
    self.id = id
    tokenHeader = JSONWebToken.header(keyID: id)
    sealingKey = SealedValue.deriveKey(with: &authenticator)
    self.authenticator = Mutex(authenticator)
  }

  private static func isValid(id: String) -> Bool {
    (1...32).contains(id.utf8.count)
      && id.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}

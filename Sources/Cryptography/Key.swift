import Synchronization

/// A named secret of at least 32 bytes. It signs tokens, authenticates messages and seals values.
///
/// Tokens and messages are authenticated with the secret itself, so that other programs can check
/// them. Values are sealed with an AES key that is derived from it.
package final class Key: Sendable {
  /// The least size of a secret in bytes: the size of the digest (RFC 7518 §3.2).
  package static let minimumSecretSize = 32

  /// The key id (`kid`): 1 to 32 of the characters `A–Z a–z 0–9 _ -`.
  package let id: String

  /// The header segment of the JSON Web Tokens that the key signs, with the dot that ends it.
  let tokenHeader: [UInt8]

  /// The AES-256 key that seals values.
  let sealingKey: Secret

  // Restarting one keyed context for each message costs a third of making a new one. The lock is
  // held for a fraction of a microsecond.
  let authenticator: Mutex<MessageAuthenticator>

  /// - Throws: ``CryptographyError/invalidKey`` if `id` has another form or `secret` is too short.
  package init(id: String, secret: consuming Secret) throws(CryptographyError) {
    guard isKeyID(id), secret.count >= Self.minimumSecretSize else { throw .invalidKey }
    var authenticator = MessageAuthenticator(keyedWith: secret)
    self.id = id
    tokenHeader = JSONWebToken.header(algorithm: "HS256", keyID: id)
    sealingKey = Self.deriveSealingKey(with: &authenticator)
    self.authenticator = Mutex(authenticator)
  }

  private static func deriveSealingKey(
    with authenticator: inout MessageAuthenticator
  ) -> Secret {
    let label = "switchboard sealed value AES-256-GCM"
    var bytes = authenticator.tag(of: label.utf8.span)
    defer { wipe(&bytes) }
    return Secret(copying: bytes.span)
  }
}

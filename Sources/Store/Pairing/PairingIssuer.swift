package import Base
package import Cryptography

/// The keys and the random bytes of new pairing tokens.
package struct PairingIssuer: Sendable {
  /// The newest key signs.
  package let keys: Keyring
  /// ``PairingToken/idSize`` unpredictable bytes.
  package let randomBytes: [UInt8]

  package init(keys: Keyring, randomBytes: [UInt8]) {
    self.keys = keys
    self.randomBytes = randomBytes
  }

  package func sign(_ token: PairingToken) -> SignedPairingToken {
    SignedPairingToken(
      text: token.signedText(with: keys.newest), expiresAt: token.expiresAt)
  }

  /// Six digits that stand for a pairing token, for people to type.
  func code(of token: PairingToken) -> String {
    let tag = hmacSHA256("pairing code\n\(token.nonce)", with: keys.newest)
    let number = tag.prefix(7).reduce(0) { $0 << 8 | Int($1) } % 1_000_000
    return String(String(1_000_000 + number).dropFirst())
  }
}

/// A signed token, as a phone gets it.
package struct SignedPairingToken: Sendable {
  package let text: String
  package let expiresAt: Timestamp
}

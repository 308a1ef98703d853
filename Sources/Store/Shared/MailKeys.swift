package import Cryptography

/// The keys that the responder needs for mails.
package struct MailKeys: Sendable {
  /// Seal what only the companion can open.
  let sealing: BoxPublicKeys
  /// Sign the links.
  let links: Keyring

  package init(sealing: BoxPublicKeys, links: Keyring) {
    self.sealing = sealing
    self.links = links
  }
}

package import Cryptography

/// The keys that the responder needs for mails.
package struct MailKeys: Sendable {
  /// Seal what only the companion may read.
  let sealing: Keyring
  /// Sign the links.
  let links: Keyring

  package init(sealing: Keyring, links: Keyring) {
    self.sealing = sealing
    self.links = links
  }
}

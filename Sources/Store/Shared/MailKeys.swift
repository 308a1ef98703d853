package import Cryptography

/// The keys that are needed to post mails.
package struct MailKeys: Sendable {
  /// Seal what only the companion can open.
  let sealing: BoxPublicKeys
  /// Sign the links; nil: mails with a link are not posted.
  let links: Keyring?

  package init(sealing: BoxPublicKeys, links: Keyring?) {
    self.sealing = sealing
    self.links = links
  }
}

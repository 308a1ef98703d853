package import Cryptography

/// The keys for posting mails.
package struct MailKeys: Sendable {
  /// Keys that seal for the companion alone.
  let sealing: BoxPublicKeys
  /// Keys that sign links; nil: mails with a link are not posted.
  let links: Keyring?

  package init(sealing: BoxPublicKeys, links: Keyring?) {
    self.sealing = sealing
    self.links = links
  }
}

package import Base

/// What the responder knows of Web Push.
package struct WebPushSettings: Sendable {
  /// Of the key that names us to push services (RFC 8292), as pages take it: base64url.
  package let publicKey: String
  /// To which subscriptions may lead.
  package let services: PushServices

  package init(publicKey: String, services: PushServices) {
    self.publicKey = publicKey
    self.services = services
  }
}

package import Base
import Cryptography
import Store

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

extension WebPushSettings {
  /// The subscription that a page says its browser has made (`PushSubscription.toJSON`). `expirationTime` says nothing:
  /// no push service sets it, and one that ends a subscription says so when it is sent to.
  ///
  /// - Throws: ``Failure/badRequest(_:)``.
  func subscription(
    _ endpoint: String, keys: (publicKey: String, authentication: String)?
  ) throws -> WebSubscription {
    guard services.allow(endpoint) else {
      throw Failure.badRequest("Endpoint must be the https address of a known push service")
    }
    guard let keys, let point = base64URLDecoded(keys.publicKey),
      let secret = base64URLDecoded(keys.authentication),
      (try? WebPushKeys(point: point, authentication: secret)) != nil  // why not would help nobody
    else { throw Failure.malformedSubscriptionKeys }
    return WebSubscription(
      endpoint: endpoint, publicKey: keys.publicKey, authentication: keys.authentication)
  }
}

extension Failure {
  static let malformedSubscriptionKeys = Failure.badRequest(
    "Keys must be p256dh and auth of a push subscription, in base64url")

  static let webPushNotConfigured = Failure(status: 500, message: "Web Push is not configured.") {
    $0.member("missingEnvVars", array: { $0.string("WEBPUSH_VAPID_PUBLIC_KEY") })
  }
}

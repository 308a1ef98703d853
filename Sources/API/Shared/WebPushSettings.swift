import Base
import Cryptography
package import Store

/// The responder's settings for Web Push.
package struct WebPushSettings: Sendable {
  /// The public key that identifies us to push services (RFC 8292), in base64url, the form that pages use.
  package let publicKey: String
  /// The push services that subscriptions may use.
  package let services: PushServices

  package init(publicKey: String, services: PushServices) {
    self.publicKey = publicKey
    self.services = services
  }
}

extension WebPushSettings {
  /// The subscription that a page sends (`PushSubscription.toJSON`). Ignores `expirationTime`: no push service sets it, and
  /// a push service reports an ended subscription at the next push.
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
      (try? WebPushKeys(point: point, authentication: secret)) != nil  // the reason would not help
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

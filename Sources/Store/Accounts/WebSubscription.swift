package import Base
package import Cryptography

/// A browser's push subscription (Push API, `PushSubscription.toJSON`).
package struct WebSubscription: JSONStored, Sendable, Equatable {
  /// The URL for messages at the push service. Knowing it is enough to make us send there.
  package let endpoint: String
  /// `p256dh`, in base64url.
  package let publicKey: String
  /// `auth`, in base64url.
  package let authentication: String

  package init(endpoint: String, publicKey: String, authentication: String) {
    self.endpoint = endpoint
    self.publicKey = publicKey
    self.authentication = authentication
  }

  package func write(to object: inout JSONWriter) {
    object.member("endpoint", endpoint)
    object.member("publicKey", publicKey)
    object.member("authentication", authentication)
  }

  /// The push token of every subscription with this endpoint: `web:` and a UUID made of the endpoint's SHA-256.
  package static func token(ofEndpoint endpoint: String) -> PushToken {
    PushToken("web:\(uuid(of: sha256(endpoint).prefix(16)))")!
  }

  package var token: PushToken { Self.token(ofEndpoint: endpoint) }

  /// The subscription, sealed for the companion alone, for the row of its token.
  package func sealed(for keys: BoxPublicKeys) throws -> String {
    seal(json, authenticating: Self.sealingContext(of: token.text), for: keys)
  }

  /// The sealing context of a subscription: a subscription moved to another row does not open.
  package static func sealingContext(of token: String) -> String { "web_subscriptions \(token)" }
}

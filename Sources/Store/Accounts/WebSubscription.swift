import Base
package import Cryptography

/// A browser's push subscription (Push API, `PushSubscription.toJSON`).
package struct WebSubscription: Codable, Sendable, Equatable {
  /// Where the push service takes messages. Who knows it can have us send there.
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

  /// The push token of every subscription with this endpoint: `web:` and a UUID made of the endpoint's SHA-256.
  package static func token(ofEndpoint endpoint: String) -> PushToken {
    PushToken("web:\(uuid(of: sha256(endpoint).prefix(16)))")!
  }

  package var token: PushToken { Self.token(ofEndpoint: endpoint) }

  /// The subscription, sealed for the companion alone, for the row of its token.
  package func sealed(for keys: BoxPublicKeys) throws -> String {
    seal(try Job.encode(self), authenticating: Self.sealingContext(of: token.text), for: keys)
  }

  /// What a subscription is sealed with, so that nobody can move it to another row.
  package static func sealingContext(of token: String) -> String { "web_subscriptions \(token)" }
}

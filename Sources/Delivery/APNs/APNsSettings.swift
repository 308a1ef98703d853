package import Cryptography
package import Store

/// What sending through APNs needs to know.
package struct APNsSettings: Sendable {
  /// Tells it from other apps in what administrators read.
  package let name: String
  package let keyID: String
  package let teamID: String
  /// The app's bundle identifier.
  package let topic: String
  package let key: P256PrivateKey
  /// Of ``endpoint``.
  package let environment: APNsEnvironment
  /// The host that is asked first.
  package let endpoint: APNsEndpoint
  /// The host of the other environment, for tokens that ``endpoint`` does not know; nil for none.
  package let otherEndpoint: APNsEndpoint?
  package let trust: TLSContext
  /// The most requests in flight of a test send; batches have a window of their own.
  package let testConcurrency: Int
  package let retries: APNsRetries

  package init(
    name: String? = nil, keyID: String, teamID: String, topic: String, key: P256PrivateKey,
    environment: APNsEnvironment, endpoint: APNsEndpoint, otherEndpoint: APNsEndpoint?,
    trust: TLSContext, testConcurrency: Int, retries: APNsRetries
  ) {
    self.name = name ?? topic
    self.keyID = keyID
    self.teamID = teamID
    self.topic = topic
    self.key = key
    self.environment = environment
    self.endpoint = endpoint
    self.otherEndpoint = otherEndpoint
    self.trust = trust
    self.testConcurrency = testConcurrency
    self.retries = retries
  }

  /// The variables without which nothing can be sent.
  package static let requiredVariables = [
    "APNS_KEY_ID", "APNS_TEAM_ID", "APNS_BUNDLE_ID", "APNS_PRIVATE_KEY",
  ]
}

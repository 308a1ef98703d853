package import Cryptography
package import Store

/// Settings for one app at APNs.
package struct APNsSettings: Sendable {
  /// Name of the app in texts for administrators.
  package let name: String
  package let keyID: String
  package let teamID: String
  /// The app's bundle identifier.
  package let topic: String
  package let key: P256PrivateKey
  /// Environment of ``endpoint``.
  package let environment: APNsEnvironment
  /// The host that is tried first.
  package let endpoint: APNsEndpoint
  /// The host of the other environment, for tokens that ``endpoint`` does not know; nil if unused.
  package let otherEndpoint: APNsEndpoint?
  package let trust: TLSContext
  /// Maximum number of requests in flight for a test push; batches have their own window.
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

  /// Variables that are required for sending.
  package static let requiredVariables = [
    "APNS_KEY_ID", "APNS_TEAM_ID", "APNS_BUNDLE_ID", "APNS_PRIVATE_KEY",
  ]
}

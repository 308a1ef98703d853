package import Cryptography

/// Settings for Firebase Cloud Messaging: a Google service account.
package struct FCMSettings: Sendable {
  /// Id of the Firebase project.
  package let project: String
  /// E-mail address of the service account.
  package let account: String
  /// `kid` of ``key``.
  package let keyID: String
  package let key: RSAPrivateKey
  /// Token endpoint (`token_uri`), which is also the audience of our assertions.
  package let tokenURL: String
  /// URL without a final slash.
  package let endpoint: String

  package static let google = "https://fcm.googleapis.com"

  package init(
    project: String, account: String, keyID: String, key: RSAPrivateKey, tokenURL: String,
    endpoint: String = google
  ) {
    self.project = project
    self.account = account
    self.keyID = keyID
    self.key = key
    self.tokenURL = tokenURL
    self.endpoint = endpoint
  }

  var sendURL: String { "\(endpoint)/v1/projects/\(project)/messages:send" }
}

package import Cryptography
package import Program

/// What the responder's handlers need to know of their site.
package struct Settings: Sendable {
  package enum Environment: String, CaseIterable, Sendable {
    case production, preview, development
  }

  package let environment: Environment
  /// `https://…` without a final slash; `iss` of the access tokens.
  package let publicURL: String
  /// Sign access and refresh tokens.
  package let jwtKeys: Keyring
  /// Under which mailed codes and refresh-token ids are kept.
  package let hmacKeys: Keyring
  /// Seal device credentials, and mails for the companion.
  package let credentialKeys: Keyring
  /// Path of the companion's unix socket; nil where nobody is to be woken.
  package let knockSocket: String?

  package init(
    environment: Environment, publicURL: String, jwtKeys: Keyring, hmacKeys: Keyring,
    credentialKeys: Keyring, knockSocket: String?
  ) {
    self.environment = environment
    self.publicURL = publicURL
    self.jwtKeys = jwtKeys
    self.hmacKeys = hmacKeys
    self.credentialKeys = credentialKeys
    self.knockSocket = knockSocket
  }

  /// - Returns: nil after a complaint in `environment`.
  package init?(from environment: inout Program.Environment) {
    let kind = environment.choice("SWITCHBOARD_ENV", default: Environment.production)
    let publicURL = environment.value(
      "SWITCHBOARD_PUBLIC_URL", "the address under which the apps reach this site",
      "must be an http or https address without a final slash", Self.url)
    let jwtKeys = environment.keyring("SWITCHBOARD_JWT_KEYS", "the keys that sign access tokens")
    let hmacKeys = environment.keyring("SWITCHBOARD_HMAC_KEYS", "the keys that hide mailed codes")
    let credentialKeys = environment.keyring(
      "SWITCHBOARD_CREDENTIAL_KEYS", "the keys that seal credentials and mails")
    let knockSocket = environment.optional("SWITCHBOARD_KNOCK_SOCKET")
    guard let publicURL, let jwtKeys, let hmacKeys, let credentialKeys else { return nil }
    self.init(
      environment: kind, publicURL: publicURL, jwtKeys: jwtKeys, hmacKeys: hmacKeys,
      credentialKeys: credentialKeys, knockSocket: knockSocket)
  }

  private static func url(_ text: String) -> String? {
    let isURL = text.hasPrefix("https://") || text.hasPrefix("http://")
    return isURL && !text.hasSuffix("/") ? text : nil
  }
}

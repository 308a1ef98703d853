import Base
import Cryptography
import Delivery
import ProcessSupport
import SharedSettings
import Store

extension APNsSettings {
  /// Result of parsing.
  enum Parsed: Sendable {
    case configured(APNsSettings)
    /// The names of the variables that are missing or malformed.
    case notConfigured([String])
  }

  static func parse(
    from environment: inout Environment, substitutes: Substitutes
  ) -> Parsed {
    var missing: [String] = []
    func value<Value>(
      _ name: String, _ environment: inout Environment, _ rule: String, _ parse: (String) -> Value?
    ) -> Value? {
      let text = environment.optional(name)
      let value = text.flatMap(parse)
      if text != nil, value == nil { environment.complain(about: name, rule) }
      if value == nil { missing.append(name) }
      return value
    }
    let word = "must be 1 to 255 visible ASCII characters"
    let keyID = value("APNS_KEY_ID", &environment, word, visible)
    let teamID = value("APNS_TEAM_ID", &environment, word, visible)
    let topic = value("APNS_BUNDLE_ID", &environment, word, visible)
    let key = value(
      "APNS_PRIVATE_KEY", &environment, "must be a P-256 private key in PEM, PKCS#8, not encrypted"
    ) { try? P256PrivateKey(pem: unescaped($0)) }  // the error would reveal details of it
    let isSandbox = environment.flag("APNS_USE_SANDBOX", default: false)
    let common = Common(from: &environment, substitutes: substitutes)
    guard let keyID, let teamID, let topic, let key, let common else {
      return .notConfigured(missing)
    }
    return .configured(
      common.settings(
        name: topic, keyID: keyID, teamID: teamID, topic: topic, key: key,
        environment: isSandbox ? .sandbox : .production))
  }

  /// Settings that all apps of the site share.
  struct Common {
    private let override: APNsEndpoint?
    private let other: APNsEndpoint?
    private let trust: TLSContext
    private let concurrency: Int
    private let delay: Int

    /// - Returns: nil after a complaint.
    init?(from environment: inout Environment, substitutes: Substitutes) {
      override = APNsSettings.endpointOverride(&environment)
      other = substitutes.otherAPNs
      concurrency = environment.integer("APNS_SEND_CONCURRENCY", in: 1...20, default: 4)
      delay = environment.integer("APNS_RETRY_SECONDS", in: 1...86_400, default: 900)
      guard let trust = APNsSettings.trust(&environment) else { return nil }
      self.trust = trust
    }

    /// Settings for one app. If the first host is overridden, the other host is used only if it has a
    /// substitute too, because a site that uses a substitute for Apple must not connect to Apple.
    func settings(
      name: String, keyID: String, teamID: String, topic: String, key: P256PrivateKey,
      environment: APNsEnvironment
    ) -> APNsSettings {
      let apples: (APNsEndpoint, APNsEndpoint) =
        environment == .sandbox ? (.sandbox, .production) : (.production, .sandbox)
      return APNsSettings(
        name: name, keyID: keyID, teamID: teamID, topic: topic, key: key,
        environment: environment, endpoint: override ?? apples.0,
        otherEndpoint: other ?? (override == nil ? apples.1 : nil), trust: trust,
        testConcurrency: concurrency, retries: APNsRetries(delay: .seconds(delay)))
    }
  }

  /// - Returns: nil if the variable is not set, or after a complaint.
  fileprivate static func endpointOverride(_ environment: inout Environment) -> APNsEndpoint? {
    let name = "APNS_ENDPOINT_OVERRIDE"
    guard let url = environment.optional(name) else { return nil }
    let endpoint = APNsEndpoint(url: url)
    if endpoint == nil { environment.complain(about: name, "must be an https:// address") }
    return endpoint
  }

  /// - Returns: nil after a complaint.
  fileprivate static func trust(_ environment: inout Environment) -> TLSContext? {
    let certificates = environment.optional("APNS_CA_CERT").map {
      $0.contains("-----BEGIN") ? TLSContext.Certificates.text(unescaped($0)) : .file($0)
    }
    do throws(APNsConnectionError) {
      return try TLSContext(trusting: certificates)
    } catch {
      environment.complain(about: "APNS_CA_CERT", "must be PEM certificates, or a file with them")
      return nil
    }
  }

  static func visible(_ text: String) -> String? {
    text.isVisibleASCII(atMost: 255) ? text : nil
  }

  /// Replaces `\n` by line ends, because environment files hold PEM on one line.
  private static func unescaped(_ text: String) -> String {
    text.split(separator: #"\n"#, omittingEmptySubsequences: false).joined(separator: "\n")
  }
}

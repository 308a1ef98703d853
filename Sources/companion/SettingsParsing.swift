import Base
import Cryptography
import Delivery
import ProcessSupport
import SharedSettings
import Store

extension Settings {
  /// - Returns: nil after a complaint in `environment`.
  init?(from environment: inout Environment) {
    let keys = environment.companionKeys()
    let command = environment.optional("SWITCHBOARD_MAIL_COMMAND")
    let directory = environment.optional("SWITCHBOARD_MAIL_DIRECTORY")
    let sender = environment.sender()
    let days = environment.integer("SWITCHBOARD_AUDIT_DAYS", in: 1...36_500, default: 365)
    let interval = environment.integer("CHECK_INTERVAL_SECONDS", in: 1...86_400, default: 30)
    let publicURL = environment.optionalPublicURL()
    let contact = Contact(from: &environment, publicURL: publicURL)
    let substitutes = Substitutes(from: &environment)
    let polling = PollSettings(
      from: &environment, contact: contact, interval: .seconds(interval), substitutes: substitutes)
    let (apns, missingForPushes) = APNsSettings.parseFamily(
      from: &environment, substitutes: substitutes)
    let outbound = environment.outboundRule()
    let webPush = WebPushSettings(from: &environment, contact: contact, outbound: outbound)
    let metricsFile = environment.optional("SWITCHBOARD_METRICS_FILE")
    if let metricsFile, !metricsFile.hasPrefix("/") || !metricsFile.hasSuffix(".prom") {
      environment.complain(
        about: "SWITCHBOARD_METRICS_FILE", "must be an absolute path that ends with .prom")
    }
    let fingerprint = environment.certificateFingerprint()
    let secretFiles = environment.secretFiles()
    guard let keys else { return nil }
    self.init(
      keys: keys,
      mailer: command.map { .command($0) } ?? directory.map { .directory($0) },
      sender: sender?.address ?? "switchboard@localhost",
      senderName: sender?.name ?? "Switchboard", auditLifetime: .seconds(days * 86_400),
      interval: .seconds(interval),
      polling: polling, apns: apns,
      fcm: FCMSettings(from: &environment, substitutes: substitutes),
      webPush: webPush, missingForPushes: missingForPushes,
      publicURL: publicURL, outbound: outbound, metricsFile: metricsFile,
      secretFiles: secretFiles, certificateFingerprint: fingerprint,
      clock: substitutes.clock)
  }
}

extension Environment {
  /// The sender of mails.
  ///
  /// - Returns: nil if none is given, or after a complaint.
  fileprivate mutating func sender() -> Mailbox? {
    let name = "SWITCHBOARD_MAIL_FROM"
    guard let text = optional(name) else { return nil }
    let sender = Mailbox(text)
    if sender == nil {
      complain(
        about: name,
        "must be an e-mail address in ASCII, or Name <address> with a name of at most 60 characters"
      )
    }
    return sender
  }

  /// Private addresses that the companion may connect to for a URL from a row.
  fileprivate mutating func outboundRule() -> OutboundRule {
    let name = "SWITCHBOARD_OUTBOUND_ALLOW"
    let entries = (optional(name) ?? "").split(separator: ",").map { String($0).trimmed }
    let networks = entries.compactMap { IPNetwork($0) }
    if networks.count < entries.count {
      complain(
        about: name,
        "must be a list of addresses and networks, such as 10.1.2.0/24, separated by commas")
    }
    return OutboundRule(allowing: networks)
  }

  /// SHA-256 in the format of `openssl x509 -fingerprint -sha256`, with or without colons.
  ///
  /// - Returns: nil if none is given, or after a complaint.
  fileprivate mutating func certificateFingerprint() -> [UInt8]? {
    let name = "SWITCHBOARD_CERTIFICATE_FINGERPRINT"
    guard let text = optional(name) else { return nil }
    if let bytes = hexDecoded(text.lowercased().replacing(":", with: "")), bytes.count == 32 {
      return bytes
    }
    complain(about: name, "must be what openssl x509 -noout -fingerprint -sha256 prints after =")
    return nil
  }

  /// The site's files of secrets, and those from which this program has read a secret.
  fileprivate mutating func secretFiles() -> SecretFiles {
    let names = [
      "SWITCHBOARD_COMPANION_KEYS", "SWITCHBOARD_CREDENTIAL_KEYS", "SWITCHBOARD_DB_PASSWORD",
      "APNS_PRIVATE_KEY", "APNS_APPS", "FCM_SERVICE_ACCOUNT", "WEBPUSH_VAPID_KEY",
    ]
    let files = names.compactMap { optional("\($0)_FILE") }
    return SecretFiles(
      in: optional("SWITCHBOARD_SECRETS_DIRECTORY"),
      files: files + APNsSettings.keyFiles(from: &self))
  }

  /// - Returns: nil after a complaint.
  mutating func companionKeys() -> CompanionKeys? {
    boxKeys("SWITCHBOARD_COMPANION_KEYS", "the keys that open mails and banks' secrets")
      .map(CompanionKeys.init)
  }
}

extension PollSettings {
  /// - Returns: nil without a contact.
  init?(
    from environment: inout Environment, contact: Contact?, interval: Duration,
    substitutes: Substitutes
  ) {
    let name = environment.optional("ENVIRONMENT") ?? "none"
    let live = environment.integer(
      "CHECK_INTERVAL_LIVE_SECONDS", in: 1...3600, default: Int(interval.components.seconds))
    let requests = environment.integer("OGS_REQUESTS_PER_SECOND", in: 1...1000, default: 5)
    if name.hasControls || name.unicodeScalars.count > 40 {
      environment.complain(about: "ENVIRONMENT", "must be a word of at most 40 characters")
    }
    guard let contact else { return nil }
    self.init(
      baseURL: substitutes.ogs ?? "https://online-go.com", contact: contact.text,
      requestsPerSecond: requests,
      pace: PollPace(interval: interval, liveInterval: .seconds(live)),
      prefix: name == "none" ? "" : "[\(name)] ")
  }
}

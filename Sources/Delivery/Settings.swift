package import Base
package import Store

/// The companion's settings for its site.
package struct Settings: Sendable {
  /// Keys that seal and open values that only the companion may read.
  package let keys: CompanionKeys
  /// nil if no way to send mails is configured: mails then wait until they expire.
  package let mailer: Mailer?
  /// E-mail address in the From field, in ASCII.
  package let sender: String
  /// Name in the From field before the address, and in the signature.
  package let senderName: String
  /// URL of the site without a final slash; nil if mails cannot have links.
  package let publicURL: String?
  /// Time after a callback in which we may ask the bank: less than the ten seconds that the request waits.
  package let bankWaitLimit: Duration
  /// Retention time of the audit log.
  package let auditLifetime: Duration
  /// Time between the starts of two passes of `watch`.
  package let interval: Duration
  /// nil if no contact is configured: online-go.com is then not polled.
  package let polling: PollSettings?
  /// Apps at Apple. The first gets the tokens without a bundle id.
  package let apns: [APNsSettings]
  /// nil if nothing is sent to Android.
  package let fcm: FCMSettings?
  /// nil if nothing is sent to browsers.
  package let webPush: WebPushSettings?
  /// Names of the unset variables that pushes to Apple require.
  package let missingForPushes: [String]
  /// Rule for connections to URLs from rows.
  package let outbound: OutboundRule
  /// File for metrics, which each pass replaces; nil for no file.
  package let metricsFile: String?
  /// Files that no other user may read.
  package let secretFiles: SecretFiles
  /// SHA-256 of the site's certificate if the system does not trust it; nil if none is configured.
  package let certificateFingerprint: [UInt8]?
  /// Clock for limits of time.
  package let clock: LimitClock

  package init(
    keys: CompanionKeys, mailer: Mailer?, sender: String,
    senderName: String = "Switchboard", auditLifetime: Duration,
    interval: Duration, polling: PollSettings? = nil, apns: [APNsSettings] = [],
    fcm: FCMSettings? = nil, webPush: WebPushSettings? = nil,
    missingForPushes: [String] = [], publicURL: String? = nil,
    bankWaitLimit: Duration = .seconds(9),
    outbound: OutboundRule = OutboundRule(), metricsFile: String? = nil,
    secretFiles: SecretFiles = SecretFiles(), certificateFingerprint: [UInt8]? = nil,
    clock: LimitClock = .system
  ) {
    self.keys = keys
    self.mailer = mailer
    self.sender = sender
    self.senderName = senderName
    self.auditLifetime = auditLifetime
    self.interval = interval
    self.polling = polling
    self.apns = apns
    self.fcm = fcm
    self.webPush = webPush
    self.missingForPushes = missingForPushes
    self.publicURL = publicURL
    self.bankWaitLimit = bankWaitLimit
    self.outbound = outbound
    self.metricsFile = metricsFile
    self.secretFiles = secretFiles
    self.certificateFingerprint = certificateFingerprint
    self.clock = clock
  }

  /// Names of the unset variables that `channel`, which is not configured, requires.
  package func missing(for channel: Channel) -> [String] {
    switch channel {
    case .fcm: ["FCM_SERVICE_ACCOUNT"]
    case .webPush: ["WEBPUSH_VAPID_KEY"]
    default: missingForPushes
    }
  }

  /// Names of the unset variables that sending or polling requires.
  package var missing: [String] {
    (mailer == nil ? ["SWITCHBOARD_MAIL_COMMAND"] : [])
      + (polling == nil ? ["SWITCHBOARD_ADMINISTRATOR"] : []) + missingForPushes
  }
  /// Description of the way that a mail would be sent now.
  package var mailRoute: String {
    switch mailer {
    case nil: "nowhere: SWITCHBOARD_MAIL_COMMAND is missing"
    case .directory(let path): "a file in \(path)"
    case .command(let line): "by \(line)"
    }
  }
}

package import Base
import Store

/// What the companion needs to know of its site.
package struct Settings: Sendable {
  /// Seal and open what only the companion may read.
  package let keys: CompanionKeys
  /// nil where no way to send is configured: mails then wait until they expire.
  package let mailer: Mailer?
  /// E-mail address in the From field, in ASCII.
  package let sender: String
  /// Stands in the From field before the address, and under each mail.
  package let senderName: String
  /// The address under which people reach the site, without a final slash; nil: no mail has a link.
  package let publicURL: String?
  /// How long the audit log is kept.
  package let auditLifetime: Duration
  /// Between two passes of `watch`.
  package let interval: Duration
  /// nil where online-go.com is not polled, because no contact is configured.
  package let polling: PollSettings?
  /// The apps to which Apple takes notifications; the first takes the tokens of which nobody said whose they are.
  package let apns: [APNsSettings]
  /// nil where nothing is sent to Android.
  package let fcm: FCMSettings?
  /// nil where nothing is sent to browsers.
  package let webPush: WebPushSettings?
  /// Names of the variables without which no push is sent to Apple.
  package let missingForPushes: [String]
  /// What connections to places that a row names must keep to.
  package let outbound: OutboundRule
  /// The file for metrics, which each pass replaces; nil for none.
  package let metricsFile: String?
  /// The files that nobody else may read.
  package let secretFiles: SecretFiles
  /// SHA-256 of the site's certificate, where the system does not trust it; nil where none is expected.
  package let certificateFingerprint: [UInt8]?

  package init(
    keys: CompanionKeys, mailer: Mailer?, sender: String,
    senderName: String = "Switchboard", auditLifetime: Duration,
    interval: Duration, polling: PollSettings? = nil, apns: [APNsSettings] = [],
    fcm: FCMSettings? = nil, webPush: WebPushSettings? = nil,
    missingForPushes: [String] = [], publicURL: String? = nil,
    outbound: OutboundRule = OutboundRule(), metricsFile: String? = nil,
    secretFiles: SecretFiles = SecretFiles(), certificateFingerprint: [UInt8]? = nil
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
    self.outbound = outbound
    self.metricsFile = metricsFile
    self.secretFiles = secretFiles
    self.certificateFingerprint = certificateFingerprint
  }

  /// Names of the variables without which something is not sent.
  package var missing: [String] {
    (mailer == nil ? ["SWITCHBOARD_MAIL_COMMAND"] : [])
      + (polling == nil ? ["SWITCHBOARD_CONTACT"] : []) + missingForPushes
  }
}

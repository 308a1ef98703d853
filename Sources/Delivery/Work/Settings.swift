import Base
package import Cryptography
package import Program
import Store

/// What the companion needs to know of its site.
package struct Settings: Sendable {
  /// Open what the responder has sealed for us.
  package let credentialKeys: Keyring
  /// nil where no way to send is configured: mails then wait, until they expire.
  package let mailer: Mailer?
  /// E-mail address in the From field.
  package let sender: String
  /// How long the audit log is kept.
  package let auditLifetime: Duration
  /// Between two passes of `watch`.
  package let interval: Duration
  /// nil where online-go.com is not polled, because it could not write to anybody.
  package let polling: PollSettings?
  /// nil where no push is sent.
  package let apns: APNsSettings?
  /// Names of the variables without which no push is sent.
  package let missingForPushes: [String]

  package init(
    credentialKeys: Keyring, mailer: Mailer?, sender: String, auditLifetime: Duration,
    interval: Duration, polling: PollSettings? = nil, apns: APNsSettings? = nil,
    missingForPushes: [String] = []
  ) {
    self.credentialKeys = credentialKeys
    self.mailer = mailer
    self.sender = sender
    self.auditLifetime = auditLifetime
    self.interval = interval
    self.polling = polling
    self.apns = apns
    self.missingForPushes = missingForPushes
  }

  /// - Returns: nil after a complaint in `environment`.
  package init?(from environment: inout Environment) {
    let keys = environment.keyring(
      "SWITCHBOARD_CREDENTIAL_KEYS", "the keys that seal credentials and mails")
    let command = environment.optional("SWITCHBOARD_MAIL_COMMAND")
    let directory = environment.optional("SWITCHBOARD_MAIL_DIRECTORY")
    let sender = environment.optional("SWITCHBOARD_MAIL_FROM") ?? "switchboard@localhost"
    let days = environment.integer("SWITCHBOARD_AUDIT_DAYS", in: 1...36_500, default: 365)
    let interval = environment.integer("CHECK_INTERVAL_SECONDS", in: 1...86_400, default: 30)
    if sender.hasControls || sender.contains(where: { $0.isWhitespace || $0 == "<" || $0 == ">" })
      || !sender.contains("@")
    {
      environment.complain(about: "SWITCHBOARD_MAIL_FROM", "must be an e-mail address")
    }
    let polling = PollSettings(from: &environment, interval: .seconds(interval))
    let (apns, missingForPushes): (APNsSettings?, [String]) =
      switch APNsSettings.parse(from: &environment) {
      case .configured(let settings): (settings, [])
      case .notConfigured(let names): (nil, names)
      }
    guard let keys else { return nil }
    self.init(
      credentialKeys: keys,
      mailer: command.map { .command($0) } ?? directory.map { .directory($0) },
      sender: sender, auditLifetime: .seconds(days * 86_400), interval: .seconds(interval),
      polling: polling, apns: apns, missingForPushes: missingForPushes)
  }

  /// Names of the variables without which something is not sent.
  package var missing: [String] {
    (mailer == nil ? ["SWITCHBOARD_MAIL_COMMAND"] : [])
      + (polling == nil ? ["SWITCHBOARD_CONTACT"] : []) + missingForPushes
  }
}

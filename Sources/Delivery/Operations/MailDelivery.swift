import Base
import Cryptography
import Logging
import Store

/// Sends the mails of the outbox.
struct MailDelivery: Sendable {
  /// Makes the message of a mail from the opened content; nil if the content does not fit the mail.
  typealias Compose = @Sendable (_ opened: [UInt8], Mail, Timestamp) -> [UInt8]?

  let database: Database
  /// nil if no way to send mails is configured: mails then wait until they expire.
  let mailer: Mailer?
  /// Keys that open the content that the responder sealed.
  let keys: CompanionKeys
  let log: Logger
  let stopping: Flag
  let compose: Compose
  /// Makes the push for a mail; nil if the mail has no push.
  let announce: @Sendable (_ opened: [UInt8], Mail) -> NotificationContent?
  /// Channel of each platform; empty if no pushes are sent.
  let channels: [PushPlatform: Channel]
  var problemLog = ProblemLog()
  var clock = LimitClock.system

  /// Time after which no new mail is begun.
  private static let time = Duration.seconds(60)

  /// Sends the due mails, one at a time. Claims each mail just before it is sent, so that its lease
  /// does not end while a slow command sends another mail.
  ///
  /// - Throws: if the database does not answer.
  func run() throws {
    guard let mailer else { return }
    let end = clock.now() + Self.time
    let records = database.records(at: .now(), from: .companion)
    while !stopping.isSet, clock.now() < end,
      let mail = try records.mails.claim(limit: 1, as: newClaimID()).first
    {
      let outcome =
        mail.isToAccount
        ? try send(mail.mail, by: mailer, records) : .dead(reason: "no account has this address")
      if try records.mails.record(outcome, of: mail) { report(outcome, of: mail) }
    }
  }

  /// - Throws: if the database does not answer.
  private func send(_ mail: Mail, by mailer: Mailer, _ records: Records) throws -> MailOutcome {
    let opened: [UInt8]
    do throws(CryptographyError) {
      opened = try keys.open(mail.sealed, authenticating: Mail.sealingContext(mail.id))
    } catch {
      // This host may have an old file of keys, so a pass on another host may have the key.
      if error == .unknownKey {
        problemLog.note(.keys, "Mails cannot be opened with this companion's keys.")
        return .failed(reason: "its key is not among SWITCHBOARD_COMPANION_KEYS")
      }
      return .dead(reason: "the sealed content cannot be opened with the keys at hand")
    }
    problemLog.note(.keys, nil)
    guard let message = compose(opened, mail, .now()) else {
      return .dead(reason: "unknown kind of mail")
    }
    if !channels.isEmpty, let push = announce(opened, mail) {
      try records.notices.push(push, with: mail, by: channels)
    }
    let outcome = mailer.send(message, named: mail.id, stopping: stopping, clock: clock)
    if !stopping.isSet { observe(outcome) }
    return outcome
  }

  /// Notes whether mails can be sent. A refused recipient is not a problem of the mailer.
  private func observe(_ outcome: MailOutcome) {
    switch outcome {
    case .delivered: problemLog.note(.mail, nil)
    case .failed(let reason): problemLog.note(.mail, "Mails fail: \(reason).")
    case .dead: break
    }
  }

  private func report(_ outcome: MailOutcome, of claimed: ClaimedMail) {
    let metadata: Logger.Metadata = [
      "mail": "\(claimed.mail.id)", "attempts": "\(claimed.attempts)",
    ]
    switch outcome {
    case .delivered:
      problemLog.tally(.mails, "delivered")
      log.info("Mail sent", metadata: metadata)
    case .failed(let reason):
      problemLog.tally(.mails, "failed")
      log.warning("Mail not sent: \(reason)", metadata: metadata)
    case .dead(let reason):
      problemLog.tally(.mails, "dead")
      log.error("Mail given up: \(reason)", metadata: metadata)
    }
  }

  /// Checks whether mails can be sent, without sending one.
  func check() -> CheckLine {
    guard let mailer else {
      return .problem("mails are not sent: SWITCHBOARD_MAIL_COMMAND is missing")
    }
    if let problem = mailer.problem(clock) { return .problem(problem) }
    return switch mailer {
    case .directory(let path): .ok("mails become files in \(path)")
    case .command(let line): .ok("mails are sent by \(line)")
    }
  }
}

/// A UUID for one claim.
func newClaimID() -> String { timeOrderedUUID(milliseconds: Timestamp.now().milliseconds) }

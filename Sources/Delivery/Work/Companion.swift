import Base
import Cryptography
import Glibc
package import Logging
package import Store

/// The companion's work: all that leaves the machine leaves through here.
package struct Companion: Sendable {
  package static let version = "1.0.0"

  let database: Database
  let settings: Settings
  let log: Logger
  /// Set when what is in hand is to be finished and nothing more begun.
  let stopping = Flag()
  let pushGateway: PushGateway?
  /// nil where APNs is not configured.
  let pushes: PushSender?

  /// - Parameter pushGateway: nil where APNs is not configured.
  package init(
    database: Database, settings: Settings, log: Logger, pushGateway: PushGateway? = nil
  ) {
    self.database = database
    self.settings = settings
    self.log = log
    self.pushGateway = pushGateway
    pushes = settings.apns.map {
      PushSender($0, database, sealingKeys: settings.credentialKeys)
    }
  }

  /// One pass: does what is due, polls online-go.com for as long as `limit` (nil: the interval) at
  /// most, clears away what nobody needs, and says that it was here.
  ///
  /// - Throws: where the database does not answer; what was claimed by then is due again when its
  ///   lease ends. ``PushAlarm`` where all was done, but an administrator must look.
  package func pass(pollingAtMost limit: Duration? = nil) throws {
    defer { pushes?.hangUp() }
    try attend()
    try poll(atMost: limit ?? settings.interval) { try attend() }
    try sealBankSecretsAnew()
    let deleted = try database.purge(
      slice: 500, auditLifetime: settings.auditLifetime, at: Timestamp.now())
    if deleted > 0 { log.debug("purged", metadata: ["rows": "\(deleted)"]) }
    try database.recordPass(
      host: Self.hostName(), version: Self.version, missing: settings.missing)
    if let alarm = pushes?.takeAlarm() { throw alarm }
  }

  /// Does what somebody may be waiting for, but the errands of banks; errands first.
  package func attend() throws {
    try runErrands()
    try deliverMails()
    try deliverPushes(waiting: true)
  }

  /// Sends all mails that are due, ten at a time. Without a way to send they wait, until they
  /// expire.
  package func deliverMails() throws {
    let buried = try database.buryExpiredMails()
    if buried > 0 {
      log.error("mails expired before they were sent", metadata: ["mails": "\(buried)"])
    }
    guard let mailer = settings.mailer else { return }
    while !stopping.isSet {
      let claimID = timeOrderedUUID(milliseconds: Timestamp.now().milliseconds)
      let claimed = try database.claimMails(limit: 10, as: claimID)
      if claimed.isEmpty { return }
      for mail in claimed {
        let outcome = send(mail.mail, by: mailer)
        if try database.record(outcome, of: mail) { report(outcome, of: mail) }
      }
    }
  }

  private func send(_ mail: Mail, by mailer: Mailer) -> MailOutcome {
    let code: [UInt8]
    do throws(CryptographyError) {
      code = try open(
        mail.sealed, authenticating: Mail.sealingContext(mail.id), with: settings.credentialKeys)
    } catch {
      return .dead(reason: "the sealed code cannot be opened with the keys at hand")
    }
    let message = Message.loginCode(
      String(decoding: code, as: UTF8.self), to: mail.recipient, from: settings.sender,
      id: mail.id, at: Timestamp.now())
    return mailer.send(message, named: mail.id)
  }

  private func report(_ outcome: MailOutcome, of claimed: ClaimedMail) {
    let metadata: Logger.Metadata = [
      "mail": "\(claimed.mail.id)", "attempts": "\(claimed.attempts)",
    ]
    switch outcome {
    case .delivered: log.info("mail sent", metadata: metadata)
    case .failed(let reason): log.warning("mail not sent: \(reason)", metadata: metadata)
    case .dead(let reason): log.error("mail given up: \(reason)", metadata: metadata)
    }
  }

  private static func hostName() -> String {
    String(unsafeUninitializedCapacity: 256) { buffer in
      buffer.initialize(repeating: 0)
      return buffer.withMemoryRebound(to: CChar.self) { name in
        gethostname(name.baseAddress!, name.count - 1) == 0 ? strlen(name.baseAddress!) : 0
      }
    }
  }
}

import Base
import Cryptography
import Glibc
package import Logging
package import Store

/// The companion's work: all that leaves the machine leaves through here.
package struct Companion: Sendable {
  let database: Database
  let settings: Settings
  let log: Logger
  /// Set when what is in hand is to be finished and nothing more begun.
  let stopping = Flag()
  let jobs: JobRunner
  let mails: MailDelivery
  let senders: [DeliverySender]
  /// nil where online-go.com is not polled.
  let polling: TurnPolling?
  let bankEnrollments: BankEnrollments

  /// - Parameter channels: the ways to send notifications; by default those that `settings` configure.
  package init(
    database: Database, settings: Settings, log: Logger, channels: [DeliveryChannel]? = nil
  ) {
    self.database = database
    self.settings = settings
    self.log = log
    let stopping = stopping
    let keys = settings.keys
    let channels = channels ?? DeliveryChannel.configured(by: settings, database)
    senders = channels.map { DeliverySender($0, database, log: log, stopping: stopping) }
    polling = settings.polling.map {
      TurnPolling(database: database, settings: $0, log: log, stopping: stopping)
    }
    bankEnrollments = BankEnrollments(database: database, keys: keys, log: log)
    let message = Message(
      sender: settings.sender, named: settings.senderName, publicURL: settings.publicURL)
    mails = MailDelivery(
      database: database, mailer: settings.mailer, keys: keys, log: log, stopping: stopping,
      compose: message.text, announce: NoticePush.payload,
      channel: settings.apns.map { _ in .apns })
    jobs = JobRunner(
      database: database,
      handlers: [
        PushTestSender(
          database: database, channels: channels, missing: settings.missingForPushes
        ).handler,
        TurnChecks(database: database, polling: polling).handler,
        bankEnrollments.handler,
      ], log: log, stopping: stopping)
  }

  /// Runs one pass: does what is due, polls online-go.com for at most `limit` (nil: the interval),
  /// deletes what nobody needs, and records the pass.
  ///
  /// - Throws: where the database does not answer; what was claimed by then is due again when its
  ///   lease ends. ``DeliveryAlarm`` where all was done, but an administrator must look.
  package func pass(pollingAtMost limit: Duration? = nil) throws {
    defer { closeConnections() }
    for sender in senders { try addLeases(of: sender.channel) }
    try doUrgentWork()
    try polling?.pollDueUsers(atMost: limit ?? settings.interval) { try doUrgentWork() }
    try bankEnrollments.resealSecrets()
    let upkeep = database.records(at: .now(), from: .companion).upkeep
    let deleted = try upkeep.purge(slice: 500, auditLifetime: settings.auditLifetime)
    if deleted > 0 { log.debug("Rows purged", metadata: ["rows": "\(deleted)"]) }
    try upkeep.recordPass(
      host: Self.hostName(), version: Product.version, missing: settings.missing)
    if let alarm = takeAlarm() { throw alarm }
  }

  /// Does what somebody may be waiting for, jobs first. Jobs of banks have workers of their own.
  package func doUrgentWork() throws {
    try runJobs(of: .others)
    try mails.run()
    for sender in senders { try sender.send(waiting: true) }
  }

  /// Does the open jobs of one worker.
  ///
  /// - Throws: where the database does not answer.
  package func runJobs(of worker: Job.Kind.Worker = .others) throws {
    try jobs.only(worker).run()
  }

  private func addLeases(of channel: DeliveryChannel) throws {
    try database.records(at: .now(), from: .companion).deliveries.addLeases(of: channel.name)
  }

  func closeConnections() {
    for sender in senders { sender.channel.close() }
  }

  func takeAlarm() -> DeliveryAlarm? {
    let alarms = senders.compactMap { $0.takeAlarm() }
    return alarms.first
  }

  static func hostName() -> String {
    String(unsafeUninitializedCapacity: 256) { buffer in
      buffer.initialize(repeating: 0)
      return buffer.withMemoryRebound(to: CChar.self) { name in
        gethostname(name.baseAddress!, name.count - 1) == 0 ? strlen(name.baseAddress!) : 0
      }
    }
  }
}

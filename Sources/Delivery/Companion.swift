import Base
import Cryptography
package import Logging
package import Store

/// The companion's work: sends everything that leaves the machine.
package struct Companion: Sendable {
  /// Database with the work and its results.
  package let database: Database
  /// Settings of the site.
  package let settings: Settings
  let log: Logger
  /// Set when the companion must finish its current work and start nothing new.
  let stopping = Flag()
  let problemLog = ProblemLog()
  let failures: FailureLog
  let jobs: JobRunner
  let mails: MailDelivery
  let senders: [DeliverySender]
  /// nil if online-go.com is not polled.
  let polling: TurnPolling?
  let bankEnrollments: BankEnrollments
  let webhooks: WebhookDelivery
  let demoPushes: DemoPushSender

  /// - Parameter channels: channels for notifications; by default those that `settings` configure.
  package init(
    database: Database, settings: Settings, log: Logger, channels: [DeliveryChannel]? = nil
  ) {
    self.database = database
    self.settings = settings
    self.log = log
    failures = FailureLog(log)
    let (stopping, problemLog, clock) = (stopping, problemLog, settings.clock)
    let keys = settings.keys
    let channels = channels ?? DeliveryChannel.configured(by: settings, database)
    senders = channels.map {
      DeliverySender(
        $0, database, log: log, stopping: stopping, problemLog: problemLog, clock: clock)
    }
    polling = settings.polling.map {
      TurnPolling(
        database: database, settings: $0, log: log, stopping: stopping, problemLog: problemLog,
        clock: clock)
    }
    bankEnrollments = BankEnrollments(
      database: database, keys: keys, publicURL: settings.publicURL,
      waitLimit: settings.bankWaitLimit, outbound: settings.outbound, log: log,
      problemLog: problemLog, clock: clock)
    webhooks = WebhookDelivery(
      database: database, keys: keys, outbound: settings.outbound, log: log, stopping: stopping,
      problemLog: problemLog, clock: clock)
    let message = Message(
      sender: settings.sender, named: settings.senderName, publicURL: settings.publicURL)
    mails = MailDelivery(
      database: database, mailer: settings.mailer, keys: keys, log: log, stopping: stopping,
      compose: message.text, announce: SecurityMailPush.announcement,
      channels: channels.byPlatform, problemLog: problemLog, clock: clock)
    demoPushes = DemoPushSender(
      database: database, channels: channels, missing: settings.missingForPushes)
    jobs = JobRunner(
      database: database,
      handlers: [
        demoPushes.handler,
        TurnChecks(database: database, polling: polling).handler,
        bankEnrollments.handler,
      ], log: log, stopping: stopping, problemLog: problemLog, clock: clock)
  }

  /// Clock for limits of time.
  var clock: LimitClock { settings.clock }

  /// Runs one pass: does the due work, polls online-go.com for at most `limit` (nil: the interval),
  /// records the pass, and deletes expired rows.
  ///
  /// - Throws: if the database does not answer; work claimed before is due again when its lease
  ///   ends. ``DeliveryProblem`` if all work was done, but an administrator must fix a problem.
  package func pass(pollingAtMost limit: Duration? = nil) throws {
    let work = UrgentWork(of: self)
    defer { closeConnections() }
    let round = Result { try runRound(pollingAtMost: limit ?? settings.interval, work) }
    let urgent = Result { try work.finish() }
    try round.get()
    try urgent.get()
    try storeProblems()
    try noteEnd()
    if let problem = takeProblem() { throw problem }
  }

  /// Does all work of a pass except urgent work, which runs at the same time.
  ///
  /// - Throws: if the database does not answer.
  func runRound(pollingAtMost limit: Duration, _ work: UrgentWork) throws {
    let began = clock.now()
    try noteRunning()
    if try records.companions.shortenWaitsIfClockWasSetBack() {
      log.warning("The database's clock was set back: the waits that grew are shortened")
    }
    for sender in senders { try addLeases(of: sender.channel) }
    work.wake()
    if try expirePayments() > 0 { work.wake() }
    try webhooks.expire()
    let expired = try records.mails.expire()
    if expired > 0 {
      problemLog.tally(.mails, "expired", by: expired)
      log.error("Mails expired before they were sent", metadata: ["mails": "\(expired)"])
    }
    try giveUpExpiredDeliveries()
    try polling?.pollDueUsers(atMost: limit) { work.wakeDeliveries() }
    try bankEnrollments.resealSecrets()
    try webhooks.resealSecrets()
    try WebSubscriptionSeals(database: database, keys: settings.keys, log: log).renew()
    try recordPass(begunAt: began)
    try purge(until: max(began + Self.roundTime, clock.now() + .seconds(5)))
  }

  /// Records the expiry of payments, for at most a few seconds.
  ///
  /// - Returns: how many.
  private func expirePayments() throws -> Int {
    let end = clock.now() + .seconds(5)
    let slice = 100
    var total = 0
    while !stopping.isSet, clock.now() < end {
      let expired = try records.payments.expire(limit: slice)
      total += expired
      if expired < slice { break }
    }
    return total
  }

  /// Gives up expired deliveries of channels by which this companion does not send, at most 1,600 of
  /// each.
  private func giveUpExpiredDeliveries() throws {
    let ours = Set(channels.map(\.name))
    for channel in try records.deliveries.channels() where !ours.contains(channel) {
      let expired = try records.deliveries.giveUpExpired(of: channel, limit: 100)
      guard expired > 0 else { continue }
      problemLog.tally(.deliveries, "\(channel.name) expired", by: expired)
      log.warning(
        "Notifications expired: this companion does not send by their channel",
        metadata: ["channel": "\(channel.name)", "deliveries": "\(expired)"])
    }
  }

  /// Time after which a round stops deleting rows, even if some are left.
  private static let roundTime = Duration.seconds(30)

  /// Deletes nothing while the companion's clock and the database's disagree: either may be years
  /// ahead, and what it takes for old would be gone. The problem `clock` tells of it.
  private func purge(until end: ContinuousClock.Instant) throws {
    guard clockProblem(.now() - (try database.now()), from: "the database's") == nil else { return }
    let retention = records.retention(auditLifetime: settings.auditLifetime)
    let report = try retention.sweep { stopping.isSet || clock.now() >= end }
    for error in report.failures { log.warning("Old rows were not deleted: \(error)") }
    guard report.deleted > 0 else { return }
    log.debug(
      "Old rows deleted",
      metadata: ["rows": "\(report.deleted)", "complete": "\(report.isComplete)"])
  }

  /// Sends a notification to each target that accepts notifications, and removes dead tokens.
  ///
  /// - Throws: if the database does not answer.
  package func sendNow(
    _ content: NotificationContent, to targets: [PushTarget]
  ) throws -> DemoPushOutcome {
    defer { closeConnections() }
    return try demoPushes.run(content, to: targets)
  }

  private func addLeases(of channel: DeliveryChannel) throws {
    try records.deliveries.addLeases(of: channel.name)
  }

  /// Channels for notifications.
  package var channels: [DeliveryChannel] { senders.map(\.channel) }

  func closeConnections() {
    for channel in channels { channel.close() }
  }

  func takeProblem() -> DeliveryProblem? {
    let problems = senders.compactMap { $0.takeProblem() }
    return problems.first
  }
}

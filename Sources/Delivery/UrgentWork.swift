/// Work that a person may be waiting for. Runs on its own threads, which wait neither for each
/// other nor for a poll.
final class UrgentWork: Sendable {
  /// Looks which kinds of work are due, and wakes their workers. Most looks find nothing, and one look
  /// costs less than that of each worker.
  private let scout: WakeableThread
  private let banks: [WakeableThread]
  private let pushTests: WakeableThread
  private let jobs: WakeableThread
  private let mails: [WakeableThread]
  private let webhooks: [WakeableThread]
  private let deliveries: [WakeableThread]
  private let clock: LimitClock

  /// Several workers, because each waits for a slow bank, mail command or merchant.
  private static let bankWorkers = 4
  private static let mailWorkers = 4
  private static let webhookWorkers = 6

  /// Starts the threads.
  init(of companion: Companion) {
    clock = companion.clock
    let failures = companion.failures
    let senders = companion.senders
    let deliveries = senders.map { sender in
      WakeableThread("deliveries", failures) { try sender.send(waiting: false) }
    }
    self.deliveries = deliveries
    // Their results may be new deliveries.
    func wakingDeliveries(
      _ work: @escaping @Sendable () throws -> Void
    ) -> @Sendable () throws -> Void {
      {
        defer { deliveries.wake() }
        try work()
      }
    }
    let (ofPushTests, others) = (companion.jobs.only(.pushTests), companion.jobs.only(.others))
    pushTests = WakeableThread("push tests", failures) { try ofPushTests.run() }
    jobs = WakeableThread("jobs", failures, wakingDeliveries { try others.run() })
    let mailing = companion.mails
    mails = (1...Self.mailWorkers).map { _ in
      WakeableThread("mails", failures, wakingDeliveries { try mailing.run() })
    }
    let telling = companion.webhooks
    webhooks = (1...Self.webhookWorkers).map { _ in
      WakeableThread("webhooks", failures) { try telling.run() }
    }
    let ofBanks = companion.jobs.only(.banks)
    banks = (1...Self.bankWorkers).map { _ in
      WakeableThread("banks", failures) { try ofBanks.run() }
    }
    let (ofJobs, mails, webhooks) = (banks + [pushTests, jobs], mails, webhooks)
    scout = WakeableThread("due work", failures) {
      let records = companion.records
      let workers = ofJobs + mails + webhooks
      do {
        if try !records.jobs.dueKinds(limit: 1).isEmpty { ofJobs.wake() }
        if try !records.mails.dueRecipients(limit: 1).isEmpty { mails.wake() }
        if try !records.webhooks.due(limit: 1).isEmpty { webhooks.wake() }
      } catch {
        // The workers whose work cannot be read report it; the others do theirs.
        workers.wake()
      }
      // Without work that is due, these would never report that they work again.
      workers.filter(\.hasFailed).wake()
    }
  }

  /// All threads: each one wakes only later ones.
  private var all: [WakeableThread] {
    [scout] + banks + [pushTests, jobs] + mails + webhooks + deliveries
  }

  func wake() {
    scout.wake()
    wakeDeliveries()
  }

  func wakeDeliveries() { deliveries.wake() }

  /// - Parameter deadline: by the system's clock.
  /// - Returns: false if a worker is still busy then.
  func waitUntilIdle(until deadline: ContinuousClock.Instant) -> Bool {
    all.allSatisfy { $0.waitUntilIdle(until: deadline) }
  }

  /// Waits until all workers are idle, or until `deadline`; nil: as long as they may take. Called once.
  ///
  /// - Throws: ``WakeableThread/Unfinished`` if a worker is still busy, or else the error of a worker's
  ///   last work.
  func finish(until deadline: ContinuousClock.Instant? = nil) throws {
    let deadline = clock.realInstant(of: deadline ?? clock.now() + Self.longest)
    let failures = all.compactMap { $0.finish(until: deadline) }
    if let failure = failures.first(where: { $0 is WakeableThread.Unfinished }) ?? failures.first {
      throw failure
    }
  }

  /// Time limit for all workers: each begins no new work after a minute, and its current work has
  /// its own time limit.
  static let longest = Duration.seconds(120)
}

extension [WakeableThread] {
  fileprivate func wake() { for worker in self { worker.wake() } }
}

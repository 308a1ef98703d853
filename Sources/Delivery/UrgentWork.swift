/// What somebody may be waiting for, done by threads of its own: none of these waits for another, and none for a
/// poll.
final class UrgentWork: Sendable {
  private let banks: [Worker]
  private let jobs: Worker
  private let mails: [Worker]
  private let deliveries: [Worker]

  /// Several at once, because a slow bank or mail command is waited for.
  private static let bankWorkers = 4
  private static let mailWorkers = 4

  /// Starts the threads. Those of banks look at once: a bank's job may be what the companion was started for.
  init(of companion: Companion) {
    let failures = companion.failures
    let senders = companion.senders
    let deliveries = senders.map { sender in
      Worker("deliveries", failures) { try sender.send(waiting: false) }
    }
    self.deliveries = deliveries
    // What they find or send may be delivered.
    func wakingDeliveries(
      _ work: @escaping @Sendable () throws -> Void
    ) -> @Sendable () throws -> Void {
      {
        defer { for worker in deliveries { worker.wake() } }
        try work()
      }
    }
    let others = companion.jobs.only(.others)
    jobs = Worker("jobs", failures, wakingDeliveries { try others.run() })
    let mailing = companion.mails
    mails = (1...Self.mailWorkers).map { _ in
      Worker("mails", failures, wakingDeliveries { try mailing.run() })
    }
    let ofBanks = companion.jobs.only(.banks)
    banks = (1...Self.bankWorkers).map { _ in Worker("banks", failures) { try ofBanks.run() } }
  }

  /// Deliveries last, because the others wake them.
  private var all: [Worker] { banks + [jobs] + mails + deliveries }

  func wake() { for worker in all { worker.wake() } }

  /// - Returns: false where one of them still works at `deadline`.
  func waitUntilIdle(until deadline: ContinuousClock.Instant) -> Bool {
    all.allSatisfy { $0.waitUntilIdle(until: deadline) }
  }

  /// Returns when what they were woken for is done, or at `deadline`. Called once.
  ///
  /// - Throws: ``Worker/Unfinished`` where one goes on, or else why the last work of one failed.
  func finish(until deadline: ContinuousClock.Instant = .now + UrgentWork.longest) throws {
    let failures = all.compactMap { $0.finish(until: deadline) }
    if let failure = failures.first(where: { $0 is Worker.Unfinished }) ?? failures.first {
      throw failure
    }
  }

  /// More than any of them takes: each begins nothing more after a minute, and what it has in hand has a time limit
  /// of its own.
  static let longest = Duration.seconds(120)
}

import Base
import Logging
import Store
import Synchronization

/// Sends the deliveries of one channel, on one thread at a time, over the channel's kept
/// connections.
final class DeliverySender: Sendable {
  let channel: DeliveryChannel
  private let database: Database
  private let log: Logger
  private let stopping: Flag
  private let problemLog: ProblemLog
  private let clock: LimitClock
  /// Problem that an administrator must fix; locked while a thread sends.
  private let problem = Mutex<DeliveryProblem?>(nil)
  private let isWanted = Atomic(false)

  /// Time after which no new delivery is begun. Deliveries in flight then have their own time
  /// limit.
  private static let time = Duration.seconds(60)

  init(
    _ channel: DeliveryChannel, _ database: Database, log: Logger, stopping: Flag,
    problemLog: ProblemLog = ProblemLog(), clock: LimitClock = .system
  ) {
    self.channel = channel
    self.database = database
    self.log = log
    self.stopping = stopping
    self.problemLog = problemLog
    self.clock = clock
  }

  /// Sends the due deliveries. If another thread is sending, that thread checks for new ones again.
  ///
  /// - Parameter waiting: true waits for a thread that is already sending.
  /// - Throws: if the database does not answer.
  func send(waiting: Bool) throws {
    isWanted.store(true, ordering: .sequentiallyConsistent)
    let deadline = clock.now() + Self.time
    repeat {
      if waiting {
        try problem.withLock { problem in try send(until: deadline, &problem) }
      } else {
        let sent: Void? = try problem.withLockIfAvailable { problem in
          try send(until: deadline, &problem)
        }
        guard sent != nil else { return }
      }
      // Work that arrived before we unlocked is ours.
    } while clock.now() < deadline && isWanted.load(ordering: .sequentiallyConsistent)
  }

  private func send(
    until deadline: ContinuousClock.Instant, _ problem: inout DeliveryProblem?
  ) throws {
    while clock.now() < deadline,
      isWanted.exchange(false, ordering: .sequentiallyConsistent)
    {
      let run = DeliveryRun(
        database, channel, until: deadline, stopping: stopping, clock: clock)
      let report = try run.send()
      for (outcome, number) in run.outcomes {
        problemLog.tally(.deliveries, "\(channel.name.name) \(outcome)", by: number)
      }
      problem = report.problem.map(DeliveryProblem.init) ?? problem
      note(report)
    }
  }

  private func note(_ report: DeliveryReport) {
    if let problem = report.problem, isNews(problem) {
      log.error("Deliveries by \(channel.name.name): \(problem)")
    }
    observe(report)
    guard report.delivered + report.later + report.dead > 0 else { return }
    log.info(
      "Deliveries sent",
      metadata: [
        "channel": "\(channel.name.name)", "delivered": "\(report.delivered)",
        "later": "\(report.later)", "dead": "\(report.dead)",
        "tokens_removed": "\(report.tokensRemoved)",
      ])
  }

  /// Notes the state of the channel. Ignores a run without deliveries, unless it reported a
  /// problem.
  private func observe(_ report: DeliveryReport) {
    let reason = report.problem ?? (report.delivered == 0 ? report.lastFailure : nil)
    if reason != nil || report.delivered > 0, let name = Problem.Name(of: channel.name) {
      problemLog.note(name, reason.map(Self.sentence))
    }
  }

  private static func sentence(_ reason: String) -> String {
    "Notifications are not sent: \(reason)."
  }

  /// Returns true if neither this process nor an earlier one has reported the same problem.
  private func isNews(_ problem: String) -> Bool {
    guard let name = Problem.Name(of: channel.name) else { return true }
    let sentence = Self.sentence(problem)
    if let last = problemLog.lastReason(of: name) { return last != sentence }
    // If the database does not answer, the problem counts as new.
    let known = try? database.records(at: .now(), from: .companion).problems.failing()
    return known?.contains { $0.name == name && $0.host == hostName() && $0.reason == sentence }
      != true
  }

  /// The problem since the last call. Nil while a thread sends; a later call then returns its
  /// problem.
  func takeProblem() -> DeliveryProblem? {
    let taken = problem.withLockIfAvailable { problem in
      defer { problem = nil }
      return problem
    }
    return taken ?? nil
  }
}

/// Problem with deliveries that an administrator must fix.
package struct DeliveryProblem: Error, CustomStringConvertible {
  package let description: String
}

extension Problem.Name {
  /// - Returns: nil for a channel without a stored state.
  fileprivate init?(of channel: Channel) { self.init(rawValue: channel.name) }
}

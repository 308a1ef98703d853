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
  private let observations: Observations
  /// Problem that an administrator must fix; locked while a thread sends.
  private let alarm = Mutex<DeliveryAlarm?>(nil)
  private let isWanted = Atomic(false)

  /// Time after which no new delivery is begun. Deliveries in flight then have their own time
  /// limit.
  private static let time = Duration.seconds(60)

  init(
    _ channel: DeliveryChannel, _ database: Database, log: Logger, stopping: Flag,
    observations: Observations = Observations()
  ) {
    self.channel = channel
    self.database = database
    self.log = log
    self.stopping = stopping
    self.observations = observations
  }

  /// Sends the due deliveries. If another thread is sending, that thread checks for new ones again.
  ///
  /// - Parameter waiting: true waits for a thread that is already sending.
  /// - Throws: if the database does not answer.
  func send(waiting: Bool) throws {
    isWanted.store(true, ordering: .sequentiallyConsistent)
    let deadline = ContinuousClock.now + Self.time
    repeat {
      if waiting {
        try alarm.withLock { alarm in try send(until: deadline, &alarm) }
      } else {
        let sent: Void? = try alarm.withLockIfAvailable { alarm in
          try send(until: deadline, &alarm)
        }
        guard sent != nil else { return }
      }
      // Work that arrived before we unlocked is ours.
    } while ContinuousClock.now < deadline && isWanted.load(ordering: .sequentiallyConsistent)
  }

  private func send(
    until deadline: ContinuousClock.Instant, _ alarm: inout DeliveryAlarm?
  ) throws {
    while ContinuousClock.now < deadline,
      isWanted.exchange(false, ordering: .sequentiallyConsistent)
    {
      let run = DeliveryRun(database, channel, until: deadline, stopping: stopping)
      let report = try run.send()
      for (outcome, number) in run.outcomes {
        observations.tally(.deliveries, "\(channel.name.name) \(outcome)", by: number)
      }
      alarm = report.alarm.map(DeliveryAlarm.init) ?? alarm
      note(report)
    }
  }

  private func note(_ report: DeliveryReport) {
    if let alarm = report.alarm, isNews(alarm) {
      log.error("Deliveries by \(channel.name.name): \(alarm)")
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
    let reason = report.alarm ?? (report.delivered == 0 ? report.trouble : nil)
    if reason != nil || report.delivered > 0, let name = Condition.Name(of: channel.name) {
      observations.note(name, reason.map(Self.sentence))
    }
  }

  private static func sentence(_ reason: String) -> String {
    "Notifications are not sent: \(reason)."
  }

  /// Returns true if neither this process nor an earlier one has reported the same problem.
  private func isNews(_ alarm: String) -> Bool {
    guard let name = Condition.Name(of: channel.name) else { return true }
    let sentence = Self.sentence(alarm)
    if let last = observations.lastReason(of: name) { return last != sentence }
    let known = try? database.records(at: .now(), from: .companion).conditions.failing()
    return known?.contains { $0.name == name && $0.host == hostName() && $0.reason == sentence }
      != true
  }

  /// The problem since the last call. Nil while a thread sends; a later call then returns its
  /// problem.
  func takeAlarm() -> DeliveryAlarm? {
    let taken = alarm.withLockIfAvailable { alarm in
      defer { alarm = nil }
      return alarm
    }
    return taken ?? nil
  }
}

/// Problem with deliveries that an administrator must fix.
package struct DeliveryAlarm: Error, CustomStringConvertible {
  package let description: String
}

extension Condition.Name {
  /// - Returns: nil for a channel without a stored state.
  fileprivate init?(of channel: Channel) { self.init(rawValue: channel.name) }
}

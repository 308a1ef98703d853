import Base
import Logging
import Store
import Synchronization

/// Sends the deliveries of one channel: one thread at a time, over the connections that the channel
/// keeps.
final class DeliverySender: Sendable {
  let channel: DeliveryChannel
  private let database: Database
  private let log: Logger
  private let stopping: Flag
  private let observations: Observations
  /// Why an administrator must look; locked while a thread sends.
  private let alarm = Mutex<DeliveryAlarm?>(nil)
  private let isWanted = Atomic(false)

  /// After this time nothing new is begun, however much waits; what is in flight then has its own
  /// time limit.
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

  /// Sends what is due. If another thread sends, that thread looks again.
  ///
  /// - Parameter waiting: whether to wait for the thread that sends already.
  /// - Throws: where the database does not answer.
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
      // Whoever came between the last look and the end of the lock has left the work to us.
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

  /// A run in which nothing was taken says nothing of the channel, unless it raised an alarm or the service failed.
  private func observe(_ report: DeliveryReport) {
    let reason = report.alarm ?? (report.delivered == 0 ? report.trouble : nil)
    if reason != nil || report.delivered > 0, let name = Condition.Name(of: channel.name) {
      observations.note(name, reason.map(Self.sentence))
    }
  }

  private static func sentence(_ reason: String) -> String {
    "Notifications are not sent: \(reason)."
  }

  /// Whether neither this process nor the one before it has found the same.
  private func isNews(_ alarm: String) -> Bool {
    guard let name = Condition.Name(of: channel.name) else { return true }
    let sentence = Self.sentence(alarm)
    if let last = observations.lastReason(of: name) { return last != sentence }
    let known = try? database.records(at: .now(), from: .companion).conditions.failing()
    return known?.contains { $0.name == name && $0.host == hostName() && $0.reason == sentence }
      != true
  }

  /// The alarm since the last call; nil too while a thread sends, whose alarm a later call gives.
  func takeAlarm() -> DeliveryAlarm? {
    let taken = alarm.withLockIfAvailable { alarm in
      defer { alarm = nil }
      return alarm
    }
    return taken ?? nil
  }
}

/// Why an administrator must look at the sending of deliveries.
package struct DeliveryAlarm: Error, CustomStringConvertible {
  package let description: String
}

extension Condition.Name {
  /// - Returns: nil for a channel of which no condition is kept.
  fileprivate init?(of channel: Channel) { self.init(rawValue: channel.name) }
}

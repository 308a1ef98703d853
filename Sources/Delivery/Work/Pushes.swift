import Cryptography
import Logging
import Store
import Synchronization

/// Sends the notifications of one process: one sending at a time, over one connection to each of
/// Apple's hosts.
final class PushSender: Sendable {
  private let settings: APNsSettings
  private let hosts: PushSending.Hosts
  /// Why an administrator must look; locked while something is sent.
  private let alarm = Mutex<PushAlarm?>(nil)
  private let isWanted = Atomic(false)

  /// After this nothing new is taken up, however much waits and whoever looks; what is in flight then
  /// has its own time-out.
  private static let time = Duration.seconds(60)

  init(_ settings: APNsSettings, _ database: Database, sealingKeys: Keyring) {
    self.settings = settings
    hosts = PushSending.Hosts(
      first: settings.client(database, sealingKeys: sealingKeys),
      other: settings.otherEndpoint.map {
        settings.client(database, sealingKeys: sealingKeys, at: $0)
      })
  }

  /// Sends what is due. If another thread sends, it looks again; this one waits for that, or does not.
  func send(
    from database: Database, waiting: Bool, stopping: Flag, _ note: (PushReport) -> Void
  ) throws {
    isWanted.store(true, ordering: .sequentiallyConsistent)
    let deadline = ContinuousClock.now + Self.time
    func send(_ alarm: inout PushAlarm?) throws {
      while ContinuousClock.now < deadline,
        isWanted.exchange(false, ordering: .sequentiallyConsistent)
      {
        let report = try PushSending(
          database, settings, hosts, until: deadline, stopping: stopping
        ).run()
        alarm = report.alarm.map(PushAlarm.init) ?? alarm
        note(report)
      }
    }
    repeat {
      if waiting {
        try alarm.withLock { alarm in try send(&alarm) }
      } else {
        guard try alarm.withLockIfAvailable({ alarm in try send(&alarm) }) != nil else { return }
      }
      // Whoever came between the last look and the end of the lock has left it to us.
    } while ContinuousClock.now < deadline && isWanted.load(ordering: .sequentiallyConsistent)
  }

  /// The alarm of what was sent since the last call.
  func takeAlarm() -> PushAlarm? {
    alarm.withLock { alarm in
      defer { alarm = nil }
      return alarm
    }
  }

  func hangUp() {
    hosts.first.hangUp()
    hosts.other?.hangUp()
  }
}

/// Why an administrator must look at the sending of pushes.
struct PushAlarm: Error, CustomStringConvertible {
  let description: String
}

extension Companion {
  /// Sends the notifications that are due. Without APNs they wait, until they expire.
  ///
  /// - Parameter waiting: whether to wait for a thread that is sending already; otherwise it is left
  ///   to that.
  /// - Throws: where the database does not answer.
  func deliverPushes(waiting: Bool) throws {
    try pushes?.send(from: database, waiting: waiting, stopping: stopping) { report in
      if let alarm = report.alarm { log.error("pushes: \(alarm)") }
      guard report.delivered + report.later + report.dead > 0 else { return }
      log.info(
        "pushes sent",
        metadata: [
          "delivered": "\(report.delivered)", "later": "\(report.later)", "dead": "\(report.dead)",
          "tokens_removed": "\(report.tokensRemoved)",
        ])
    }
  }
}

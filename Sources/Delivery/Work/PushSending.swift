import Base
import Cryptography
import Store

/// How the sending of what was due went.
package struct PushReport: Sendable, Equatable {
  package var delivered = 0
  package var later = 0
  package var dead = 0
  package var tokensRemoved = 0
  /// Why an administrator must look; nil where all is well.
  package var alarm: String?
}

/// Sends what is due in the outbox, until nothing is or the time is up.
///
/// Each shard has at most one batch in hand, and a batch is recorded when the last of it has its
/// outcome, so a shard's rows are never read twice. Confined to one thread, beside that of
/// ``PushBatches``.
final class PushSending {
  /// The ways to Apple's two hosts.
  struct Hosts {
    let first: APNsClient
    /// nil where there is but one.
    let other: APNsClient?
  }

  private let database: Database
  private let settings: APNsSettings
  private let hosts: Hosts
  private let deadline: ContinuousClock.Instant
  private let stopping: Flag
  private let source: PushBatches

  private var batches: [Int64: Batch] = [:]
  private var shardOfNotification: [String: Int64] = [:]
  /// For the other host: the shards whose batches they are of wait for them.
  private var elsewhere: [APNsNotification] = []
  /// By notification, what the first host said of tokens on which the other one is asked.
  private var suspects: [String: APNsOutcome] = [:]
  private var mismatches: [(token: String, before: Timestamp)] = []
  private var sent = 0
  private var isStopped = false
  private var report = PushReport()

  private static let mostAttempts = 20

  /// What one shard has in hand.
  private struct Batch {
    var whole: PushBatch
    /// Without an outcome.
    var open: [String: Delivery] = [:]
    var waiting: ArraySlice<APNsNotification> = []
  }

  /// - Parameter deadline: less than the two minutes of a lease away, by the time-out of a request.
  init(
    _ database: Database, _ settings: APNsSettings, _ hosts: Hosts,
    until deadline: ContinuousClock.Instant, stopping: Flag
  ) {
    self.database = database
    self.settings = settings
    self.hosts = hosts
    self.deadline = deadline
    self.stopping = stopping
    source = PushBatches(
      database, topic: settings.topic, environment: settings.environment.other)
  }

  /// - Throws: where the database does not answer; what is in hand then counts as attempted when its
  ///   lease ends.
  func run() throws -> PushReport {
    report.tokensRemoved = try source.serve {
      var before = -1
      while !isOver, sent > before, source.look() {
        before = sent
        sendHere()
        sendElsewhere()
      }
      return batches.values.map(\.whole)
    }
    try removeMismatches()
    return report
  }

  private var isOver: Bool {
    isStopped || source.hasFailed || stopping.isSet || ContinuousClock.now >= deadline
  }

  private func send(
    by client: APNsClient, _ next: (Int) -> [APNsNotification]
  ) -> APNsRun.End {
    client.run(until: deadline) { count in
      isOver ? [] : next(count)
    } report: { notification, outcome in
      note(outcome, of: notification)
    }.end
  }
}

// MARK: What is sent

extension PushSending {
  private func sendHere() {
    let end = send(by: hosts.first, next)
    switch end {
    case .finished, .overdue: break
    case .stopped, .noProviderToken, .unreachable: alarm("\(end)")
    }
  }

  /// At most `count` notifications of the batches in hand, or of further ones.
  private func next(_ count: Int) -> [APNsNotification] {
    var taken: [APNsNotification] = []
    for shard in batches.keys where taken.count < count { take(&taken, count, from: shard) }
    while taken.count < count, let batch = source.next() {
      begin(batch)
      take(&taken, count, from: batch.lease.shard)
    }
    sent += taken.count
    return taken
  }

  private func take(_ taken: inout [APNsNotification], _ count: Int, from shard: Int64) {
    guard let waiting = batches[shard]?.waiting.prefix(count - taken.count) else { return }
    taken += waiting
    batches[shard]?.waiting.removeFirst(waiting.count)
  }

  private func begin(_ read: PushBatch) {
    var batch = Batch(whole: read)
    for delivery in read.deliveries { add(delivery, to: &batch) }
    batch.whole.deliveries = []
    if batch.open.isEmpty { source.finish(batch.whole) } else { batches[read.lease.shard] = batch }
  }

  private func add(_ delivery: Delivery, to batch: inout Batch) {
    guard let notification = notification(of: delivery) else {
      batch.whole.outcomes.append((delivery, .dead(status: nil, reason: unsendable(delivery))))
      report.dead += 1
      return
    }
    batch.open[delivery.id] = delivery
    shardOfNotification[delivery.id] = batch.whole.lease.shard
    if isElsewhere(delivery) {
      elsewhere.append(notification)
    } else {
      batch.waiting.append(notification)
    }
  }

  private func isElsewhere(_ delivery: Delivery) -> Bool {
    hosts.other != nil && delivery.environment.map { $0 != settings.environment } ?? false
  }

  private func notification(of delivery: Delivery) -> APNsNotification? {
    guard !delivery.isExpired, delivery.attempts < Self.mostAttempts,
      let token = PushToken(delivery.token)
    else { return nil }
    return APNsNotification(
      id: delivery.id, token: token, topic: settings.topic, collapseID: delivery.collapseID,
      expiration: delivery.expiresAt, payload: delivery.payload)
  }

  private func unsendable(_ delivery: Delivery) -> String {
    if delivery.isExpired { return "expired" }
    return delivery.attempts >= Self.mostAttempts ? "too many attempts" : "not a push token"
  }

  /// Sends to the other host what is known to be its own, and asks it about the tokens that the first
  /// one has called wrong, unless that is the rule: then it is our fault, and no token's.
  private func sendElsewhere() {
    guard let other = hosts.other, !elsewhere.isEmpty else { return }
    if isRule(suspects.count + mismatches.count) {
      settleSuspects { suspects[$0.id]! }
    }
    let end = send(by: other) { count in
      let taken = Array(elsewhere.prefix(count))
      elsewhere.removeFirst(taken.count)
      sent += taken.count
      return taken
    }
    switch end {
    case .finished, .overdue: break
    case .stopped(let reason): settleSuspects { _ in .rejected(status: 403, reason: reason) }
    case .noProviderToken, .unreachable: alarm("\(end)")
    }
  }

  /// Notes an outcome of those on which the other host is not asked any more.
  private func settleSuspects(_ outcome: (APNsNotification) -> APNsOutcome) {
    let settled = elsewhere.filter { suspects[$0.id] != nil }
    elsewhere.removeAll { suspects[$0.id] != nil }
    for notification in settled { note(outcome(notification), of: notification) }
  }
}

// MARK: What became of it

extension PushSending {
  /// Keeps the outcome; with the last of a batch, has all recorded.
  private func note(_ outcome: APNsOutcome, of notification: APNsNotification) {
    guard let shard = shardOfNotification[notification.id],
      let delivery = batches[shard]?.open[notification.id]
    else { return }
    let first = suspects.removeValue(forKey: notification.id)
    if first == nil, outcome.isMismatch, hosts.other != nil, !isElsewhere(delivery) {
      suspects[notification.id] = outcome
      elsewhere.append(notification)
      return
    }
    let result = decide(outcome, afterMismatch: first, of: delivery, shard: shard)
    shardOfNotification[notification.id] = nil
    batches[shard]?.open[notification.id] = nil
    batches[shard]?.whole.outcomes.append((delivery, result))
    guard batches[shard]?.open.isEmpty == true, let batch = batches.removeValue(forKey: shard)
    else { return }
    source.finish(batch.whole)
  }

  /// - Parameter first: what the first host said, where this is the other one's answer.
  private func decide(
    _ answer: APNsOutcome, afterMismatch first: APNsOutcome?, of delivery: Delivery, shard: Int64
  ) -> DeliveryOutcome {
    let outcome = first.map { answer.secondOpinion(after: $0, settings.retries) } ?? answer
    let action = outcome.action(
      registeredAt: Timestamp(seconds: 0), attempts: Int(delivery.attempts) + 1,
      retries: settings.retries)
    let (status, reason) = outcome.statusAndReason
    func later(_ delay: Duration, counts: Bool) -> DeliveryOutcome {
      report.later += 1
      return .later(delay: delay, status: status, reason: reason, countsAsAttempt: counts)
    }
    func dead() -> DeliveryOutcome {
      report.dead += 1
      return .dead(status: status, reason: reason)
    }
    if action.isAlarm {
      alarm("Apple answers \(status ?? 0) \(reason)", isFinal: action.endsSending)
    }
    switch action {
    case .done:
      report.delivered += 1
      if first != nil { batches[shard]?.whole.found.append(delivery.token) }
      return .delivered
    case .removeToken:
      if case .unregistered(_, let since?) = outcome {
        batches[shard]?.whole.removals.append((delivery.token, since))
      }
      return dead()
    case .markMismatch:
      mismatches.append((delivery.token, batches[shard]!.whole.readAt))
      if mismatches.count >= 1_000, isRule(mismatches.count) { isStopped = true }
      return dead()
    case .keepToken, .deadLetter: return dead()
    case .retry(let delay), .deferDevice(let delay): return later(delay, counts: true)
    case .retryNow: return later(.seconds(1), counts: false)
    case .pause(let delay): return later(delay, counts: false)
    case .renewProviderToken, .stop, .stopTopic: return later(.seconds(60), counts: false)
    }
  }

  private func alarm(_ text: String, isFinal: Bool = true) {
    report.alarm = report.alarm ?? text
    if isFinal { isStopped = true }
  }

  private func isRule(_ count: Int) -> Bool {
    let answered = report.delivered + report.dead + report.later + suspects.count
    return count > 20 && count * 10 > answered
  }

  /// Removes the tokens that Apple called wrong, unless that is the rule rather than the exception:
  /// then our own host or topic is wrong.
  private func removeMismatches() throws {
    if isRule(mismatches.count) {
      alarm(
        "Apple refuses the tokens of \(mismatches.count) devices: the host or the topic is wrong; "
          + "no token was removed")
      return
    }
    for (token, instant) in mismatches {
      report.tokensRemoved += try database.removeDeadToken(token, registeredBefore: instant)
    }
  }
}

extension PushEnvironment {
  fileprivate var other: PushEnvironment { self == .production ? .sandbox : .production }
}

extension APNsOutcome {
  fileprivate var isMismatch: Bool {
    if case .rejected(_, let reason) = self {
      reason == .badDeviceToken || reason == .deviceTokenNotForTopic
    } else {
      false
    }
  }

  /// What counts where this is the other host's answer about a token on which the first one said
  /// `first`: a host that does not know the token, or does not serve us, leaves that as it is.
  fileprivate func secondOpinion(after first: APNsOutcome, _ retries: APNsRetries) -> APNsOutcome {
    switch action(registeredAt: Timestamp(seconds: 0), attempts: 1, retries: retries) {
    case .markMismatch, .stop, .stopTopic, .deadLetter: first
    case .retryNow: .unanswered  // so that it counts: the first host has been asked for nothing
    default: self
    }
  }

  /// As the deliveries' row shows it.
  fileprivate var statusAndReason: (Int64?, String) {
    switch self {
    case .accepted: (200, "")
    case .rejected(let status, let reason): (Int64(status), reason.rawValue)
    case .unregistered(let reason, _): (410, reason.rawValue)
    case .unanswered: (nil, "no answer")
    case .notProcessed: (nil, "not taken")
    }
  }
}

extension APNsAction {
  fileprivate var endsSending: Bool { self == .stop || self == .stopTopic }
}

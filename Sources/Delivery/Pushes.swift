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
/// Each shard has at most one batch in hand, and a batch is recorded when the last of it has been
/// reported, so a shard's rows are never read twice. Confined to one thread.
final class PushSending {
  private let database: Database
  private let settings: APNsSettings
  private let claimID: String
  private let deadline: ContinuousClock.Instant

  private var shards: [Int64] = []
  private var batches: [Int64: Batch] = [:]
  private var shardOfNotification: [String: Int64] = [:]
  private var mismatches: [(token: String, at: Timestamp)] = []
  private var sent = 0
  private var isStopped = false
  private var report = PushReport()

  private static let batchSize = 500

  /// What one shard has in hand.
  private struct Batch {
    let lease: ShardLease
    var deliveries: [String: Delivery]
    var waiting: ArraySlice<APNsNotification>
    var outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)] = []
    var removals: [(token: String, before: Timestamp)] = []
  }

  init(
    _ database: Database, _ settings: APNsSettings, claimID: String,
    until deadline: ContinuousClock.Instant
  ) {
    self.database = database
    self.settings = settings
    self.claimID = claimID
    self.deadline = deadline
  }

  /// - Throws: where the database does not answer; what is in hand then counts as attempted when its
  ///   lease ends.
  func run(by client: APNsClient) throws -> PushReport {
    var failure: (any Error)?
    while failure == nil, !isStopped, ContinuousClock.now < deadline {
      shards = try database.dueShards().shuffled()
      if shards.isEmpty { break }
      let before = sent
      let run = client.run(until: deadline) { count in
        do {
          return try next(count)
        } catch let error {
          failure = failure ?? error
          return []
        }
      } report: { notification, outcome in
        do {
          try note(outcome, of: notification)
        } catch let error {
          failure = failure ?? error
        }
      }
      if case .finished = run.end {} else { alarm("\(run.end)", stopping: true) }
      if sent == before { break }
    }
    try giveBack()
    if let failure { throw failure }
    try removeMismatches()
    return report
  }
}

extension PushSending {
  /// At most `count` notifications of the batches in hand, or of further ones.
  private func next(_ count: Int) throws -> [APNsNotification] {
    var taken: [APNsNotification] = []
    for shard in batches.keys where taken.count < count { take(&taken, count, from: shard) }
    while taken.count < count, !isStopped, let shard = shards.popLast() {
      guard batches[shard] == nil else { continue }
      if try beginBatch(shard) { take(&taken, count, from: shard) }
    }
    sent += taken.count
    return taken
  }

  private func take(_ taken: inout [APNsNotification], _ count: Int, from shard: Int64) {
    guard let waiting = batches[shard]?.waiting.prefix(count - taken.count) else { return }
    taken += waiting
    batches[shard]?.waiting.removeFirst(waiting.count)
  }

  /// Claims the shard and its first batch.
  ///
  /// - Returns: false where another pass holds it, or nothing of it is to be sent.
  private func beginBatch(_ shard: Int64) throws -> Bool {
    guard let lease = try database.claim(shard: shard, as: claimID) else { return false }
    return try nextBatch(of: lease)
  }

  private func nextBatch(of lease: ShardLease) throws -> Bool {
    while true {
      guard let due = try database.nextBatch(of: lease, limit: Self.batchSize) else { return false }
      if due.isEmpty {
        try database.release(lease)
        return false
      }
      var batch = Batch(lease: lease, deliveries: [:], waiting: [])
      var notifications: [APNsNotification] = []
      for delivery in due {
        guard let notification = notification(of: delivery) else {
          batch.outcomes.append((delivery, .dead(status: nil, reason: unsendable(delivery))))
          report.dead += 1
          continue
        }
        batch.deliveries[delivery.id] = delivery
        shardOfNotification[delivery.id] = lease.shard
        notifications.append(notification)
      }
      batch.waiting = notifications[...]
      if !batch.deliveries.isEmpty {
        batches[lease.shard] = batch
        return true
      }
      guard try database.record(batch.outcomes, under: lease) else { return false }
    }
  }

  private func notification(of delivery: Delivery) -> APNsNotification? {
    guard delivery.expiresAt > Timestamp.now().seconds, delivery.attempts < Self.mostAttempts,
      let token = PushToken(delivery.token)
    else { return nil }
    return APNsNotification(
      id: delivery.id, token: token, topic: settings.topic, collapseID: delivery.collapseID,
      expiration: delivery.expiresAt, payload: delivery.payload)
  }

  private static let mostAttempts = 20

  private func unsendable(_ delivery: Delivery) -> String {
    if delivery.expiresAt <= Timestamp.now().seconds { return "expired" }
    return delivery.attempts >= Self.mostAttempts ? "too many attempts" : "not a push token"
  }

  /// Keeps the outcome; with the last of a batch, records all and goes on to the shard's next.
  private func note(_ outcome: APNsOutcome, of notification: APNsNotification) throws {
    guard let shard = shardOfNotification.removeValue(forKey: notification.id),
      let delivery = batches[shard]?.deliveries.removeValue(forKey: notification.id)
    else { return }
    let result = decide(outcome, of: delivery, shard: shard)
    batches[shard]?.outcomes.append((delivery, result))
    if batches[shard]?.deliveries.isEmpty == true { try finishBatch(shard) }
  }

  private func finishBatch(_ shard: Int64) throws {
    guard let batch = batches.removeValue(forKey: shard),
      try database.record(batch.outcomes, under: batch.lease)
    else { return }
    for removal in batch.removals {
      report.tokensRemoved += try database.removeDeadToken(
        removal.token, registeredBefore: removal.before)
    }
    if isStopped { return try database.release(batch.lease) }
    _ = try nextBatch(of: batch.lease)
  }

  private func decide(
    _ outcome: APNsOutcome, of delivery: Delivery, shard: Int64
  ) -> DeliveryOutcome {
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
      let isFinal = action == .stop || action == .stopTopic
      alarm("Apple answers \(status ?? 0) \(reason)", stopping: isFinal)
    }
    switch action {
    case .done:
      report.delivered += 1
      return .delivered
    case .removeToken:
      if case .unregistered(_, let since?) = outcome {
        batches[shard]?.removals.append((delivery.token, since))
      }
      return dead()
    case .markMismatch:
      mismatches.append((delivery.token, Timestamp.now()))
      return dead()
    case .keepToken, .deadLetter: return dead()
    case .retry(let delay), .deferDevice(let delay): return later(delay, counts: true)
    case .retryNow: return later(.seconds(1), counts: false)
    case .pause(let delay): return later(delay, counts: false)
    case .renewProviderToken, .stop, .stopTopic: return later(.seconds(60), counts: false)
    }
  }

  private func alarm(_ text: String, stopping: Bool) {
    report.alarm = report.alarm ?? text
    if stopping { isStopped = true }
  }

  /// Records what is known of the batches that are not whole; the rest of them is due again at once
  /// for whoever comes next, and costs no attempt.
  private func giveBack() throws {
    for batch in batches.values {
      if try database.record(batch.outcomes, under: batch.lease) {
        try database.release(batch.lease)
      }
    }
    batches = [:]
  }

  /// Removes the tokens that Apple called wrong, unless that is the rule rather than the exception:
  /// then our own host or topic is wrong.
  private func removeMismatches() throws {
    let answered = report.delivered + report.dead + report.later
    if mismatches.count > 20, mismatches.count * 10 > answered {
      alarm(
        "Apple refuses the tokens of \(mismatches.count) of \(answered) devices: "
          + "the host or the topic is wrong; no token was removed", stopping: true)
      return
    }
    for (token, instant) in mismatches {
      report.tokensRemoved += try database.removeDeadToken(token, registeredBefore: instant)
    }
  }
}

extension APNsOutcome {
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

extension Companion {
  /// How long one sending may take nothing new up; what is in flight then has its own time-out.
  private static let pushTime = Duration.seconds(60)

  /// Sends the notifications that are due. Without APNs they wait, until they expire.
  ///
  /// - Throws: ``PushAlarm`` where an administrator must look; or where the database does not answer.
  func deliverPushes() throws {
    guard let apns = settings.apns else { return }
    let claimID = timeOrderedUUID(milliseconds: Timestamp.now().milliseconds)
    let sending = PushSending(database, apns, claimID: claimID, until: .now + Self.pushTime)
    let report = try sending.run(
      by: apns.client(database, sealingKeys: settings.credentialKeys))
    if report.delivered + report.later + report.dead > 0 {
      log.info(
        "pushes sent",
        metadata: [
          "delivered": "\(report.delivered)", "later": "\(report.later)", "dead": "\(report.dead)",
          "tokens_removed": "\(report.tokensRemoved)",
        ])
    }
    if let alarm = report.alarm { throw PushAlarm(description: alarm) }
  }
}

/// Why an administrator must look at the sending of pushes.
struct PushAlarm: Error, CustomStringConvertible {
  let description: String
}

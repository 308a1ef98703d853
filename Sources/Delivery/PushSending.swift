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
/// outcome, so a shard's rows are never read twice. A batch is read when all that is in hand is on
/// its way, so that memory does not grow with what waits. Confined to one thread.
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

  /// Due, and not claimed yet.
  private var shards: [Int64] = []
  /// Claimed, with nothing in hand.
  private var idle: [ShardLease] = []
  private var batches: [Int64: Batch] = [:]
  private var shardOfNotification: [String: Int64] = [:]
  /// For the other host: the shards whose batches they are of wait for them.
  private var elsewhere: [APNsNotification] = []
  /// By notification, what the first host said of tokens on which the other one is asked.
  private var suspects: [String: APNsOutcome] = [:]
  private var mismatches: [(token: String, before: Timestamp)] = []
  private var sent = 0
  private var isStopped = false
  private var failure: (any Error)?
  private var report = PushReport()

  private static let batchSize = 500
  private static let mostAttempts = 20

  /// What one shard has in hand.
  private struct Batch {
    let lease: ShardLease
    /// Tokens registered later are not those that were sent to.
    let readAt = Timestamp.now()
    var deliveries: [String: Delivery] = [:]
    var waiting: ArraySlice<APNsNotification> = []
    var outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)] = []
    var removals: [(token: String, before: Timestamp)] = []
    /// Tokens that the other host has taken.
    var found: [String] = []
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
  }

  /// - Throws: where the database does not answer; what is in hand then counts as attempted when its
  ///   lease ends.
  func run() throws -> PushReport {
    var before = -1
    while !isOver, sent > before {
      before = sent
      shards = attempt { try database.dueShards().shuffled() } ?? []
      if shards.isEmpty, idle.isEmpty { break }
      sendHere()
      sendElsewhere()
    }
    giveBack()
    if let failure { throw failure }
    try removeMismatches()
    return report
  }

  private var isOver: Bool {
    isStopped || failure != nil || stopping.isSet || ContinuousClock.now >= deadline
  }

  private func send(
    by client: APNsClient, _ next: (Int) throws -> [APNsNotification]
  ) -> APNsRun.End {
    client.run(until: deadline) { count in
      attempt { try isOver ? [] : next(count) } ?? []
    } report: { notification, outcome in
      attempt { try note(outcome, of: notification) }
    }.end
  }

  /// The first error ends the sending: nothing more is taken, what is in flight is noted.
  @discardableResult
  private func attempt<T>(_ body: () throws -> T) -> T? {
    do { return try body() } catch {
      failure = failure ?? error
      return nil
    }
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
  private func next(_ count: Int) throws -> [APNsNotification] {
    var taken: [APNsNotification] = []
    for shard in batches.keys where taken.count < count { take(&taken, count, from: shard) }
    while taken.count < count, let shard = try beginBatch() {
      take(&taken, count, from: shard)
    }
    sent += taken.count
    return taken
  }

  private func take(_ taken: inout [APNsNotification], _ count: Int, from shard: Int64) {
    guard let waiting = batches[shard]?.waiting.prefix(count - taken.count) else { return }
    taken += waiting
    batches[shard]?.waiting.removeFirst(waiting.count)
  }

  /// Takes a batch of a shard that is new, or else of the one that has been idle for longest: so all
  /// advance together, and what was written together is read together.
  ///
  /// - Returns: the shard; nil where nothing is left, or other passes hold it.
  private func beginBatch() throws -> Int64? {
    while let shard = shards.popLast() {
      let isOurs = batches[shard] != nil || idle.contains { $0.shard == shard }
      let claimID = timeOrderedUUID(milliseconds: Timestamp.now().milliseconds)
      guard !isOurs, let lease = try database.claim(shard: shard, as: claimID) else { continue }
      if try nextBatch(of: lease) { return shard }
    }
    while !idle.isEmpty {
      let lease = idle.removeFirst()
      if try nextBatch(of: lease) { return lease.shard }
    }
    return nil
  }

  private func nextBatch(of lease: ShardLease) throws -> Bool {
    while true {
      guard
        let due = try database.nextBatch(
          of: lease, limit: Self.batchSize, topic: settings.topic)
      else { return false }
      if due.isEmpty {
        try database.release(lease)
        return false
      }
      var batch = Batch(lease: lease)
      for delivery in due { add(delivery, to: &batch) }
      if !batch.deliveries.isEmpty {
        batches[lease.shard] = batch
        return true
      }
      guard try database.record(batch.outcomes, under: lease) else { return false }
    }
  }

  private func add(_ delivery: Delivery, to batch: inout Batch) {
    guard let notification = notification(of: delivery) else {
      batch.outcomes.append((delivery, .dead(status: nil, reason: unsendable(delivery))))
      report.dead += 1
      return
    }
    batch.deliveries[delivery.id] = delivery
    shardOfNotification[delivery.id] = batch.lease.shard
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
    for notification in settled { attempt { try note(outcome(notification), of: notification) } }
  }
}

// MARK: What became of it

extension PushSending {
  /// Keeps the outcome; with the last of a batch, records all.
  private func note(_ outcome: APNsOutcome, of notification: APNsNotification) throws {
    guard let shard = shardOfNotification[notification.id],
      let delivery = batches[shard]?.deliveries[notification.id]
    else { return }
    let first = suspects.removeValue(forKey: notification.id)
    if first == nil, outcome.isMismatch, hosts.other != nil, !isElsewhere(delivery) {
      suspects[notification.id] = outcome
      elsewhere.append(notification)
      return
    }
    let result = decide(outcome, afterMismatch: first, of: delivery, shard: shard)
    shardOfNotification[notification.id] = nil
    batches[shard]?.deliveries[notification.id] = nil
    batches[shard]?.outcomes.append((delivery, result))
    if batches[shard]?.deliveries.isEmpty == true { try finishBatch(shard) }
  }

  /// One that cannot be recorded stays in hand: giving back tries again.
  private func finishBatch(_ shard: Int64) throws {
    guard let batch = batches[shard] else { return }
    let isRecorded = try record(batch)
    batches[shard] = nil
    guard isRecorded else { return }
    if isOver { return try database.release(batch.lease) }
    idle.append(batch.lease)
  }

  /// - Returns: false where the lease has passed to another pass; nothing is written then.
  private func record(_ batch: Batch) throws -> Bool {
    guard try database.record(batch.outcomes, under: batch.lease) else { return false }
    for (token, instant) in batch.removals {
      report.tokensRemoved += try database.removeDeadToken(token, registeredBefore: instant)
    }
    for token in batch.found {
      try database.keep(settings.environment.other, topic: settings.topic, ofToken: token)
    }
    return true
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
      if first != nil { batches[shard]?.found.append(delivery.token) }
      return .delivered
    case .removeToken:
      if case .unregistered(_, let since?) = outcome {
        batches[shard]?.removals.append((delivery.token, since))
      }
      return dead()
    case .markMismatch:
      mismatches.append((delivery.token, batches[shard]!.readAt))
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

  /// Records what is known of the batches that are not whole; the rest of them is due again at once
  /// for whoever comes next, and costs no attempt.
  private func giveBack() {
    for batch in batches.values {
      attempt { if try record(batch) { try database.release(batch.lease) } }
    }
    for lease in idle { attempt { try database.release(lease) } }
    batches = [:]
    idle = []
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

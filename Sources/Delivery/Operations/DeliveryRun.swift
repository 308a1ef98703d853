import Base
import Store

/// Result of sending the due deliveries.
package struct DeliveryReport: Sendable, Equatable {
  package var delivered = 0
  package var later = 0
  package var dead = 0
  package var tokensRemoved = 0
  /// Problem that an administrator must fix; nil if there is none.
  package var problem: String?
  /// Temporary problem of the push service; nil if there is none.
  package var lastFailure: String?
}

/// Sends the due deliveries of one channel until none is left or the deadline has passed.
///
/// Each shard has at most one open batch. A batch is recorded when its last delivery has an
/// outcome, so the rows of a shard are never read twice. Used by one thread, in addition to the
/// threads of ``DeliveryBatches``.
final class DeliveryRun {
  private let database: Database
  private let deadline: ContinuousClock.Instant
  private let stopping: Flag
  private let clock: LimitClock
  private let source: DeliveryBatches
  private let run: any ChannelRun

  private var batches: [Int64: OpenBatch] = [:]
  private var shardOfDelivery: [String: Int64] = [:]
  private var sentCount = 0
  private var report = DeliveryReport()
  /// Number of deliveries by outcome, which is a word of a small set.
  private(set) var outcomes: [String: Int] = [:]

  private static let mostAttempts = 20

  /// Open batch of one shard.
  private struct OpenBatch {
    var whole: DeliveryBatch
    /// Deliveries without an outcome.
    var open: [String: Delivery] = [:]
    var waiting: ArraySlice<OutgoingDelivery> = []
  }

  /// - Parameter deadline: end of the run; with the time limit of a request after it, it must be
  ///   less than two minutes away, the length of a lease.
  init(
    _ database: Database, _ channel: DeliveryChannel, until deadline: ContinuousClock.Instant,
    stopping: Flag, clock: LimitClock = .system
  ) {
    self.database = database
    self.deadline = deadline
    self.stopping = stopping
    self.clock = clock
    source = DeliveryBatches(database, of: channel, until: clock.realInstant(of: deadline))
    run = channel.beginRun(deadline)
  }

  /// - Throws: if the database does not answer; claimed deliveries then count as attempted when
  ///   their lease ends.
  func send() throws -> DeliveryReport {
    report.tokensRemoved = try source.serve {
      var before = -1
      repeat {
        before = sentCount
        run.send(isOver: { isOver }, next: next, report: note)
      } while !isOver && sentCount > before && source.look()
      return batches.values.map(\.whole)
    }
    let deliveries = database.records(at: .now(), from: .companion).deliveries
    for dead in run.finish() {
      report.tokensRemoved += try deliveries.removeDeadToken(
        dead.token, registeredBefore: dead.registeredBefore)
    }
    report.problem = run.problem
    return report
  }

  private var isOver: Bool {
    run.isStopped || source.hasFailed || stopping.isSet || clock.now() >= deadline
  }

  /// At most `count` deliveries of the open batches, or of further ones.
  private func next(_ count: Int) -> [OutgoingDelivery] {
    if isOver { return [] }
    var taken: [OutgoingDelivery] = []
    for shard in batches.keys where taken.count < count { take(&taken, count, from: shard) }
    while taken.count < count, let batch = source.next() {
      begin(batch)
      take(&taken, count, from: batch.lease.shard)
    }
    sentCount += taken.count
    return taken
  }

  private func take(_ taken: inout [OutgoingDelivery], _ count: Int, from shard: Int64) {
    guard let waiting = batches[shard]?.waiting.prefix(count - taken.count) else { return }
    taken += waiting
    batches[shard]?.waiting.removeFirst(waiting.count)
  }

  private func begin(_ read: DeliveryBatch) {
    var batch = OpenBatch(whole: read)
    for outgoing in read.deliveries { add(outgoing, to: &batch) }
    batch.whole.deliveries = []
    if batch.open.isEmpty { source.finish(batch.whole) } else { batches[read.lease.shard] = batch }
  }

  private func add(_ outgoing: OutgoingDelivery, to batch: inout OpenBatch) {
    let delivery = outgoing.delivery
    if let reason = reasonNotToSend(delivery) {
      batch.whole.outcomes.append((delivery, .undelivered(reason: reason)))
      report.dead += 1
      outcomes[reason == "expired" ? "expired" : "given_up", default: 0] += 1
      return
    }
    batch.open[delivery.id] = delivery
    shardOfDelivery[delivery.id] = batch.whole.lease.shard
    batch.waiting.append(outgoing)
  }

  private func reasonNotToSend(_ delivery: Delivery) -> String? {
    if delivery.isExpired { return "expired" }
    return delivery.attempts >= Self.mostAttempts ? "too many attempts" : nil
  }

  /// Keeps the outcome. Queues the batch for recording if it was the last outcome.
  private func note(_ sent: SentDelivery) {
    guard let shard = shardOfDelivery.removeValue(forKey: sent.id),
      let delivery = batches[shard]?.open.removeValue(forKey: sent.id)
    else { return }
    count(sent.outcome)
    batches[shard]?.whole.outcomes.append((delivery, sent.outcome))
    if let dead = sent.deadToken { batches[shard]?.whole.deadTokens.append(dead) }
    if let afterwards = sent.afterwards { batches[shard]?.whole.afterwards.append(afterwards) }
    guard batches[shard]?.open.isEmpty == true, let batch = batches.removeValue(forKey: shard)
    else { return }
    source.finish(batch.whole)
  }

  private func count(_ outcome: DeliveryOutcome) {
    outcomes[outcome.word, default: 0] += 1
    switch outcome {
    case .delivered: report.delivered += 1
    case .later:
      report.later += 1
      report.lastFailure = outcome.lastFailure ?? report.lastFailure
    case .dead, .undelivered: report.dead += 1
    }
  }
}

extension DeliveryOutcome {
  /// Problem of the push service itself; nil for other outcomes.
  fileprivate var lastFailure: String? {
    guard case .later(_, let status, let reason, let countsAsAttempt) = self else { return nil }
    guard let status else { return countsAsAttempt ? "the service does not answer" : nil }
    // A 429 that counts as an attempt concerns one device.
    let isOfService = status >= 500 || status == 429 && !countsAsAttempt
    return isOfService ? "the service answers \(status) \(reason)" : nil
  }

  /// Name of the outcome in the counters.
  fileprivate var word: String {
    switch self {
    case .delivered: "delivered"
    case .later(_, let status, _, _): "later_\(Self.answer(status))"
    case .dead(410, _), .dead(404, "UNREGISTERED"): "token_dead"
    case .dead(let status, _): "refused_\(Self.answer(status))"
    case .undelivered: "given_up"
    }
  }

  private static func answer(_ status: Int64?) -> String {
    status.map { "\($0 / 100)xx" } ?? "unanswered"
  }
}

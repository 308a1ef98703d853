import Base
import Store
import Support

@testable import Delivery

/// A random history of the outbox: three workers that are killed, wait too long or lose the database's answer at
/// any step, a service that loses answers and refuses, and a clock that jumps.
///
/// The statements are those of the companion; the service is simulated.
final class OutboxHistory {
  /// The state of a delivery, as the service and the rules know it.
  private struct Knowledge {
    var isAccepted = false
    var isRejected = false
    /// Whether it had expired when it was claimed last. The clock may be set back afterwards.
    var wasExpired = false
    /// Whether its outcome is recorded.
    var isClosed = false
    /// Attempts that were recorded.
    var attempts: Int64 = 0
    /// Attempts whose sender ended without an outcome.
    var losses: Int64 = 0
    /// It is not sent before this time.
    var dueAt = Duration.zero
  }

  /// A lease, as the rules know it.
  private struct Holding {
    let claimID: String
    /// The worker that claimed it last.
    var worker: Int
    /// The time until which it holds, unless the clock is set back.
    var end: Duration
    /// The deliveries that are being sent under it.
    var batch: [String] = []
  }

  private let outbox: SimulatedOutbox
  private var chance: SeededGenerator
  private var known: [String: Knowledge] = [:]
  private var holdings: [Int64: Holding] = [:]
  private var workers: [Worker] = []
  private var nextID = 0
  private var problem: String?
  /// Whether the service and the workers have no faults any more.
  private var isCalm = false

  init(_ outbox: SimulatedOutbox, seed: UInt64) throws {
    self.outbox = outbox
    chance = SeededGenerator(state: seed)
    try outbox.fill(seed: seed)
    for _ in 0..<3 { workers.append(newWorker()) }
  }

  private func newWorker() -> Worker {
    nextID += 1
    return Worker(number: nextID)
  }

  /// - Returns: the first problem.
  func play() throws -> String? {
    for _ in 0..<150 {
      if problem != nil { return problem }
      try step()
    }
    return try settle()
  }

  private func step() throws {
    let index = Int.random(in: 0..<workers.count, using: &chance)
    switch Int.random(in: 0..<40, using: &chance) {
    case 0, 1: workers[index] = newWorker()  // killed
    case 2, 3: try outbox.advance(by: .seconds(.random(in: 1...30, using: &chance)))
    case 4, 5: try outbox.advance(by: .seconds(.random(in: 60...300, using: &chance)))
    case 6:
      try outbox.advance(by: .seconds(.random(in: -7200...3600, using: &chance)))
      for shard in holdings.keys { holdings[shard]!.end = outbox.time }
    default: try advance(index)
    }
  }

  /// Lets one worker take its next step. Its answer may be lost: then it ends.
  private func advance(_ index: Int) throws {
    let isLost = !isCalm && Int.random(in: 0..<25, using: &chance) == 0
    var worker = workers[index]
    try worker.step(self)
    workers[index] = isLost ? newWorker() : worker
  }

  /// Lets one worker without faults send everything, and checks each row. This takes many hours of the clock if it
  /// was set back: a delivery then waits until its time has come again.
  private func settle() throws -> String? {
    isCalm = true
    workers = [newWorker()]
    for _ in 0..<400 where problem == nil {
      for _ in 0..<20 { try advance(0) }
      try outbox.advance(by: .seconds(600))
      if try outbox.rows().allSatisfy({ $0.state != "open" }) { break }
    }
    return try problem ?? outbox.rows().lazy.compactMap(check).first
  }

  private func check(_ row: SimulatedOutbox.Stored) -> String? {
    let it = known[row.id] ?? Knowledge()
    let text = "\(row) but \(it)"
    if row.attempts != it.attempts + it.losses || row.losses != it.losses {
      return "attempts: \(text)"
    }
    switch row.state {
    case "delivered": return it.isAccepted ? nil : "not accepted: \(text)"
    case "dead" where row.reason == "expired":
      return row.isExpired || it.wasExpired ? nil : "not expired: \(text)"
    case "dead" where row.reason == "no outcome": return row.losses == 5 ? nil : "losses: \(text)"
    case "dead" where row.reason == "too many attempts":
      return row.attempts > 20 ? nil : "tries: \(text)"
    case "dead" where row.reason == "Unregistered":
      return it.isRejected ? nil : "not rejected: \(text)"
    default: return "lost: \(text)"
    }
  }
}

/// A pass of the companion that sends the deliveries of one shard after the other, in steps.
private struct Worker {
  let number: Int
  private var lease: ShardLease?
  /// Deliveries of the batch that are not sent yet.
  private var unsent: [Delivery] = []
  private var outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)] = []
  private var hasBatch = false

  init(number: Int) {
    self.number = number
  }

  mutating func step(_ history: OutboxHistory) throws {
    guard let lease else {
      self.lease = try history.claim(by: number)
      return
    }
    if hasBatch {
      let part = unsent.prefix(60)
      unsent.removeFirst(part.count)
      for delivery in part {
        guard let outcome = history.send(delivery) else {
          self = Worker(number: number)
          return
        }
        outcomes.append((delivery, outcome))
      }
      guard unsent.isEmpty else { return }
      let isRecorded = try history.record(outcomes, under: lease, by: number)
      guard isRecorded else {
        self = Worker(number: number)
        return
      }
      (hasBatch, outcomes) = (false, [])
    } else if history.isStopped() {
      try history.release(lease)
      self = Worker(number: number)
    } else if let batch = try history.nextBatch(of: lease, by: number) {
      (unsent, hasBatch) = (batch, true)
      if !batch.isEmpty { return }
      try history.release(lease)
      self = Worker(number: number)
    } else {
      self = Worker(number: number)
    }
  }
}

extension OutboxHistory {
  fileprivate func claim(by worker: Int) throws -> ShardLease? {
    let due = try outbox.deliveries.dueShards(of: SimulatedOutbox.channel).sorted()
    guard let shard = due.randomElement(using: &chance) else { return nil }
    let lease = try outbox.deliveries.claim(
      shard: shard, of: SimulatedOutbox.channel, as: newClaimID())
    guard let lease else { return nil }
    if let before = holdings[shard] {
      if before.end > outbox.time {
        problem = "shard \(shard) is claimed while it is held"
      }
      for id in before.batch { noteLoss(of: id) }
    }
    holdings[shard] = Holding(
      claimID: lease.claimID, worker: worker, end: outbox.time + .seconds(120))
    return lease
  }

  private func noteLoss(of id: String) {
    known[id, default: Knowledge()].losses += 1
    known[id]!.dueAt = outbox.time + .seconds(5)
    if known[id]!.losses == 5 { known[id]!.isClosed = true }
  }

  /// Checks whether a worker may have the lease, as the database says.
  private func check(_ lease: ShardLease, of worker: Int, isHeld: Bool, holding batch: [String]) {
    let holding = holdings[lease.shard]!
    if isHeld {
      if holding.worker != worker { problem = "two workers hold shard \(lease.shard)" }
      holdings[lease.shard] = Holding(
        claimID: lease.claimID, worker: worker, end: outbox.time + .seconds(120), batch: batch)
    } else if holding.worker == worker, holding.end > outbox.time {
      problem = "a worker loses shard \(lease.shard) that is its own"
    }
  }

  fileprivate func nextBatch(of lease: ShardLease, by worker: Int) throws -> [Delivery]? {
    let next = try outbox.deliveries.nextBatch(of: lease, limit: 50)
    check(lease, of: worker, isHeld: next != nil, holding: next?.map(\.id) ?? [])
    guard let batch = next else { return nil }
    let expired = Set(try outbox.rows().filter(\.isExpired).map(\.id))
    for delivery in batch {
      known[delivery.id, default: Knowledge()].wasExpired = expired.contains(delivery.id)
      let it = known[delivery.id, default: Knowledge()]
      if it.isClosed { problem = "\(delivery.id) is sent again after its outcome: \(it)" }
      if it.dueAt > outbox.time {
        problem = "\(delivery.id) is sent too early: \(it)"
      }
      if delivery.attempts != it.attempts + it.losses { problem = "\(delivery) after \(it)" }
    }
    if Set(batch.map(\.token)).count < batch.count { problem = "a batch has a device twice" }
    return batch
  }

  /// Whether a worker ends in order, which gives back its lease.
  fileprivate func isStopped() -> Bool { !isCalm && Int.random(in: 0..<4, using: &chance) == 0 }

  /// The outcome of sending; nil if the notification ends its sender. The service may have accepted a notification
  /// whose answer is lost.
  fileprivate func send(_ delivery: Delivery) -> DeliveryOutcome? {
    if delivery.isExpired { return .undelivered(reason: "expired") }
    if delivery.id.hasSuffix("007") { return nil }
    if delivery.attempts >= 20 { return .undelivered(reason: "too many attempts") }
    var it = known[delivery.id, default: Knowledge()]
    defer { known[delivery.id] = it }
    switch isCalm ? 9 : Int.random(in: 0..<10, using: &chance) {
    case 0:
      it.isAccepted = true
      return .later(delay: .seconds(4), status: nil, reason: "no answer", countsAsAttempt: true)
    case 1:
      return .later(
        delay: .seconds(30), status: 500, reason: "InternalServerError", countsAsAttempt: true)
    case 2: return .later(delay: .zero, status: nil, reason: "not sent", countsAsAttempt: false)
    case 3 where Int.random(in: 0..<10, using: &chance) == 0:
      it.isRejected = true
      return .dead(status: 410, reason: "Unregistered")
    default:
      it.isAccepted = true
      return .delivered
    }
  }

  /// Records outcomes; sometimes twice, as a worker does that has not got the answer.
  fileprivate func record(
    _ outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)], under lease: ShardLease,
    by worker: Int
  ) throws -> Bool {
    let isTwice = !isCalm && Int.random(in: 0..<8, using: &chance) == 0
    let isRecorded = try outbox.deliveries.record(outcomes, under: lease)
    check(lease, of: worker, isHeld: isRecorded, holding: [])
    guard isRecorded else { return false }
    if isTwice { _ = try outbox.deliveries.record(outcomes, under: lease) }
    for (delivery, outcome) in outcomes { note(outcome, of: delivery.id) }
    return true
  }

  private func note(_ outcome: DeliveryOutcome, of id: String) {
    var it = known[id, default: Knowledge()]
    switch outcome {
    case .later(let delay, _, _, let counts):
      it.attempts += counts ? 1 : 0
      it.dueAt = outbox.time + delay
    case .delivered, .dead, .undelivered:
      it.attempts += 1
      it.isClosed = true
    }
    known[id] = it
  }

  fileprivate func release(_ lease: ShardLease) throws {
    try outbox.deliveries.release(lease)
    if holdings[lease.shard]!.claimID == lease.claimID { holdings[lease.shard]!.end = outbox.time }
  }
}

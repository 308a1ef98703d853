import Base
import MariaDB
import Store
import Support
import Testing

@testable import Delivery

/// Random histories of notifications on their way through the outbox: three workers that are killed, wait too long
/// or lose the database's answer at any step, a service that loses answers and refuses, and a clock that jumps.
///
/// Each of the 200 notifications of a seed is one history. The statements are those of the companion; the service
/// is simulated, and the rules are those of the manual's page "What is guaranteed".
@Suite struct OutboxSimulationTests {
  @Test func noNotificationIsLostOrSentAgainAfterItsOutcome() throws {
    try withDelivery { delivery in
      let outbox = try SimulatedOutbox(delivery)
      #expect(try simulate(10) { try OutboxHistory(outbox, seed: $0).play() } == [])
    }
  }
}

/// What the service and the rules know of a delivery.
private struct Knowledge {
  var isAccepted = false
  var isRejected = false
  /// Whether its outcome is recorded.
  var isClosed = false
  /// Attempts that were recorded.
  var attempts: Int64 = 0
  var sends = 0
}

private final class OutboxHistory {
  private let outbox: SimulatedOutbox
  private var chance: SeededGenerator
  private var known: [String: Knowledge] = [:]
  private var workers: [Worker] = []
  /// The worker that claimed a shard last.
  private var holders: [Int64: Int] = [:]
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
    case 2, 3, 4: try outbox.advance(by: .seconds(.random(in: 1...30, using: &chance)))
    case 5: try outbox.advance(by: .seconds(.random(in: 60...300, using: &chance)))
    case 6: try outbox.advance(by: .seconds(.random(in: -7200...3600, using: &chance)))
    default: try advance(index)
    }
  }

  /// Lets one worker take its next step. Its answer may be lost: then it ends, or tries once more.
  private func advance(_ index: Int) throws {
    let isLost = !isCalm && Int.random(in: 0..<25, using: &chance) == 0
    var worker = workers[index]
    try worker.step(self)
    if isLost { worker = newWorker() }
    workers[index] = worker
  }

  /// Lets one worker without faults send everything, and checks each row.
  private func settle() throws -> String? {
    isCalm = true
    workers = [newWorker()]
    for _ in 0..<400 where problem == nil {
      for _ in 0..<30 { try advance(0) }
      try outbox.advance(by: .seconds(60))
      if try outbox.rows().allSatisfy({ $0.state != "open" }) { break }
    }
    return try problem ?? outbox.rows().lazy.compactMap(check).first
  }

  private func check(_ row: SimulatedOutbox.Stored) -> String? {
    let it = known[row.id] ?? Knowledge()
    let text = "\(row) but \(it)"
    if row.attempts != it.attempts + row.losses { return "attempts: \(text)" }
    switch row.state {
    case "delivered": return it.isAccepted ? nil : "not accepted: \(text)"
    case "dead" where row.reason == "expired": return row.isExpired ? nil : "not expired: \(text)"
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
      for delivery in part { outcomes.append((delivery, history.send(delivery))) }
      guard unsent.isEmpty else { return }
      guard try history.record(outcomes, under: lease, by: number) else {
        self = Worker(number: number)
        return
      }
      (hasBatch, outcomes) = (false, [])
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
    if lease != nil { holders[shard] = worker }
    return lease
  }

  private func isHeld(_ lease: ShardLease, by worker: Int) -> Bool {
    holders[lease.shard] == worker
  }

  fileprivate func nextBatch(of lease: ShardLease, by worker: Int) throws -> [Delivery]? {
    guard let batch = try outbox.deliveries.nextBatch(of: lease, limit: 50) else { return nil }
    if !isHeld(lease, by: worker) { problem = "two workers hold shard \(lease.shard)" }
    for delivery in batch {
      let it = known[delivery.id, default: Knowledge()]
      if it.isClosed { problem = "\(delivery.id) is sent again after its outcome: \(it)" }
      if delivery.attempts != it.attempts + delivery.losses { problem = "\(delivery) after \(it)" }
    }
    if Set(batch.map(\.token)).count < batch.count { problem = "a batch has a device twice" }
    return batch
  }

  /// The outcome of sending. The service may have accepted a notification whose answer is lost.
  fileprivate func send(_ delivery: Delivery) -> DeliveryOutcome {
    if delivery.isExpired { return .undelivered(reason: "expired") }
    if delivery.attempts >= 20 { return .undelivered(reason: "too many attempts") }
    known[delivery.id, default: Knowledge()].sends += 1
    switch isCalm ? 9 : Int.random(in: 0..<10, using: &chance) {
    case 0:
      known[delivery.id]!.isAccepted = true
      return .later(delay: .seconds(4), status: nil, reason: "no answer", countsAsAttempt: true)
    case 1:
      return .later(
        delay: .seconds(30), status: 500, reason: "InternalServerError", countsAsAttempt: true)
    case 2: return .later(delay: .zero, status: nil, reason: "not sent", countsAsAttempt: false)
    case 3 where Int.random(in: 0..<10, using: &chance) == 0:
      known[delivery.id]!.isRejected = true
      return .dead(status: 410, reason: "Unregistered")
    default:
      known[delivery.id]!.isAccepted = true
      return .delivered
    }
  }

  /// Records outcomes; sometimes twice, as a worker does that has not got the answer.
  fileprivate func record(
    _ outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)], under lease: ShardLease,
    by worker: Int
  ) throws -> Bool {
    let isTwice = !isCalm && Int.random(in: 0..<8, using: &chance) == 0
    guard try outbox.deliveries.record(outcomes, under: lease) else { return false }
    if !isHeld(lease, by: worker) {
      problem = "an outcome is recorded without the lease of \(lease.shard)"
    }
    if isTwice { _ = try outbox.deliveries.record(outcomes, under: lease) }
    for (delivery, outcome) in outcomes { note(outcome, of: delivery.id) }
    return true
  }

  private func note(_ outcome: DeliveryOutcome, of id: String) {
    switch outcome {
    case .later(_, _, _, let counts): known[id, default: Knowledge()].attempts += counts ? 1 : 0
    case .delivered, .dead, .undelivered:
      known[id, default: Knowledge()].attempts += 1
      known[id]!.isClosed = true
    }
  }

  fileprivate func release(_ lease: ShardLease) throws {
    try outbox.deliveries.release(lease)
  }
}

import Base
import Cryptography
import Glibc
import Store

/// Reads batches from the database and records them, on its own threads: while a batch is sent, the
/// next ones are read and earlier ones are recorded. Two threads, because a commit waits for the
/// disk.
///
/// Reads few batches ahead, so that memory does not grow with the number of waiting deliveries.
final class DeliveryBatches: Sendable {
  private struct State {
    /// Due shards that are not claimed yet.
    var shards: [Int64] = []
    /// Claimed shards without a batch.
    var idle: [ShardLease] = []
    var ready: [DeliveryBatch] = []
    var done: [DeliveryBatch] = []
    /// Number of jobs in progress.
    var busy = 0
    var isEnding = false
    var failure: (any Error)?
    var tokensRemoved = 0
  }

  private enum Job {
    case claim(Int64)
    case read(ShardLease)
    case record(DeliveryBatch)
  }

  private let database: Database
  private let channel: DeliveryChannel
  /// Real time after which no thread waits for a batch or for work.
  private let deadline: ContinuousClock.Instant
  private let state = Monitor(State())

  private static let batchSize = 500
  private static let batchesAhead = 2
  private static let threads = 2

  /// - Parameter deadline: end of the run, by the system's clock. Deliveries in flight are recorded after it.
  init(
    _ database: Database, of channel: DeliveryChannel, until deadline: ContinuousClock.Instant
  ) {
    self.database = database
    self.channel = channel
    self.deadline = deadline + .seconds(30)
  }

  private var deliveries: Deliveries {
    database.records(at: .now(), from: .companion).deliveries
  }

  /// Calls `body` while other threads read and record, if there are deliveries to send; then releases
  /// all claimed batches.
  ///
  /// - Parameter body: returns the unfinished batches.
  /// - Throws: if the database does not answer; claimed deliveries then count as attempted when
  ///   their lease ends.
  /// - Returns: the number of removed tokens.
  func serve(_ body: () -> [DeliveryBatch]) throws -> Int {
    if look() {
      let threads = (0..<Self.threads).map { _ in startThread { self.work() } }
      let partial = body()
      state.with { $0.isEnding = true }
      for thread in threads { pthread_join(thread, nil) }
      giveBack(partial)
    }
    return try state.with { state in
      state.failure.map { .failure($0) } ?? Result.success(state.tokensRemoved)
    }.get()
  }

  var hasFailed: Bool { state.with { $0.failure != nil } }

  /// Finds the due shards.
  ///
  /// - Returns: true if there are deliveries to send.
  func look() -> Bool {
    do {
      let due = try deliveries.dueShards(of: channel.name).shuffled()
      return state.with { state in
        state.shards = due
        return !due.isEmpty || !state.idle.isEmpty
      }
    } catch {
      state.with { $0.failure = $0.failure ?? error }
      return false
    }
  }

  /// Waits for the next batch. It comes from a new shard, or else from the shard that has been idle
  /// for longest, so that all shards advance together.
  ///
  /// - Returns: nil if nothing is left, or if other passes hold the rest.
  func next() -> DeliveryBatch? {
    let batch = state.wait(until: deadline) { state -> DeliveryBatch?? in
      if !state.ready.isEmpty { return state.ready.removeFirst() }
      let isOver = state.failure != nil || state.isEnding
      let isMore =
        state.busy > 0 || !state.done.isEmpty || !state.shards.isEmpty || !state.idle.isEmpty
      return isMore && !isOver ? nil : .some(nil)
    }
    return batch ?? nil
  }

  /// Queues a complete batch for recording.
  func finish(_ batch: DeliveryBatch) {
    state.with { $0.done.append(batch) }
  }
}

extension DeliveryBatches {
  private func work() {
    while let job = nextJob() {
      do {
        try perform(job)
      } catch {
        state.with { state in
          state.failure = state.failure ?? error
          if case .record(let batch) = job { state.done.append(batch) }  // `giveBack` retries it
        }
      }
      state.with { $0.busy -= 1 }
    }
  }

  private func nextJob() -> Job? {
    let job = state.wait(until: deadline) { state -> Job?? in
      if state.failure != nil { return .some(nil) }
      guard let job = Self.takeJob(&state) else { return state.isEnding ? .some(nil) : nil }
      state.busy += 1
      return job
    }
    return job ?? nil
  }

  private static func takeJob(_ state: inout State) -> Job? {
    if !state.done.isEmpty { return .record(state.done.removeFirst()) }
    guard !state.isEnding, state.ready.count + state.busy < batchesAhead else { return nil }
    if let shard = state.shards.popLast() { return .claim(shard) }
    return state.idle.isEmpty ? nil : .read(state.idle.removeFirst())
  }

  private func perform(_ job: Job) throws {
    switch job {
    case .claim(let shard):
      let lease = try deliveries.claim(shard: shard, of: channel.name, as: newClaimID())
      guard let lease else { return }
      try read(lease)
    case .read(let lease): try read(lease)
    case .record(let batch):
      if try record(batch) { state.with { $0.idle.append(batch.lease) } }
    }
  }

  private func read(_ lease: ShardLease) throws {
    do { try readBatch(of: lease) } catch {
      state.with { $0.idle.append(lease) }  // `giveBack` releases it
      throw error
    }
  }

  private func readBatch(of lease: ShardLease) throws {
    let readAt = Timestamp.now()
    let due = try deliveries.nextBatch(of: lease, limit: Self.batchSize)
    guard let due else { return }
    if due.isEmpty { return try deliveries.release(lease) }
    let routes = try channel.routes(
      due.map { PushAddress($0.token, by: channel.name, bundleID: $0.bundleID) })
    let outgoing = due.map {
      OutgoingDelivery(delivery: $0, readAt: readAt, route: routes[$0.token])
    }
    state.with { $0.ready.append(DeliveryBatch(lease: lease, deliveries: outgoing)) }
  }

  /// - Returns: false if another pass has the lease; nothing is written then.
  private func record(_ batch: DeliveryBatch) throws -> Bool {
    guard try deliveries.record(batch.outcomes, under: batch.lease) else { return false }
    for dead in batch.deadTokens {
      let removed = try deliveries.removeDeadToken(
        dead.token, registeredBefore: dead.registeredBefore)
      state.with { $0.tokensRemoved += removed }
    }
    for work in batch.afterwards { try work() }
    return true
  }

  /// Records the known outcomes of the claimed batches, and releases their leases. The other
  /// deliveries are due again at once, without a counted attempt. Called after the threads have
  /// ended.
  private func giveBack(_ partial: [DeliveryBatch]) {
    let (batches, idle) = state.with { state in
      (partial + state.ready + state.done, state.idle)
    }
    for batch in batches {
      attempt { if try record(batch) { try deliveries.release(batch.lease) } }
    }
    for lease in idle { attempt { try deliveries.release(lease) } }
  }

  private func attempt(_ body: () throws -> Void) {
    do { try body() } catch { state.with { $0.failure = $0.failure ?? error } }
  }
}

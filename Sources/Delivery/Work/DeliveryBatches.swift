import Base
import Cryptography
import Glibc
import Store

/// Reads batches from the database and records them, on threads of its own: while a batch is sent, the
/// next are read and those before are recorded. Two threads, because a commit waits for the disk.
///
/// Few batches are read ahead, so that memory does not grow with what waits.
final class DeliveryBatches: Sendable {
  private struct State {
    /// Due, and not claimed yet.
    var shards: [Int64] = []
    /// Claimed, with nothing in hand.
    var idle: [ShardLease] = []
    var ready: [DeliveryBatch] = []
    var done: [DeliveryBatch] = []
    /// How many are read or recorded now.
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
  /// When nobody waits for a batch any more, nor for one to be recorded.
  private let deadline: ContinuousClock.Instant
  private let state = Monitor(State())

  private static let batchSize = 500
  private static let batchesAhead = 2
  private static let threads = 2

  /// - Parameter deadline: of the run. What is in flight then is still recorded.
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

  /// Calls `body` while others read and record; then whatever is still in hand is given back.
  ///
  /// - Parameter body: returns the batches that are not whole.
  /// - Throws: where the database does not answer; what is in hand then counts as attempted when its
  ///   lease ends.
  /// - Returns: how many tokens were removed.
  func serve(_ body: () -> [DeliveryBatch]) throws -> Int {
    let threads = (0..<Self.threads).map { _ in startThread { self.work() } }
    let partial = body()
    state.with { $0.isEnding = true }
    for thread in threads { pthread_join(thread, nil) }
    giveBack(partial)
    return try state.with { state in
      state.failure.map { .failure($0) } ?? Result.success(state.tokensRemoved)
    }.get()
  }

  var hasFailed: Bool { state.with { $0.failure != nil } }

  /// Finds the shards that are due.
  ///
  /// - Returns: whether there is anything to be sent.
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

  /// The next batch, waited for; of a shard that is new, or else of the one that has been idle for
  /// longest, so that all advance together.
  ///
  /// - Returns: nil where nothing is left, or other passes hold it.
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

  /// Has the outcomes of a whole batch recorded.
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
          // Giving back tries again.
          switch job {
          case .record(let batch): state.done.append(batch)
          case .read(let lease): state.idle.append(lease)
          case .claim: break
          }
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

  /// - Returns: false where another pass has the lease; nothing is written then.
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

  /// Records what is known of the batches in hand; the rest of them is due again at once for whoever
  /// comes next, and costs no attempt. Called when the threads have ended.
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

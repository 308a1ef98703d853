import Base
import Cryptography
import Glibc
import Store

/// What a shard has in hand, or had.
struct PushBatch: Sendable {
  let lease: ShardLease
  /// Tokens registered later are not those that are sent to.
  let readAt: Timestamp
  var deliveries: [Delivery]
  var outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)] = []
  var removals: [(token: String, before: Timestamp)] = []
  /// Tokens that the other host has taken.
  var found: [String] = []
}

/// The database's side of a sending, on threads of its own: while a batch is sent, the next are read
/// and those before recorded. Two at a time, because a commit waits for the disk.
///
/// Few are read ahead, so that memory does not grow with what waits.
final class PushBatches: Sendable {
  private struct State {
    /// Due, and not claimed yet.
    var shards: [Int64] = []
    /// Claimed, with nothing in hand.
    var idle: [ShardLease] = []
    var ready: [PushBatch] = []
    var done: [PushBatch] = []
    /// How many are read or recorded now.
    var busy = 0
    var isEnding = false
    var failure: (any Error)?
    var tokensRemoved = 0
  }

  private enum Job {
    case claim(Int64)
    case read(ShardLease)
    case record(PushBatch)
  }

  private let database: Database
  private let topic: String
  private let environment: PushEnvironment
  private let state = Monitor(State())

  private static let batchSize = 500
  private static let batchesAhead = 2
  private static let threads = 2

  init(_ database: Database, topic: String, environment: PushEnvironment) {
    self.database = database
    self.topic = topic
    self.environment = environment
  }

  /// Calls `body` while others read and record; then whatever is still in hand is given back.
  ///
  /// - Parameter body: returns the batches that are not whole.
  /// - Throws: where the database does not answer; what is in hand then counts as attempted when its
  ///   lease ends.
  /// - Returns: how many tokens were removed.
  func serve(_ body: () -> [PushBatch]) throws -> Int {
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

  /// Looks which shards are due that nobody holds.
  ///
  /// - Returns: whether there is anything to be sent.
  func look() -> Bool {
    do {
      let due = try database.dueShards().shuffled()
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
  func next() -> PushBatch? {
    state.wait { state -> PushBatch?? in
      if !state.ready.isEmpty { return state.ready.removeFirst() }
      let isOver = state.failure != nil || state.isEnding
      let isMore =
        state.busy > 0 || !state.done.isEmpty || !state.shards.isEmpty || !state.idle.isEmpty
      return isMore && !isOver ? nil : .some(nil)
    }
  }

  /// Has the outcomes of a whole batch recorded.
  func finish(_ batch: PushBatch) {
    state.with { $0.done.append(batch) }
  }
}

extension PushBatches {
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
    state.wait { state -> Job?? in
      if state.failure != nil { return .some(nil) }
      guard let job = Self.takeJob(&state) else { return state.isEnding ? .some(nil) : nil }
      state.busy += 1
      return job
    }
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
      let claimID = timeOrderedUUID(milliseconds: Timestamp.now().milliseconds)
      guard let lease = try database.claim(shard: shard, as: claimID) else { return }
      try read(lease)
    case .read(let lease): try read(lease)
    case .record(let batch):
      if try record(batch) { state.with { $0.idle.append(batch.lease) } }
    }
  }

  private func read(_ lease: ShardLease) throws {
    let readAt = Timestamp.now()
    guard let due = try database.nextBatch(of: lease, limit: Self.batchSize, topic: topic)
    else { return }
    if due.isEmpty { return try database.release(lease) }
    state.with { $0.ready.append(PushBatch(lease: lease, readAt: readAt, deliveries: due)) }
  }

  /// - Returns: false where the lease has passed to another pass; nothing is written then.
  private func record(_ batch: PushBatch) throws -> Bool {
    guard try database.record(batch.outcomes, under: batch.lease) else { return false }
    for (token, instant) in batch.removals {
      let removed = try database.removeDeadToken(token, registeredBefore: instant)
      state.with { $0.tokensRemoved += removed }
    }
    for token in batch.found { try database.keep(environment, topic: topic, ofToken: token) }
    return true
  }

  /// Records what is known of the batches in hand; the rest of them is due again at once for whoever
  /// comes next, and costs no attempt. Called when the threads have ended.
  private func giveBack(_ partial: [PushBatch]) {
    let (batches, idle) = state.with { state in
      (partial + state.ready + state.done, state.idle)
    }
    for batch in batches {
      attempt { if try record(batch) { try database.release(batch.lease) } }
    }
    for lease in idle { attempt { try database.release(lease) } }
  }

  private func attempt(_ body: () throws -> Void) {
    do { try body() } catch { state.with { $0.failure = $0.failure ?? error } }
  }
}

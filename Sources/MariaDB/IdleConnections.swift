/// The connections of a ``Pool`` that no operation uses, and what is known of the server.
struct IdleConnections {
  var leases: [Lease] = []
  /// Connections of an earlier generation are closed when given back: one of that generation
  /// failed.
  var generation = 0
  /// The server accepted a connection or a statement and did not answer.
  var isSilent = false
  private var isBeingTried = false

  /// The last connection given back is taken first, so that the others can grow old.
  mutating func take(withAutocommit hasAutocommit: Bool) -> Lease? {
    let fitting = leases.lastIndex { $0.connection.hasAutocommit == hasAutocommit }
    return fitting.map { leases.remove(at: $0) } ?? leases.popLast()
  }

  mutating func beginConnecting() -> Bool {
    if isSilent && isBeingTried { return false }
    isBeingTried = true
    return true
  }

  mutating func endConnecting(isSilent: Bool) {
    self.isSilent = isSilent
    isBeingTried = false
  }
}

/// A connection that moves between threads: idle in the pool, or owned by one operation.
final class Lease: @unchecked Sendable {
  let connection: Connection
  let generation: Int
  let madeAt = ContinuousClock.now
  /// The last time its server was seen to accept writes, if there are several servers.
  var checkedAt = ContinuousClock.now

  init(_ connection: Connection, generation: Int) {
    self.connection = connection
    self.generation = generation
  }
}

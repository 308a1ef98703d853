import Glibc
import Synchronization

/// Connections for threads that each need one for a moment, and the rules by which work is repeated.
///
/// There are never more connections than there were callers at one time, and no caller waits for
/// another. A connection that fails is dropped, with all idle ones: after a restart of the server
/// they are as dead. So is one, by TCP, to a server that has become read-only or has lost its cluster; then the work is
/// done by another server, or behind a proxy by the one that it chooses now. While the server is known to keep silent, one caller at a time finds out whether
/// it answers again; the others fail at once.
package final class Pool: Sendable {
  private let settings: ConnectionSettings
  private let servers: Servers
  /// Whether the server is reached by a unix socket.
  package var isLocal: Bool { settings.socket != nil }
  /// Whether one of several servers is chosen.
  package var areSeveral: Bool { servers.areSeveral }
  private let waitLimit: Duration
  private let beginWaiting: @Sendable () -> Bool
  private let learned: LearnedStatements
  private let idle = Mutex(IdleConnections())

  /// - Parameters:
  ///   - waitLimit: how long an operation waits for a server that cannot be reached.
  ///   - learned: which statements are prepared before a transaction begins.
  ///   - beginWaiting: asked once before an operation waits; false makes it fail at once.
  package init(
    _ settings: ConnectionSettings, waitLimit: Duration = .seconds(3),
    learned: LearnedStatements = .ofThisProcess,
    beginWaiting: @escaping @Sendable () -> Bool = { true }
  ) {
    self.learned = learned
    self.settings = settings
    servers = Servers(settings)
    self.waitLimit = waitLimit
    self.beginWaiting = beginWaiting
  }

  /// Runs `body`, which only reads. It is run again, once, if the connection is lost.
  ///
  /// - Throws: ``DatabaseError``, or what `body` throws.
  package func read<T>(_ body: (Connection) throws -> T) throws -> T {
    try repeating { connection in try connection.attempt(body) }
  }

  /// Runs `body`, which executes exactly one statement, and that commits by itself. It is run again
  /// if the statement certainly was not executed.
  ///
  /// - Throws: ``DatabaseError``, with ``DatabaseError/isOutcomeUnknown`` if the connection was lost
  ///   after the statement had been sent; or what `body` throws.
  package func write<T>(_ body: (Connection) throws -> T) throws -> T {
    try repeating { connection in
      do {
        return try connection.attempt(body)
      } catch let error as DatabaseError {
        throw error.asErrorOfCommitting
      }
    }
  }

  /// Runs `body` between START TRANSACTION and COMMIT; rolls back if it throws.
  ///
  /// The whole is run again if MariaDB asks for it (deadlock, lock wait, Galera), also at COMMIT,
  /// and, once, if the connection is lost before COMMIT was sent. So `body` has no other effect.
  ///
  /// Statements are prepared before the transaction begins, as far as one of this process that began alike has needed
  /// them. An attempt that has prepared a further one is always rolled back, and `body` runs again, with all
  /// its statements prepared: Galera does not report that another node has aborted a transaction, if that happens during
  /// a PREPARE. So neither what such an attempt returned counts nor what it threw.
  ///
  /// - Parameter isolation: READ COMMITTED locks only the rows that are changed, and nothing between them.
  /// - Throws: ``DatabaseError``, with ``DatabaseError/isOutcomeUnknown`` if the connection was lost
  ///   after COMMIT had been sent; or what `body` throws.
  package func transaction<T>(
    isolation: Isolation = .repeatableRead, _ body: (Connection) throws -> T
  ) throws -> T {
    try repeating { connection in
      while true {
        connection.startTransaction(isolation, learned)
        let result = Result { try connection.attempt(body) }
        if connection.hasPrepared && connection.abortion == nil {
          try connection.rollBack()
          continue
        }
        do {
          let value = try result.get()
          try connection.commit()
          return value
        } catch {
          if !connection.isBroken { try? connection.rollBack() }
          throw error
        }
      }
    }
  }

  /// Asks each of the servers how it is, on connections of its own.
  package func survey() -> [(host: String, state: Result<ServerState, DatabaseError>)] {
    settings.hosts.map { host in
      do throws(DatabaseError) {
        return (host.description, .success(try Connection(settings, at: host).serverState()))
      } catch {
        return (host.description, .failure(error))
      }
    }
  }

  /// Runs `attempt` until it succeeds or may not be repeated.
  private func repeating<T>(_ attempt: (Connection) throws -> T) throws -> T {
    var waiting = Waiting(waitLimit: waitLimit, begin: beginWaiting)
    var retries = 0
    var hasReconnected = false
    while true {
      let lease = try take(&waiting)
      let start = ContinuousClock.now
      defer { giveBack(lease) }
      do {
        return try attempt(lease.connection)
      } catch let error as DatabaseError {
        let isSilent = error.isConnectionLost && settings.isSilence(since: start)
        if isSilent { note(silenceOf: lease.connection) }
        if error.isOutcomeUnknown { throw error }
        if isSilent && !servers.areSeveral { throw DatabaseError.serverIsSilent }
        let isUnfit = error.isUnfit && !isLocal
        if isUnfit { lease.connection.retire() }
        if (error.isConnectionLost || isUnfit && servers.areSeveral) && !hasReconnected {
          hasReconnected = true
        } else if isUnfit {
          // A proxy may not have noticed yet.
          guard waiting.goesOn(since: start) else { throw error }
        } else if error.isRetryable && retries < error.mostRetries {
          pause(milliseconds: Double(1 << retries) * .random(in: 0.5..<1.5))
          retries += 1
        } else {
          throw error
        }
      }
    }
  }

  /// Takes an idle connection, or makes one.
  ///
  /// Over TCP, but not through a unix socket, a statement can still be sent to a server that has
  /// gone, and then its outcome is unknown; so there a look comes first.
  private func take(_ waiting: inout Waiting) throws(DatabaseError) -> Lease {
    while true {
      let (lease, generation) = idle.withLock { idle in (idle.leases.popLast(), idle.generation) }
      if let lease {
        if settings.socket == nil && lease.connection.isClosedByServer { continue }
        if servers.isOutdated(lease.connection, since: lease.madeAt) { continue }
        if isFit(lease) { return lease }
        giveBack(lease)
        continue
      }
      let start = ContinuousClock.now
      do throws(DatabaseError) {
        return Lease(try connect(), generation: generation)
      } catch {
        guard error.isUnreachable, error.code != .silent, waiting.goesOn(since: start) else {
          throw error
        }
      }
    }
  }

  /// Asks the server of the connection, at most once a second, whether it still takes writes. A program that only reads
  /// is refused nothing, and would go on to read what was true before another server took over.
  private func isFit(_ lease: Lease) -> Bool {
    let start = ContinuousClock.now
    guard servers.areSeveral, start - lease.checkedAt > .seconds(1) else { return true }
    do throws(DatabaseError) {
      if try lease.connection.serverState().obstacle == nil {
        lease.checkedAt = start
        return true
      }
    } catch {
      if settings.isSilence(since: start) { note(silenceOf: lease.connection) }
    }
    lease.connection.retire()
    return false
  }

  /// Makes a connection, if the server is not known to keep silent, or nobody else is finding out.
  private func connect() throws(DatabaseError) -> Connection {
    guard idle.withLock({ $0.beginConnecting() }) else { throw .serverIsSilent }
    let start = ContinuousClock.now
    do throws(DatabaseError) {
      let connection = try servers.open()
      idle.withLock { $0.endConnecting(isSilent: false) }
      return connection
    } catch {
      idle.withLock { $0.endConnecting(isSilent: settings.isSilence(since: start)) }
      throw error
    }
  }

  private func note(silenceOf connection: Connection) {
    if let host = connection.host, servers.areSeveral {
      servers.avoid(host)
    } else {
      idle.withLock { $0.isSilent = true }
    }
  }

  private func giveBack(_ lease: Lease) {
    let isBroken = lease.connection.isBroken
    // Closed after the lock is released: closing tells the server.
    let dropped = idle.withLock { idle in
      guard lease.generation == idle.generation else { return [lease] }
      guard isBroken else {
        idle.leases.append(lease)
        return []
      }
      idle.generation += 1
      defer { idle.leases = [] }
      return idle.leases
    }
    _ = consume dropped
  }
}

private struct IdleConnections {
  /// The last one given back is the first one taken: the others can grow old.
  var leases: [Lease] = []
  /// Connections of an earlier generation are not taken back: one of their time was lost.
  var generation = 0
  /// The server took connections or statements and did not answer.
  var isSilent = false
  private var isBeingTried = false

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

extension ConnectionSettings {
  /// Whether an operation that failed has waited as long as for a silent server.
  fileprivate func isSilence(since start: ContinuousClock.Instant) -> Bool {
    ContinuousClock.now - start >= min(readTimeout, connectTimeout) - .milliseconds(100)
  }
}

/// A connection on its way between threads: it is idle in the pool, or owned by one operation.
private final class Lease: @unchecked Sendable {
  let connection: Connection
  let generation: Int
  let madeAt = ContinuousClock.now
  /// When its server was last seen to take writes, if there are several.
  var checkedAt = ContinuousClock.now

  init(_ connection: Connection, generation: Int) {
    self.connection = connection
    self.generation = generation
  }
}

/// How long one operation, however often it is repeated, waits for the server.
private struct Waiting {
  let waitLimit: Duration
  let begin: @Sendable () -> Bool
  private var deadline: ContinuousClock.Instant?

  init(waitLimit: Duration, begin: @escaping @Sendable () -> Bool) {
    self.waitLimit = waitLimit
    self.begin = begin
  }

  /// Waits 50 ms and returns true, or false if the operation has waited enough or may not wait.
  ///
  /// - Parameter start: when it began to connect, which can have taken its time.
  mutating func goesOn(since start: ContinuousClock.Instant) -> Bool {
    if deadline == nil {
      guard begin() else { return false }
      deadline = start + waitLimit
    }
    guard let deadline, ContinuousClock.now < deadline else { return false }
    pause(milliseconds: 50)
    return true
  }
}

extension DatabaseError {
  /// Nothing was sent: somebody else has found that the server does not answer.
  fileprivate static let serverIsSilent = DatabaseError(
    .silent, .connecting, message: "the server does not answer")

  /// The pauses between eight retries sum up to a quarter of a second. A lock wait has already taken 3 s: more of them
  /// outlast the client.
  fileprivate var mostRetries: Int { code == .lockWaitTimeout ? 1 : 8 }

  /// This error of a statement that commits: if its answer is missing, the outcome is unknown.
  fileprivate var asErrorOfCommitting: DatabaseError {
    breaksConnection && !isNothingExecuted ? withUnknownOutcome : self
  }
}

extension Connection {
  /// Runs `body`. An error that ended its transaction or its connection counts whatever `body` made
  /// of it: what it returned or threw rests on work that is undone.
  fileprivate func attempt<T>(_ body: (Connection) throws -> T) throws -> T {
    begin()
    do {
      let result = try body(self)
      if let abortion { throw abortion }
      return result
    } catch {
      throw abortion ?? error
    }
  }

  fileprivate func commit() throws(DatabaseError) {
    do throws(DatabaseError) {
      try end("COMMIT")
    } catch {
      throw error.asErrorOfCommitting
    }
  }
}

private func pause(milliseconds: Double) {
  usleep(UInt32(milliseconds * 1000))
}

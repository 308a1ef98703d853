import Glibc
import Synchronization

/// Connections for threads that each need one for a short time, and the rules for retries.
///
/// There are never more connections than simultaneous callers, and no caller waits for another. A
/// connection that fails is closed together with all idle ones: a restart of the server has broken
/// them too. So is a TCP connection to a server that has become read-only or has lost its cluster;
/// then another server does the work, or behind a proxy the server that the proxy chooses now.
/// While the server is known not to answer, one caller at a time checks whether it answers again;
/// the others fail at once.
package final class Pool: Sendable {
  private let settings: ConnectionSettings
  private let servers: Servers
  /// Whether the server is reached by a unix socket.
  package var isLocal: Bool { settings.socket != nil }
  /// Whether there are several servers to choose from.
  package var areSeveral: Bool { servers.areSeveral }
  private let waitLimit: Duration
  private let beginWaiting: @Sendable () -> Bool
  private let learned: LearnedStatements
  private let idle = Mutex(IdleConnections())

  /// - Parameters:
  ///   - waitLimit: the wait limit of an operation for a server that cannot be reached.
  ///   - retryInterval: the time between two tries of a failed server, if there are several.
  ///   - learned: the statements to prepare before a transaction begins.
  ///   - beginWaiting: called once before an operation waits; false makes the operation fail at
  ///     once.
  package init(
    _ settings: ConnectionSettings, waitLimit: Duration = .seconds(3),
    retryInterval: Duration = .seconds(10),
    learned: LearnedStatements = .ofThisProcess,
    beginWaiting: @escaping @Sendable () -> Bool = { true }
  ) {
    self.learned = learned
    self.settings = settings
    servers = Servers(settings, retryInterval: retryInterval)
    self.waitLimit = waitLimit
    self.beginWaiting = beginWaiting
  }

  /// Runs `body`, which only reads. Retries once if the connection is lost.
  ///
  /// - Throws: ``DatabaseError``, or what `body` throws.
  package func read<T>(_ body: (Connection) throws -> T) throws -> T {
    try repeating { connection in try connection.attempt(body) }
  }

  /// Runs `body`, which executes exactly one statement that commits by itself. Retries if the
  /// statement certainly was not executed.
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

  /// Runs `body` in a transaction, and COMMIT after it; rolls back if it throws.
  ///
  /// Runs the whole transaction again if MariaDB asks for it (deadlock, lock wait, Galera), also at
  /// COMMIT, and, once, if the connection is lost before COMMIT was sent. So `body` must have no
  /// other effect.
  ///
  /// Prepares statements before the transaction begins: those that earlier transactions of this
  /// process with the same first statement needed. An attempt that has prepared a further statement
  /// is always rolled back, and `body` runs again with all its statements prepared: if another node
  /// aborts a transaction during a PREPARE, Galera does not report it. So neither the result nor
  /// the error of such an attempt counts.
  ///
  /// - Parameter isolation: READ COMMITTED locks only the rows that are changed, and no gaps.
  /// - Throws: ``DatabaseError``, with ``DatabaseError/isOutcomeUnknown`` if the connection was lost
  ///   after COMMIT had been sent; or what `body` throws.
  package func transaction<T>(
    isolation: Isolation = .repeatableRead, _ body: (Connection) throws -> T
  ) throws -> T {
    try repeating(inTransaction: true) { connection in
      while true {
        connection.startTransaction(isolation, learned)
        do {
          let value = try connection.attempt(body)
          if !connection.mustRepeat {
            try connection.commit()
            return value
          }
        } catch {
          if !connection.mustRepeat {
            // A connection whose rollback fails is closed; the first error holds the cause.
            if !connection.isBroken { try? connection.rollBack() }
            throw error
          }
        }
        try connection.rollBack()  // and again, with all statements prepared
      }
    }
  }

  /// Reads the state of each server, on separate connections.
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
  private func repeating<T>(
    inTransaction: Bool = false, _ attempt: (Connection) throws -> T
  ) throws -> T {
    var waiting = Waiting(waitLimit: waitLimit, begin: beginWaiting)
    var retries = 0
    var hasReconnected = false
    while true {
      let lease = try take(withAutocommit: !inTransaction, &waiting)
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

  /// Takes an idle connection, if possible one that need not turn autocommit on or off, or makes one.
  ///
  /// Over TCP, but not through a unix socket, a statement can still be sent to a server that is
  /// gone, and then its outcome is unknown. So a TCP connection is checked first.
  private func take(
    withAutocommit hasAutocommit: Bool, _ waiting: inout Waiting
  ) throws(DatabaseError) -> Lease {
    while true {
      let (lease, generation) = idle.withLock { idle in
        (idle.take(withAutocommit: hasAutocommit), idle.generation)
      }
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

  /// Asks the server of the connection, at most once a second, whether it still accepts writes. A
  /// program that only reads would get no error, and would read old data after another server took
  /// over. A donor commits nothing at the end of a copy, and reads there wait for it.
  private func isFit(_ lease: Lease) -> Bool {
    guard servers.areSeveral else { return true }
    let start = ContinuousClock.now
    guard start - lease.checkedAt > .seconds(1) else { return true }
    do throws(DatabaseError) {
      let state = try lease.connection.serverState()
      let haveOther = servers.haveOther(than: lease.connection.host)
      if state.problem == nil && !(state.isDonor && haveOther) {
        lease.checkedAt = start
        return true
      }
    } catch {
      if settings.isSilence(since: start) { note(silenceOf: lease.connection) }
    }
    lease.connection.retire()
    return false
  }

  /// Makes a connection, unless the server is known not to answer and another caller is trying it.
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

extension ConnectionSettings {
  /// Whether a failed operation has waited as long as for a server that does not answer.
  fileprivate func isSilence(since start: ContinuousClock.Instant) -> Bool {
    ContinuousClock.now - start >= min(readTimeout, connectTimeout) - .milliseconds(100)
  }
}

/// The wait of one operation, with all its retries, for the server.
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
  /// - Parameter start: the start of the last attempt, which can have taken long.
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
  /// The server is known not to answer.
  fileprivate static let serverIsSilent = DatabaseError(
    .silent, .connecting, message: "the server does not answer")

  /// Eight, with pauses of a quarter of a second in sum; one after a lock wait, which has already
  /// taken 3 s: more would outlast the client.
  fileprivate var mostRetries: Int { code == .lockWaitTimeout ? 1 : 8 }

  /// This error of a statement that commits: if its answer is missing, the outcome is unknown.
  fileprivate var asErrorOfCommitting: DatabaseError {
    breaksConnection && !isNothingExecuted ? withUnknownOutcome : self
  }
}

extension Connection {
  /// Runs `body`. An error that ended the transaction or the connection is thrown even if `body`
  /// caught it: the result of `body` rests on work that is undone.
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

/// One connection to MariaDB, with the statements prepared on it. Used by one thread at a time.
///
/// Its session keeps UTC, utf8mb4 and strict mode, waits at most 3 s for a lock, and commits each statement
/// by itself outside of ``Pool/transaction(isolation:_:)``. In a transaction autocommit is off, so that it needs no
/// statement to begin. It stays off until a statement outside of a transaction turns it on.
package final class Connection {
  /// Keyed by the address of the statement's text: a `StaticString` keeps its address for the life
  /// of the process.
  private var statements: [UnsafePointer<UInt8>: Statement] = [:]
  /// By the first statement of a transaction: the number of learned statements that are prepared already.
  private var learnedCounts: [UnsafePointer<UInt8>: Int] = [:]
  /// Declared after the statements, so that it is closed after them.
  private let session: Session
  /// The error that prevents a commit of the transaction, even if the body caught it.
  private(set) var abortion: DatabaseError?
  /// The transaction that begins with the next statement, if any.
  private var pending: (isolation: Isolation, learned: LearnedStatements)?
  /// The first statement of the current transaction; nil outside of a transaction.
  private var current: (first: StaticString, learned: LearnedStatements)?
  /// Whether the transaction has prepared a statement. Then it must not be committed.
  private(set) var hasPrepared = false
  /// Whether the transaction must run again, with all its statements prepared.
  var mustRepeat: Bool { hasPrepared && abortion == nil }
  /// Whether the server commits each statement by itself.
  private(set) var hasAutocommit = true
  /// Whether the connection can only be closed.
  private(set) var isBroken = false
  /// nil for a connection through a unix socket.
  let host: ConnectionSettings.Host?

  /// Connects to the only server of `settings`, and sets up the session.
  ///
  /// - Throws: at stage ``DatabaseError/Stage/connecting``, with the server's message.
  package convenience init(_ settings: ConnectionSettings) throws(DatabaseError) {
    try self.init(settings, at: settings.hosts.first)
  }

  /// Connects to one of the servers of `settings`.
  init(
    _ settings: ConnectionSettings, at host: ConnectionSettings.Host?
  ) throws(DatabaseError) {
    session = try Session(settings, at: host)
    self.host = host
  }

  /// Executes a statement without rows, or one whose rows do not matter.
  ///
  /// - Returns: the rows inserted, deleted or *changed*: an UPDATE that sets what is there already
  ///   affects 0; ON DUPLICATE KEY UPDATE counts 1 for inserted, 2 for changed, 0 for neither.
  package func execute(
    _ sql: StaticString, _ parameters: [Parameter] = []
  ) throws(DatabaseError) -> Int {
    do throws(DatabaseError) {
      let statement = try statement(sql)
      try statement.execute(parameters)
      guard statement.hasRows else { return statement.affectedRows }
      var count = 0
      while try statement.next() { count += 1 }
      return count
    } catch {
      throw noted(error)
    }
  }

  /// The first row of a result, decoded; nil if there is none. The rest is read and dropped.
  package func row<T>(
    _ sql: StaticString, _ parameters: [Parameter] = [],
    _ decode: (borrowing Row) throws(DatabaseError) -> T
  ) throws(DatabaseError) -> T? {
    do throws(DatabaseError) {
      let statement = try statement(sql)
      try statement.execute(parameters)
      guard try statement.next() else { return nil }
      let value = try statement.decode(decode)
      while try statement.next() {}
      return value
    } catch {
      throw noted(error)
    }
  }

  /// The row that this transaction has written or read before.
  ///
  /// - Throws: an error that makes the transaction run again, if there is no such row. That happens
  ///   only to an attempt that has prepared a statement and whose transaction was lost; see
  ///   ``Pool/transaction(isolation:_:)``.
  package func knownRow<T>(
    _ sql: StaticString, _ parameters: [Parameter] = [],
    _ decode: (borrowing Row) throws(DatabaseError) -> T
  ) throws(DatabaseError) -> T {
    guard let value = try row(sql, parameters, decode) else {
      throw noted(DatabaseError(.recordChanged, .executing, sql: sql))
    }
    return value
  }

  /// All rows of a result, decoded.
  package func rows<T>(
    _ sql: StaticString, _ parameters: [Parameter] = [],
    _ decode: (borrowing Row) throws(DatabaseError) -> T
  ) throws(DatabaseError) -> [T] {
    do throws(DatabaseError) {
      let statement = try statement(sql)
      try statement.execute(parameters)
      var values: [T] = []
      while try statement.next() { values.append(try statement.decode(decode)) }
      return values
    } catch {
      throw noted(error)
    }
  }

  /// Lets the server check that it can execute `sql`, and keeps the prepared statement.
  package func prepare(_ sql: StaticString) throws(DatabaseError) {
    do throws(DatabaseError) { _ = try statement(sql) } catch { throw noted(error) }
  }

  /// Executes `sql` unprepared: statements that begin or end transactions should not take up the
  /// server's 16,382 prepared statements.
  func run(_ sql: StaticString) throws(DatabaseError) {
    do throws(DatabaseError) {
      try session.query(sql)
    } catch {
      throw noted(error)
    }
  }

  /// Forgets the error of the last attempt.
  func begin() { abortion = nil }

  /// Prevents further use of the connection: its server cannot do the work.
  func retire() { isBroken = true }

  /// Whether the server has closed this idle connection.
  var isClosedByServer: Bool { session.hasInput }

  private func statement(_ sql: StaticString) throws(DatabaseError) -> Statement {
    if let pending { try start(pending.isolation, with: sql, pending.learned) }
    if current == nil { try setAutocommit(true) }
    return try prepared(sql)
  }

  private func prepared(_ sql: StaticString) throws(DatabaseError) -> Statement {
    if let statement = statements[sql.utf8Start] { return statement }
    let statement = current == nil ? try prepareOutside(sql) : try prepareInside(sql)
    statements[sql.utf8Start] = statement
    return statement
  }

  private func noted(_ error: DatabaseError) -> DatabaseError {
    if error.breaksConnection { isBroken = true }
    if error.isRetryable || error.breaksConnection { abortion = error }
    return error
  }
}

extension Connection {
  /// Defers the start of the transaction until the first statement, so that this statement, and
  /// those known to follow it, are prepared before.
  func startTransaction(_ isolation: Isolation, _ learned: LearnedStatements) {
    pending = (isolation, learned)
  }

  /// Ends the transaction with `sql`, if it has begun.
  func end(_ sql: StaticString) throws(DatabaseError) {
    defer { (pending, current) = (nil, nil) }
    if pending == nil { try run(sql) }
    hasPrepared = false
  }

  /// Rolls back. If that fails, the connection can only be closed, which also rolls back.
  func rollBack() throws(DatabaseError) {
    do throws(DatabaseError) { try end("ROLLBACK") } catch {
      retire()
      throw error
    }
  }

  private func start(
    _ isolation: Isolation, with first: StaticString, _ learned: LearnedStatements
  ) throws(DatabaseError) {
    _ = try prepared(first)
    let count = learnedCounts[first.utf8Start] ?? 0
    let new = learned.after(first, from: count)
    for sql in new {
      // Skips statements that this account may not execute.
      do throws(DatabaseError) { _ = try prepared(sql) } catch  where !isBroken {}
    }
    if !new.isEmpty { learnedCounts[first.utf8Start] = count + new.count }
    try setAutocommit(false)
    if isolation == .readCommitted {
      try run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    }
    (pending, current) = (nil, (first, learned))
  }

  private func prepareOutside(_ sql: StaticString) throws(DatabaseError) -> Statement {
    try setAutocommit(true)
    return try Statement(session, sql)
  }

  /// Prepares `sql` in a transaction, which must not be committed then.
  ///
  /// If another Galera node aborts the transaction meanwhile, MariaDB rolls it back without an
  /// error. Because autocommit is off, ROLLBACK also undoes the statements that follow.
  private func prepareInside(_ sql: StaticString) throws(DatabaseError) -> Statement {
    hasPrepared = true
    do throws(DatabaseError) {
      let statement = try Statement(session, sql)
      if let current { current.learned.add(sql, after: current.first) }
      return statement
    } catch {
      abortion = error
      throw error
    }
  }

  /// If it fails, the connection can only be closed: it is unknown whether autocommit is on. It is
  /// certain that nothing else was executed.
  private func setAutocommit(_ isOn: Bool) throws(DatabaseError) {
    guard isOn != hasAutocommit else { return }
    do throws(DatabaseError) {
      try run(isOn ? "SET autocommit = 1" : "SET autocommit = 0")
      hasAutocommit = isOn
    } catch {
      retire()
      throw error.ofPreparing
    }
  }
}

extension Statement {
  /// Decodes the current row; if `decode` throws, discards the other rows.
  fileprivate func decode<T>(
    _ decode: (borrowing Row) throws(DatabaseError) -> T
  ) throws(DatabaseError) -> T {
    do throws(DatabaseError) {
      return try decode(row)
    } catch {
      discardRows()
      throw error
    }
  }
}

import Synchronization

/// One connection to MariaDB, with the statements prepared on it. Used by one thread at a time.
///
/// Its session keeps UTC, utf8mb4 and strict mode, waits at most 3 s for a lock, and commits each statement
/// by itself outside of ``Pool/transaction(_:)``.
package final class Connection {
  /// By the address of the statement's text: a `StaticString` has one for the life of the process.
  private var statements: [UnsafePointer<UInt8>: Statement] = [:]
  /// Declared after the statements, so that it is closed after them.
  private let session: Session
  /// The error after which a transaction cannot be committed, whether or not the body let it pass.
  private(set) var abortion: DatabaseError?
  /// The transaction that begins with the next statement; nil where none does.
  private var pending: Isolation?
  /// The first statement of the transaction.
  private var first: StaticString?
  /// What was prepared since the transaction began.
  private var preparedInside: [StaticString] = []
  /// Whether the connection can only be closed.
  private(set) var isBroken = false
  /// nil where it goes through a unix socket.
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

  /// Has the server look whether it could execute `sql`, and keeps the prepared statement.
  package func prepare(_ sql: StaticString) throws(DatabaseError) {
    do throws(DatabaseError) { _ = try statement(sql) } catch { throw noted(error) }
  }

  /// Executes `sql` unprepared: what begins and ends transactions is not worth one of the server's 16,382
  /// prepared statements.
  func run(_ sql: StaticString) throws(DatabaseError) {
    do throws(DatabaseError) {
      try session.query(sql)
    } catch {
      throw noted(error)
    }
  }

  /// Forgets what the last attempt has left.
  func begin() {
    abortion = nil
    preparedInside = []
  }

  /// Lets nobody use the connection again: its server cannot do the work.
  func retire() { isBroken = true }

  /// Whether the server has closed this idle connection.
  var isClosedByServer: Bool { session.hasInput }

  private func statement(_ sql: StaticString) throws(DatabaseError) -> Statement {
    if let pending { try start(pending, with: sql) }
    if let statement = statements[sql.utf8Start] { return statement }
    let statement = try Statement(session, sql)
    statements[sql.utf8Start] = statement
    preparedInside.append(sql)
    return statement
  }

  private func noted(_ error: DatabaseError) -> DatabaseError {
    if error.breaksConnection { isBroken = true }
    if error.isRetryable || error.breaksConnection { abortion = error }
    return error
  }
}

extension Connection {
  /// Lets a transaction begin with the next statement: what it will need can be prepared before it then.
  func startTransaction(_ isolation: Isolation) { pending = isolation }

  /// Whether the transaction has prepared a statement.
  var hasPrepared: Bool { !preparedInside.isEmpty }

  /// Has later transactions that begin with the same statement prepare the same ones before they begin.
  func learn() {
    guard let first else { return }
    laterStatements.withLock { later in
      for sql in preparedInside { later[first.address, default: [:]][sql.address] = sql }
    }
  }

  /// Ends the transaction by `sql`, if it has begun.
  func end(_ sql: StaticString) throws(DatabaseError) {
    if pending == nil { try run(sql) }
    pending = nil
  }

  private func start(_ isolation: Isolation, with first: StaticString) throws(DatabaseError) {
    pending = nil
    self.first = first
    _ = try statement(first)
    for sql in laterStatements.withLock({ $0[first.address] ?? [:] }).values {
      // What this account may not execute, its transactions do not need.
      do throws(DatabaseError) { _ = try statement(sql) } catch  where !error.breaksConnection {}
    }
    if isolation == .readCommitted {
      try run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    }
    try run("START TRANSACTION")
    preparedInside = []
  }
}

/// What transactions have prepared after their first statement, by its address.
private let laterStatements = Mutex<[UInt: [UInt: StaticString]]>([:])

extension StaticString {
  fileprivate var address: UInt { UInt(bitPattern: utf8Start) }
}

extension Statement {
  /// `decode`s the current row; if that throws, leaves the rest unread.
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

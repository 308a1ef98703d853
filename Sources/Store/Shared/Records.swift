package import Base
import MariaDB

/// The database as one request or one pass uses it: at one instant, for one origin.
///
/// Each room extends this with the types that read and change its rows. Each of their methods is
/// one or more whole transactions.
package final class Records: Sendable {
  let database: Database
  package let now: Timestamp
  package let origin: Origin
  /// Whether each transaction is rolled back after all its work, so that the outcome is known and
  /// nothing is changed.
  package let isRehearsal: Bool

  init(database: Database, now: Timestamp, origin: Origin, isRehearsal: Bool) {
    self.database = database
    self.now = now
    self.origin = origin
    self.isRehearsal = isRehearsal
  }

  /// Not inlined: if Swift 6.3 inlines it, its optimizer fails on the noncopyable value.
  @inline(never)
  private func run<T>(
    _ body: (borrowing Transaction) throws -> T, on connection: Connection
  ) throws -> T {
    let transaction = Transaction(connection: connection, records: self)
    return try body(transaction)
  }

  /// Runs `body`, which only reads. Retries once if the connection is lost.
  func read<T>(_ body: (borrowing Transaction) throws -> T) throws -> T {
    try database.pool.read { connection in
      try run(body, on: connection)
    }
  }

  /// Runs `body`, which executes exactly one statement. Retries if the statement certainly was not
  /// executed.
  func write<T>(_ body: (borrowing Transaction) throws -> T) throws -> T {
    if isRehearsal { return try transaction(body) }
    return try noticingFullDisk {
      try database.pool.write { connection in try run(body, on: connection) }
    }
  }

  /// Runs `body` and commits; rolls back if it throws. `body` may run several times, so it must
  /// have no other effect.
  func transaction<T>(_ body: (borrowing Transaction) throws -> T) throws -> T {
    if isRehearsal { return try rehearse(body) }
    return try noticingFullDisk {
      try database.pool.transaction { connection in try run(body, on: connection) }
    }
  }

  /// Runs `body`, which writes. If the database has no room, records that in a row that needs none,
  /// for ``health()``: on a full disk, changes of existing rows are still written.
  private func noticingFullDisk<T>(_ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as DatabaseError where error.isStorageFull {
      // If that fails too, health() finds the problem itself.
      _ = try? database.pool.write { connection in
        try connection.execute(
          """
          UPDATE health SET full_at = UTC_TIMESTAMP(3)
          WHERE id = 1 AND full_at NOT BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 SECOND AND UTC_TIMESTAMP(3)
          """)
      }
      throw error
    }
  }

  private func rehearse<T>(_ body: (borrowing Transaction) throws -> T) throws -> T {
    var outcome: T?
    do {
      try database.pool.transaction { connection -> Void in
        outcome = try run(body, on: connection)
        throw RehearsalEnd()
      }
    } catch is RehearsalEnd {}
    return outcome!  // set before the end of the rehearsal
  }

  /// Runs `body`, which claims or deletes rows, and commits. Locks only the rows that it changes or reads FOR UPDATE, and
  /// not the gaps between them (READ COMMITTED).
  func lockingRows<T>(_ body: (borrowing Transaction) throws -> T) throws -> T {
    try database.pool.transaction(isolation: .readCommitted) { connection in
      try run(body, on: connection)
    }
  }

  /// Runs a transaction until it does not throw ``LostRace``.
  func repeatingLostRaces<T>(_ body: (borrowing Transaction) throws -> T) throws -> T {
    while true {
      do { return try transaction(body) } catch is LostRace { continue }
    }
  }

  /// Runs a transaction that may end with a "no" and then must write nothing.
  ///
  /// - Parameter body: throws ``RolledBack`` with the outcome to return after the rollback.
  func transaction<T: Sendable>(
    rollingBack type: T.Type, _ body: (borrowing Transaction) throws -> T
  ) throws -> T {
    do { return try transaction(body) } catch let end as RolledBack<T> { return end.outcome }
  }
}

/// Rolls a rehearsal back.
private struct RehearsalEnd: Error {}

/// Another transaction changed the row between our read and our conditional write: run again.
struct LostRace: Error {}

/// Rolls a transaction back and returns an outcome; see ``Records/transaction(rollingBack:_:)``.
struct RolledBack<Outcome: Sendable>: Error {
  let outcome: Outcome
}

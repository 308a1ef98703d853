import Foundation
import MariaDB
import Support
import Synchronization
import Testing

@Suite struct PoolTests {
  @Test func oneCallerAtATimeNeedsOneConnection() throws {
    try withPool { pool in
      let ids = try (0..<50).map { round in
        try round % 2 == 0
          ? pool.read { try $0.id() } : pool.transaction { try $0.id() }
      }
      #expect(Set(ids).count == 1)
    }
  }

  @Test func callersAtOneTimeHaveTheirOwnConnectionsAndKeepThem() throws {
    try withPool { pool in
      func pair() throws -> Set<Int64> {
        try pool.read { first in
          try [first.id(), pool.read { second in try second.id() }]
        }
      }
      let (once, again) = (try pair(), try pair())
      #expect(once.count == 2)
      #expect(once == again)
    }
  }

  @Test func aKilledConnectionIsReplacedForReadWriteAndTransaction() throws {
    try withPool { pool in
      try killConnection(of: pool)
      let count = try pool.read { try $0.row("SELECT COUNT(*) FROM t") { row in row.integer(0) } }
      #expect(count == 0)
      try killConnection(of: pool)
      _ = try pool.write { try $0.execute("INSERT INTO t VALUES (1, 1)") }
      try killConnection(of: pool)
      try pool.transaction { _ = try $0.execute("UPDATE t SET n = n + 1") }
      try pool.expect([2])
    }
  }

  @Test func allIdleConnectionsGoWhenOneWasLost() throws {
    try withPool { pool in
      let before = try pool.read { first in
        try pool.read { second in try [first.id(), second.id()] }
      }
      try killConnection(of: pool)
      let after = try pool.read { first in
        try pool.read { second in try [first.id(), second.id()] }
      }
      #expect(Set(before).isDisjoint(with: after))
    }
  }

  @Test func aConnectionThatWasInUseWhenAnotherWasLostIsNotTakenBack() throws {
    try withPool { pool in
      let old = try pool.read { first in
        try killConnection(of: pool)
        _ = try pool.read { second in try second.id() }
        return try first.id()
      }
      let kept = try pool.read { first in
        try pool.read { second in try [first.id(), second.id()] }
      }
      #expect(!kept.contains(old))
    }
  }

  @Test func aConnectionThatWasIdleTooLongIsReplaced() throws {
    try withPool { pool in
      let id = try pool.read { connection in
        _ = try connection.execute("SET wait_timeout = 1")
        return try connection.id()
      }
      awaitEnd(ofConnection: id)
      _ = try pool.write { try $0.execute("INSERT INTO t VALUES (1, 1)") }
      try pool.expect([1])
    }
  }

  @Test func anErrorOfTheBodyPassesAndRollsBack() throws {
    try withPool { pool in
      var calls = 0
      #expect(throws: Refusal.self) {
        try pool.transaction { connection in
          calls += 1
          _ = try connection.execute("INSERT INTO t VALUES (1, 1)")
          throw Refusal()
        }
      }
      #expect(calls == 1)
      try pool.expect([])
    }
  }

  @Test func aStatementThatFailsRollsBack() throws {
    try withPool { pool in
      let error = #expect(throws: DatabaseError.self) {
        try pool.transaction { connection in
          _ = try connection.execute("INSERT INTO t VALUES (1, 1)")
          _ = try connection.execute("INSERT INTO t VALUES (1, 2)")
        }
      }
      #expect(error?.code == .duplicateEntry)
      try pool.expect([])
    }
  }

  @Test func aDuplicateThatTheBodyExpectsDoesNotEndTheTransaction() throws {
    try withPool { pool in
      try pool.transaction { connection in
        _ = try connection.execute("INSERT INTO t VALUES (1, 1)")
        do throws(DatabaseError) {
          _ = try connection.execute("INSERT INTO t VALUES (1, 2)")
        } catch  where error.code == .duplicateEntry {
          _ = try connection.execute("INSERT INTO t VALUES (2, 2)")
        }
      }
      try pool.expect([1, 2])
    }
  }

  @Test func aTransactionThatPreparesAStatementIsNotCommittedButRunAgain() throws {
    try withDatabase(schema: table("n BIGINT")) { settings in
      func calls(_ pool: Pool, row: Int64) throws -> Int {
        // No other test uses these texts, because all pools of a process share the learned
        // statements.
        var calls = 0
        try pool.transaction { connection in
          calls += 1
          _ = try connection.execute("INSERT INTO t (id, n) VALUES (?, 0)", [.integer(row)])
          _ = try connection.execute("UPDATE t SET n = 1 WHERE id = ? AND n = 0", [.integer(row)])
        }
        return calls
      }
      let pool = Pool(settings)
      #expect(try calls(pool, row: 1) == 2)
      #expect(try calls(pool, row: 2) == 1, "all is prepared")
      #expect(try calls(Pool(settings), row: 3) == 1, "it knows what to prepare before")
      try pool.expect([1, 1, 1])
    }
  }

  @Test func aTransactionWithoutAStatementDoesNothing() throws {
    try withPool { pool in
      #expect(try pool.transaction { _ in 7 } == 7)
      #expect(throws: Refusal.self) { try pool.transaction { _ in throw Refusal() } }
      _ = try pool.write { try $0.execute("INSERT INTO t VALUES (1, 1)") }
      try pool.expect([1])
    }
  }

  @Test(arguments: [false, true])
  func ofTwoDeadlockedTransactionsOneRunsAgain(whileTheBodyIgnoresErrors: Bool) throws {
    try withPool { pool in
      _ = try pool.write { try $0.execute("INSERT INTO t VALUES (1, 0), (2, 0)") }
      let calls = Atomic(0)
      let bothHaveOneRow = Meeting(of: 2)
      @Sendable func add(to rows: [Parameter], afterOne: () -> Void) throws {
        try pool.transaction { connection in
          calls.add(1, ordering: .relaxed)
          _ = try connection.execute("UPDATE t SET n = n + 1 WHERE id = ?", [rows[0]])
          afterOne()
          do {
            _ = try connection.execute("UPDATE t SET n = n + 1 WHERE id = ?", [rows[1]])
          } catch  where whileTheBodyIgnoresErrors {
          }
        }
      }
      // Both statements are known from here on, so a transaction prepares them before it begins.
      try add(to: [1, 2]) {}
      calls.store(0, ordering: .relaxed)
      try inParallel(2) { number in
        var isFirst = true
        try add(to: number == 0 ? [1, 2] : [2, 1]) {
          if isFirst { bothHaveOneRow.attend() }
          isFirst = false
        }
      }
      // The transaction that lost begins again.
      #expect(calls.load(ordering: .relaxed) == 3)
      try pool.expect([3, 3])
    }
  }

  @Test func aLockWaitRollsTheWholeBackAndRunsItAgain() throws {
    try withLockedRow { pool, holder in
      var calls = 0
      try pool.transaction { connection in
        calls += 1
        _ = try connection.execute("SET innodb_lock_wait_timeout = 1")
        _ = try connection.execute("INSERT INTO t VALUES (?, 0)", [.integer(Int64(calls) + 1)])
        if calls == 2 { _ = try holder.execute("SET autocommit = 1") }  // commits
        _ = try connection.execute("UPDATE t SET n = n + 1 WHERE id = 1")
      }
      #expect(calls == 2)
      try pool.expect([8, 0])
    }
  }

  @Test func aLockWaitIsTriedTwiceOnly() throws {
    try withLockedRow { pool, _ in
      var calls = 0
      let error = #expect(throws: DatabaseError.self) {
        try pool.transaction { connection in
          calls += 1
          _ = try connection.execute("SET innodb_lock_wait_timeout = 1")
          _ = try connection.execute("UPDATE t SET n = n + 1 WHERE id = 1")
        }
      }
      #expect(error?.code == .lockWaitTimeout)
      #expect(calls == 2)
    }
  }
}

/// Calls `body` with a pool on a database with the row (1, 1), and a connection that has locked the
/// row with (1, 7).
private func withLockedRow(_ body: (Pool, Connection) throws -> Void) throws {
  try withDatabase(schema: table("n BIGINT") + "; INSERT INTO t VALUES (1, 1)") { settings in
    let holder = try Connection(settings)
    _ = try holder.execute("SET autocommit = 0")
    _ = try holder.execute("UPDATE t SET n = 7 WHERE id = 1")
    try body(Pool(settings), holder)
  }
}

private struct Refusal: Error {}

extension Connection {
  func id() throws(DatabaseError) -> Int64 {
    try row("SELECT CONNECTION_ID()") { row in row.integer(0) }!
  }
}

extension Pool {
  /// Expects the numbers of the table of ``withPool(_:)``, by id.
  func expect(
    _ numbers: [Int64], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let held = try read {
      try $0.rows("SELECT n FROM t ORDER BY id") { row in row.integer(0) }
    }
    #expect(held == numbers, sourceLocation: sourceLocation)
  }
}

/// Calls `body` with a pool on a database with the table `t (id, n)`.
func withPool<T>(_ body: (Pool) throws -> T) throws -> T {
  try withDatabase(schema: table("n BIGINT")) { settings in try body(Pool(settings)) }
}

/// Kills the next connection that `pool` lends.
private func killConnection(of pool: Pool) throws {
  let id = try pool.read { try $0.id() }
  MariaDBServer.shared.run("KILL \(id)")
  awaitEnd(ofConnection: id)
}

/// Waits until `server` has closed the connection.
func awaitEnd(ofConnection id: Int64, of server: MariaDBServer = .shared) {
  let query = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = \(id)"
  wait(for: "the end of connection \(id)", pause: 0) { server.run(query) == "0\n" }
}

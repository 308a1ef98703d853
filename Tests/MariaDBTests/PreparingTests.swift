import MariaDB
import Support
import Testing

/// Transactions that prepare statements: such an attempt is never committed and leaves nothing
/// behind.
@Suite struct PreparingTests {
  @Test func anAttemptThatPreparesIsRolledBackAndRunAgain() throws {
    try withProxy { pool, proxy in
      try pool.insertTwo()
      #expect(
        proxy.commands == [
          .prepare(first), .query("SET autocommit = 0"), .execute(first),
          .prepare(second), .execute(second), .query("ROLLBACK"),
          .execute(first), .execute(second), .query("COMMIT"),
        ])
      try pool.expect([1, 2])
    }
  }

  @Test func aTransactionWhoseStatementsArePreparedTakesNoOtherCommands() throws {
    try withProxy { pool, proxy in
      try pool.insertTwo()
      proxy.forgetCommands()
      try pool.insertTwo(from: 3)
      #expect(
        proxy.commands == [.execute(first), .execute(second), .query("COMMIT")])
    }
  }

  @Test func aTransactionOfOneStatementPreparesItBefore() throws {
    try withProxy { pool, proxy in
      try pool.transaction { _ = try $0.execute("INSERT INTO t VALUES (?, 1)", [1]) }
      #expect(
        proxy.commands == [
          .prepare(first), .query("SET autocommit = 0"), .execute(first), .query("COMMIT"),
        ])
    }
  }

  @Test func aNewConnectionPreparesWhatAnEarlierTransactionNeeded() throws {
    try withProxy { pool, proxy in
      try pool.insertTwo()
      proxy.forgetCommands()
      try pool.read { _ in try pool.insertTwo(from: 3) }
      #expect(
        proxy.commands == [
          .prepare(first), .prepare(second), .query("SET autocommit = 0"), .execute(first),
          .execute(second), .query("COMMIT"),
        ])
    }
  }

  @Test(arguments: [false, true])
  func aTransactionThatIsLostInAPrepareLeavesNothing(whileTheBodyThrows: Bool) throws {
    try withProxy(faults: [(.prepare(second), .loseTransaction)]) { pool, proxy in
      var calls: Int64 = 0
      do {
        try pool.transaction { connection in
          calls += 1
          try connection.insertTwo(from: 10 * calls)
          if whileTheBodyThrows { throw Refusal() }
        }
      } catch is Refusal {}
      #expect(calls == 2)
      #expect(proxy.hasFailed)
      let ids = try pool.read { connection in
        try connection.rows("SELECT id FROM t ORDER BY id") { row in row.integer(0) }
      }
      #expect(ids == (whileTheBodyThrows ? [] : [20, 21]))
    }
  }

  /// Missing rows of a lost transaction must not become an answer or end the program.
  @Test func whatTheBodyMakesOfALostTransactionDoesNotCount() throws {
    try withProxy(faults: [(.prepare(selection), .loseTransaction)]) { pool, _ in
      let found = try pool.transaction { connection in
        _ = try connection.execute("INSERT INTO t VALUES (?, 1)", [1])
        guard try connection.number() != nil else { throw Refusal() }
        return 7
      }
      #expect(found == 7)
      try pool.expect([1])
    }
  }

  @Test func aKnownRowThatALostTransactionLacksIsReadAgain() throws {
    try withProxy(faults: [(.prepare(selection), .loseTransaction)]) { pool, proxy in
      let number = try pool.transaction { connection in
        _ = try connection.execute("INSERT INTO t VALUES (?, 1)", [1])
        return try connection.knownRow("SELECT n FROM t") { row in row.integer(0) }
      }
      #expect(number == 1)
      #expect(proxy.hasFailed)
      try pool.expect([1])
    }
  }

  @Test(
    arguments: ["SET autocommit = 0", "SET autocommit = 1", "ROLLBACK"],
    [.refuse(1213), .cutBefore, .cutAfter] as [MariaDBProxy.Action])
  func aConnectionOfWhichItIsUnknownWhetherItCommitsIsClosed(
    _ command: String, _ action: MariaDBProxy.Action
  ) throws {
    try withProxy(faults: [(.query(command), action)]) { pool, proxy in
      let before = try pool.read { try $0.id() }
      try pool.insertTwo()
      let after = try pool.read { connection in
        #expect(try connection.row("SELECT @@autocommit") { row in row.integer(0) } == 1)
        return try connection.id()
      }
      #expect(proxy.hasFailed)
      #expect(before != after)
      try pool.expect([1, 2])
    }
  }

  @Test func aRollbackThatFailsAfterAnErrorOfTheBodyClosesTheConnection() throws {
    try withProxy(faults: [(.query("ROLLBACK"), .refuse(1317))]) { pool, _ in
      let before = try pool.read { try $0.id() }
      #expect(throws: Refusal.self) {
        try pool.transaction { connection in
          _ = try connection.execute("INSERT INTO t VALUES (?, 1)", [1])
          throw Refusal()
        }
      }
      #expect(try pool.read { try $0.id() } != before)
      try pool.expect([])
    }
  }

  @Test(arguments: [1064, 1213] as [UInt16])
  func aStatementThatCannotBePreparedEndsItsTransactionWhateverTheBodyMakesOfIt(_ code: UInt16)
    throws
  {
    let refusals = Array(
      repeating: (MariaDBProxy.Command.prepare(second), MariaDBProxy.Action.refuse(code)), count: 9)
    try withProxy(faults: refusals) { pool, _ in
      let id = try pool.read { try $0.id() }
      let error = #expect(throws: DatabaseError.self) {
        try pool.transaction { connection in try? connection.insertTwo(from: 1) }
      }
      #expect(error?.code.rawValue == UInt32(code))
      #expect(error?.stage == .preparing)
      try pool.expect([])
      let after = try pool.read { connection in
        #expect(try connection.row("SELECT @@autocommit") { row in row.integer(0) } == 1)
        return try connection.id()
      }
      #expect(after == id)
    }
  }
}

private let first = "INSERT INTO t VALUES (?, 1)"
private let second = "INSERT INTO t VALUES (?, 2)"
private let selection = "SELECT n FROM t"

private struct Refusal: Error {}

extension Connection {
  fileprivate func insertTwo(from id: Int64) throws(DatabaseError) {
    _ = try execute("INSERT INTO t VALUES (?, 1)", [.integer(id)])
    _ = try execute("INSERT INTO t VALUES (?, 2)", [.integer(id + 1)])
  }

  fileprivate func number() throws(DatabaseError) -> Int64? {
    try row("SELECT n FROM t") { row in row.integer(0) }
  }
}

extension Pool {
  fileprivate func insertTwo(from id: Int64 = 1) throws {
    try transaction { connection in try connection.insertTwo(from: id) }
  }
}

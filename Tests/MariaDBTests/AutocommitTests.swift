import MariaDB
import Support
import Testing

/// Connections whose autocommit stays off after a transaction.
@Suite struct AutocommitTests {
  private static let insertion = "INSERT INTO t VALUES (?, 1)"

  @Test func aStatementAfterATransactionCommitsByItself() throws {
    try withProxy { pool, proxy in
      try pool.transaction { try $0.insert(1) }
      proxy.forgetCommands()
      try pool.write { try $0.insert(2) }
      #expect(proxy.commands == [.query("SET autocommit = 1"), .execute(Self.insertion)])
      _ = try pool.read { try $0.execute("ROLLBACK") }
      try pool.expect([1, 1])
    }
  }

  /// The statement was not sent, so it is certain that it was not executed.
  @Test(arguments: [.cutBefore, .cutAfter, .refuse(1927)] as [MariaDBProxy.Action])
  func aStatementWhoseConnectionIsLostBeforeItIsRepeated(_ action: MariaDBProxy.Action) throws {
    try withProxy(faults: [(.query("SET autocommit = 1"), action)]) { pool, proxy in
      try pool.transaction { try $0.insert(1) }
      try pool.write { try $0.insert(2) }
      #expect(proxy.hasFailed)
      try pool.expect([1, 1])
    }
  }

  @Test func transactionsAndSingleStatementsEachFindAConnection() throws {
    try withProxy { pool, proxy in
      try pool.transaction { try $0.insert(1) }
      try pool.transaction { connection in
        try connection.insert(2)
        try pool.write { try $0.insert(3) }
      }
      proxy.forgetCommands()
      for id in [4, 6] as [Int64] {
        try pool.transaction { try $0.insert(id) }
        try pool.write { try $0.insert(id + 1) }
      }
      let insert = MariaDBProxy.Command.execute(Self.insertion)
      let commit = MariaDBProxy.Command.query("COMMIT")
      #expect(proxy.commands == [insert, commit, insert, insert, commit, insert])
    }
  }

  @Test(arguments: [.repeatableRead, .readCommitted] as [Isolation])
  func eachTransactionHasTheIsolationThatItAsksFor(_ isolation: Isolation) throws {
    try withProxy { pool, _ in
      let other = isolation == .readCommitted ? Isolation.repeatableRead : .readCommitted
      for round in 1...3 {
        _ = try pool.transaction(isolation: other) { try $0.count() }
        var id = Int64(10 * round)
        let seen = try pool.transaction(isolation: isolation) { connection in
          let before = try connection.count()
          id += 1
          try pool.write { try $0.insert(id) }
          return try connection.count() - before
        }
        #expect(seen == (isolation == .readCommitted ? 1 : 0))
      }
    }
  }

  @Test func aFirstStatementThatCannotBePreparedDoesNotEndTheTransaction() throws {
    struct Refusal: Error {}
    try withProxy { pool, _ in
      #expect(throws: Refusal.self) {
        try pool.transaction { connection in
          _ = try? connection.execute("DELETE FROM missing")
          try connection.insert(1)
          throw Refusal()
        }
      }
      try pool.expect([])
    }
  }
}

extension Connection {
  fileprivate func insert(_ id: Int64) throws(DatabaseError) {
    _ = try execute("INSERT INTO t VALUES (?, 1)", [.integer(id)])
  }

  fileprivate func count() throws(DatabaseError) -> Int64 {
    try row("SELECT COUNT(*) FROM t") { row in row.integer(0) }!
  }
}

import MariaDB
import Support
import Testing

@Suite struct StatementTests {
  @Test func affectedRowsAreChangedRows() throws {
    try withTable("n INT") { connection in
      let inserted = try connection.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
      let changed = try connection.execute("UPDATE t SET n = ? WHERE id < ?", [1, 3])
      let unchanged = try connection.execute("UPDATE t SET n = ? WHERE id = ?", [1, 1])
      let deleted = try connection.execute("DELETE FROM t WHERE n = ?", [1])
      #expect((inserted, changed, unchanged, deleted) == (3, 1, 0, 2))
    }
  }

  @Test func onDuplicateKeyUpdateTellsInsertedFromChangedFromSame() throws {
    try withTable("n INT") { connection in
      let affected = try [1, 2, 2].map { value in
        try connection.execute(
          "INSERT INTO t VALUES (1, ?) ON DUPLICATE KEY UPDATE n = VALUE(n)", [.integer(value)])
      }
      #expect(affected == [1, 2, 0])
    }
  }

  @Test func insertReturningReturnsWhatWasInserted() throws {
    try withTable("n INT DEFAULT 7") { connection in
      let first = try connection.row(
        "INSERT INTO t (id) VALUES (?) RETURNING id, n", [1]
      ) { row in [row.integer(0), row.integer(1)] }
      #expect(first == [1, 7])
      let both = try connection.rows(
        "INSERT INTO t (id) VALUES (?), (?) RETURNING id", [2, 3]
      ) { row in row.integer(0) }
      #expect(both == [2, 3])
      let dropped = try connection.execute("DELETE FROM t WHERE id > ? RETURNING n", [1])
      #expect(dropped == 2)
      let again = try connection.row("SELECT COUNT(*) FROM t") { row in row.integer(0) }
      #expect(again == 1)
    }
  }

  /// The rows arrive before the statement has committed.
  @Test func insertReturningThatFailsAfterARowIsAnError() throws {
    try withTable("n INT") { connection in
      #expect(throws: DatabaseError.self) {
        try connection.row(
          "INSERT INTO t VALUES (?, 1), (?, 2) RETURNING id", [1, 1]
        ) { row in row.integer(0) }
      }
      let count = try connection.row("SELECT COUNT(*) FROM t") { row in row.integer(0) }
      #expect(count == 0)
    }
  }

  @Test func aResultWithoutRowsIsNilOrEmpty() throws {
    try withTable("n INT") { connection in
      let row = try connection.row("SELECT n FROM t WHERE id = ?", [1]) { row in row.integer(0) }
      let rows = try connection.rows("SELECT n FROM t") { row in row.integer(0) }
      #expect(row == nil)
      #expect(rows == [])
    }
  }

  @Test func theFirstOfManyRowsLeavesTheConnectionUsable() throws {
    try withTable("n INT") { connection in
      let first = try connection.row("SELECT seq FROM seq_1_to_100000") { row in row.integer(0) }
      let next = try connection.row("SELECT 2") { row in row.integer(0) }
      #expect((first, next) == (1, 2))
    }
  }

  @Test func aRefusalToDecodeLeavesTheConnectionUsable() throws {
    try withTable("n INT") { connection in
      let refusal = Pool.refusal
      #expect(throws: DatabaseError.self) {
        try connection.rows("SELECT seq FROM seq_1_to_100000") { row throws(DatabaseError) in
          guard row.integer(0) < 10 else { throw refusal }
        }
      }
      let next = try connection.row("SELECT 2") { row in row.integer(0) }
      #expect(next == 2)
    }
  }

  @Test func aStatementIsPreparedOnce() throws {
    try withTable("n INT") { connection in
      for id in 1...20 {
        _ = try connection.execute("INSERT INTO t VALUES (?, ?)", [.integer(Int64(id)), nil])
      }
      let count = try connection.row(
        """
        SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS
        WHERE VARIABLE_NAME = 'COM_STMT_PREPARE'
        """
      ) { row in row.text(0) }
      #expect(count == "2")
    }
  }

  @Test func aStatementSurvivesAChangeOfItsTable() throws {
    try withTable("n INT") { connection in
      func read() throws(DatabaseError) -> Int64? {
        try connection.row("SELECT n FROM t WHERE id = ?", [1]) { row in row.integer(0) }
      }
      _ = try connection.execute("INSERT INTO t VALUES (1, 5)")
      let before = try read()
      _ = try connection.execute("ALTER TABLE t ADD COLUMN first INT FIRST, MODIFY n BIGINT")
      _ = try connection.execute("UPDATE t SET n = ?", [.integer(.max)])
      let after = try read()
      #expect((before, after) == (5, .max))
    }
  }

  @Test func aStatementThatTakesTooLongIsEndedByTheServer() throws {
    try withDatabase(schema: "") { settings in
      var settings = settings.patient
      let connection = try Connection(settings)
      _ = try connection.execute("SET max_statement_time = 0.1")
      let error = #expect(throws: DatabaseError.self) {
        try connection.execute("SELECT COUNT(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b")
      }
      #expect(error?.code == .statementTimeout)
      let next = try connection.row("SELECT 2") { row in row.integer(0) }
      #expect(next == 2)
      // The server's limit is the shorter one, so that the connection is not lost.
      settings.readTimeout = .seconds(5)
      let isShorter = try Connection(settings)
        .row("SELECT @@max_statement_time BETWEEN 1 AND 4.9") { row in row.integer(0) }
      #expect(isShorter == 1)
    }
  }

  @Test(
    arguments: [
      ("NULL", 1048),  // ER_BAD_NULL_ERROR
      ("'12345'", 1406),  // ER_DATA_TOO_LONG
      ("'no'", 4025),  // ER_CONSTRAINT_FAILED
    ])
  func aConstraintIsRefusedWithItsCode(_ value: String, _ code: UInt32) throws {
    let schema = "v VARCHAR(4) NOT NULL CHECK (v <> 'no')"
    try withTable(schema) { connection in
      let parameter = value == "NULL" ? Parameter.null : .text(String(value.dropFirst().dropLast()))
      let error = #expect(throws: DatabaseError.self) {
        try connection.execute("INSERT INTO t VALUES (1, ?)", [parameter])
      }
      #expect(error?.code.rawValue == code)
      #expect(error?.isConnectionLost == false && error?.isRetryable == false)
    }
  }

  @Test func anErrorNamesTheStatementAndNoValue() throws {
    try withTable("v VARCHAR(40) UNIQUE") { connection in
      let parameters = [1, "secret-4711"] as [Parameter]
      _ = try connection.execute("INSERT INTO t VALUES (?, ?)", parameters)
      let error = #expect(throws: DatabaseError.self) {
        try connection.execute(
          """
          INSERT INTO t
            VALUES (? + 1, ?)
          """, parameters)
      }
      #expect(error?.code == .duplicateEntry)
      #expect(error?.description == "MariaDB error 1062 in: INSERT INTO t VALUES (? + 1, ?)")
      var everything = ""
      dump(error, to: &everything)
      #expect(!everything.contains("4711"))
    }
  }

  @Test func anErrorOfPreparingSaysWhatIsWrong() throws {
    try withTable("n INT") { connection in
      let error = #expect(throws: DatabaseError.self) {
        try connection.execute("SELECT nonsense FROM t")
      }
      #expect(error?.description.contains("Unknown column 'nonsense'") == true)
    }
  }

  @Test func aParameterThatExceedsAPacketIsRefusedWithACertainOutcome() throws {
    try withDatabase(schema: table("v LONGBLOB")) { settings in
      let pool = Pool(settings)
      let error = #expect(throws: DatabaseError.self) {
        try pool.write {
          try $0.execute(
            "INSERT INTO t VALUES (1, ?)", [.bytes(.init(repeating: 0, count: 17_000_000))])
        }
      }
      #expect(error?.isOutcomeUnknown == false)
      #expect(error?.isUnreachable == false)
      let count = try pool.read {
        try $0.row("SELECT COUNT(*) FROM t") { row in row.integer(0) }
      }
      #expect(count == 0)
    }
  }

  @Test func settingsDoNotShowThePassword() {
    let settings = ConnectionSettings(
      hosts: [.init("db.example")], database: "d", user: "u", password: "hunter2")
    var dumped = ""
    dump(settings, to: &dumped)
    for text in ["\(settings)", String(reflecting: settings), dumped, "\([settings])"] {
      #expect(text.contains("db.example"))
      #expect(!text.contains("hunter2"))
    }
  }

  @Test func aWrongPasswordIsNoReasonToWait() throws {
    try withDatabase(schema: "") { settings in
      let user = "u_\(settings.database)"
      MariaDBServer.shared.run("CREATE USER \(user) IDENTIFIED BY 'right'")
      defer { MariaDBServer.shared.run("DROP USER \(user)") }
      var settings = settings
      settings.user = user
      settings.password = "wrong-4711"
      let refused = Pool(settings) {
        Issue.record("waited")
        return true
      }
      let error = #expect(throws: DatabaseError.self) { try refused.read { _ in } }
      #expect(error?.code == .accessDenied)
      #expect(error?.description.contains("4711") == false)
      settings.password = "right"
      settings.database = "information_schema"
      let name = try Pool(settings).read { connection in
        try connection.row("SELECT CURRENT_USER()") { row in row.text(0) }
      }
      #expect(name == "\(user)@%")
    }
  }
}

extension Pool {
  /// An arbitrary error to throw.
  static var refusal: DatabaseError {
    let nowhere = ConnectionSettings(socket: "/nowhere", database: "", user: "")
    do throws(DatabaseError) {
      _ = try Connection(nowhere)
      fatalError("there is no server")
    } catch {
      return error
    }
  }
}

import MariaDB
import Testing

@testable import Store

/// Database errors after which the same request may succeed later.
@Suite struct AvailabilityTests {
  @Test func aTimeoutMeansUnavailable() throws {
    try withStore { store throws in
      var settings = store.root
      settings.readTimeout = .seconds(2)
      let error = #expect(throws: DatabaseError.self) {
        try Database(settings).pool.read { connection in
          try connection.execute("SELECT COUNT(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b")
        }
      }
      #expect(error.map { Database.isUnavailable($0) } == true)
    }
  }

  @Test func aFullTableMeansUnavailable() throws {
    try withStore { store throws in
      store.sql("CREATE TABLE memory (line CHAR(255)) ENGINE=MEMORY MAX_ROWS=1")
      let error = #expect(throws: DatabaseError.self) {
        try Database(store.root).pool.write { connection in
          try connection.execute(
            "INSERT INTO memory SELECT 'full' FROM seq_1_to_100000")
        }
      }
      #expect(error?.isStorageFull == true && error?.isReadOnly == false)
      #expect(error.map { Database.isUnavailable($0) } == true)
    }
  }

  @Test func aWrongStatementDoesNotMeanUnavailable() throws {
    try withStore { store throws in
      let error = #expect(throws: DatabaseError.self) {
        try store.database("responder").pool.read { connection in
          try connection.execute("SELECT nothing FROM accounts")
        }
      }
      #expect(error.map { Database.isUnavailable($0) } == false)
    }
  }
}

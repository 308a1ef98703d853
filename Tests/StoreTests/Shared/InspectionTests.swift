import MariaDB
import Testing

@testable import Store

/// What `switchboard-companion check` says of the database.
@Suite struct InspectionTests {
  private func faults(_ database: Database) throws -> [String] {
    try database.inspect().filter { !$0.isRight }.map(\.text)
  }

  @Test func aFreshDatabaseIsRight() throws {
    try withStore { store throws in
      let inspections = try store.database("companion").inspect()
      #expect(inspections.count == 4)
      #expect(try faults(store.database("companion")) == [])
    }
  }

  @Test func anOlderSchemaIsAFault() throws {
    try withStore { store throws in
      store.sql("UPDATE schema_version SET version = 0")
      #expect(
        try faults(store.database("companion"))
          == ["the schema's version is 0; \(Database.schemaVersion) or later is needed"])
    }
  }

  @Test func aSchemaWithoutItsVersionIsAFault() throws {
    try withStore { store throws in
      store.sql("DELETE FROM schema_version")
      #expect(try faults(store.database("companion")).count == 1)
    }
  }

  @Test func aNewerSchemaIsNone() throws {
    try withStore { store throws in
      store.sql("UPDATE schema_version SET version = \(Database.schemaVersion + 1)")
      #expect(try faults(store.database("companion")) == [])
    }
  }

  @Test(arguments: [
    "CREATE TABLE own (id INT) ENGINE=InnoDB", "CREATE TABLE own (id INT PRIMARY KEY) ENGINE=Aria",
    "CREATE TABLE own (id INT PRIMARY KEY) ENGINE=MyISAM",
    "CREATE TABLE own (id INT, UNIQUE KEY (id)) ENGINE=InnoDB",
  ])
  func aTableThatNoClusterCanKeepIsAFault(table: String) throws {
    try withStore { store throws in
      store.sql("\(table); GRANT SELECT ON own TO switchboard_companion")
      #expect(
        try faults(store.database("companion"))
          == ["not InnoDB, or without a primary key: own"])
    }
  }

  /// The companion's rights do not reach the responder's tables, but a cluster needs those as well.
  @Test func aTableOfTheRespondersThatNoClusterCanKeepIsAFault() throws {
    try withStore { store throws in
      store.sql("ALTER TABLE models DROP PRIMARY KEY")
      #expect(
        try faults(store.database("companion"))
          == ["not InnoDB, or without a primary key: models"])
    }
  }

  @Test(arguments: ["GRANT SELECT ON accounts", "GRANT SELECT (email) ON accounts"])
  func anAccountWithMoreRightsThanTheCompanionsIsAFault(grant: String) throws {
    try withStore { store throws in
      store.sql("\(grant) TO switchboard_companion")
      let fault = "the database account may read accounts: give it its own role only"
      #expect(try faults(store.database("companion")) == [fault])
      #expect(try faults(Database(store.root)) == [fault])
    }
  }

  @Test func withoutASchemaNothingIsSaidToBeRight() throws {
    try withStore { store throws in
      let database = store.database("companion")
      store.sql("DROP TABLE schema_version")
      #expect(throws: DatabaseError.self) { try database.inspect() }
    }
  }
}

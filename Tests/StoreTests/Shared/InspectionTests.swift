import Foundation
import MariaDB
import Support
import Testing

@testable import Store

/// The database part of `switchboard-companion check`.
@Suite struct InspectionTests {
  private func faults(_ database: Database) throws -> [String] {
    try database.inspect().filter { !$0.isRight }.map(\.text)
  }

  @Test func aFreshDatabaseIsRight() throws {
    try withStore { store throws in
      let inspections = try store.database("companion").inspect()
      #expect(inspections.count == 7)
      #expect(try faults(store.database("companion")) == [])
    }
  }

  @Test func anOlderSchemaIsAFault() throws {
    try withStore { store throws in
      store.sql("UPDATE schema_version SET version = 0")
      #expect(
        try faults(store.database("companion")) == [
          "The schema has version 0, this program needs version \(Database.schemaVersion): apply the "
            + "schema.sql of this release (switchboard setup), then start the program again."
        ])
    }
  }

  @Test func aSchemaWithoutItsVersionIsAFault() throws {
    try withStore { store throws in
      store.sql("DELETE FROM schema_version")
      #expect(try faults(store.database("companion")).count == 1)
    }
  }

  @Test func aNewerSchemaIsAFault() throws {
    try withStore { store throws in
      let newer = Database.schemaVersion + 1
      store.sql("UPDATE schema_version SET version = \(newer)")
      #expect(
        try faults(store.database("companion")) == [
          "The schema has version \(newer), this program needs version \(Database.schemaVersion): "
            + "install the programs of the release that this schema belongs to."
        ])
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

  /// The companion cannot access the responder's tables, but a cluster needs them too.
  @Test func aTableOfTheRespondersThatNoClusterCanKeepIsAFault() throws {
    try withStore { store throws in
      store.sql("ALTER TABLE models DROP PRIMARY KEY")
      #expect(
        try faults(store.database("companion"))
          == [
            "not InnoDB, or without a primary key: models",
            "columns or indexes are not as schema.sql made them: models",
          ])
    }
  }

  @Test(arguments: [
    "ALTER TABLE devices MODIFY name VARCHAR(100) NOT NULL",
    "ALTER TABLE devices DROP KEY devices_client",
    "ALTER TABLE devices ADD own INT",
    "DROP TABLE audit_log; CREATE TABLE audit_log (id INT PRIMARY KEY)",
  ])
  func aTableThatSomebodyChangedIsAFaultAlsoAfterTheSchemaIsAppliedAgain(change: String) throws {
    try withStore { store throws in
      store.sql("SET foreign_key_checks = 0; \(change)")
      let table = change.contains("audit_log") ? "audit_log" : "devices"
      let fault = "columns or indexes are not as schema.sql made them: \(table)"
      #expect(try faults(store.database("companion")).contains(fault))
      if table == "audit_log" { return }
      store.sql(schemaOfTests)
      #expect(try faults(store.database("companion")) == [fault])
    }
  }

  @Test func aStatementThatTheDatabaseRefusesIsAFault() throws {
    try withStore { store throws in
      store.sql("REVOKE DELETE ON jobs FROM switchboard_companion")
      let faults = try faults(store.database("companion"))
      #expect(faults.count == 1)
      #expect(
        faults.first?.hasPrefix("the database refuses 1 statements: MariaDB error 1142") == true)
    }
  }

  @Test(arguments: ["GRANT SELECT ON accounts", "GRANT SELECT (name) ON accounts"])
  func anAccountWithMoreRightsThanTheCompanionsIsAFault(grant: String) throws {
    try withStore { store throws in
      store.sql("\(grant) TO switchboard_companion")
      let fault =
        "the database account may read accounts: give it only its own role, or, if the host gives you only one "
        + "account, set SWITCHBOARD_DB_ROLES=one"
      #expect(try faults(store.database("companion")) == [fault])
      #expect(try faults(Database(store.root)) == [fault])
      let shared = try Database(store.root).inspect(isAccountShared: true)
      #expect(!shared.contains { !$0.isRight })
      #expect(shared.contains { $0.text.hasPrefix("one database account serves all programs") })
    }
  }

  @Test func aDatabaseWithoutASchemaIsAFault() throws {
    try withStore { store throws in
      let database = store.database("companion")
      store.sql("DROP TABLE schema_version")
      let fault = try #require(faults(database).first)
      #expect(fault.hasPrefix("The schema has version 0, "))
    }
  }
}

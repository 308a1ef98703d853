import Foundation
import MariaDB
import Support
import Testing

@testable import Store

/// The messages of an upgrade, the rows that it keeps, and its failures.
@Suite struct UpgradeStepTests {
  /// A site that has applied several schemas in turn.
  @Test(arguments: ReleasedSchema.earlier.dropLast())
  func aSchemaThatWasUpgradedBeforeIsUpgraded(schema: ReleasedSchema) throws {
    try withDatabase(schema: try schema.statements) { settings throws in
      let store = TestStore(root: settings)
      store.sql(try #require(ReleasedSchema.earlier.last).statements)
      store.sql(schemaOfTests)
      #expect(try store.structure() == ReleasedSchema.newestStructure.get())
    }
  }

  @Test func aChangedSchemaHasAnotherVersion() throws {
    #expect(ReleasedSchema.all.map(\.number) == Array(1...SchemaText.version))
    #expect(try ReleasedSchema.all.last?.text == SchemaText.all)
  }

  @Test func anUpgradeContinuesWhenATableIsFreeAgain() throws {
    try ReleasedSchema(number: 20).withRows { store, _ throws in
      let isInUse = DispatchSemaphore(value: 0)
      let outcomes = try inParallel(2) { number in
        if number == 0 {
          isInUse.wait()
          return store.applySchema().output
        }
        let connection = try Connection(store.root)
        _ = try connection.execute("SET autocommit = 0")
        _ = try connection.execute("SELECT COUNT(*) FROM audit_log")
        isInUse.signal()
        // One attempt waits for the table and fails when its connection ends.
        let waiting = """
          SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST
          WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table%'
          """
        var id = "0"
        while id == "0" { id = store.sql(waiting) }
        let attempt = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = \(id)"
        while store.sql(attempt) != "0" { usleep(10_000) }
        return ""
      }
      #expect(outcomes.joined().contains("A table is in use; trying again for a minute"))
      #expect(try store.structure() == ReleasedSchema.newestStructure.get())
    }
  }

  @Test func whatCannotBeDoneOnlineIsSaidBefore() throws {
    let copied = "rows of (\\w+) are copied to add a CHECK; writes to it wait"
    for (number, tables) in [
      (2, ["accounts", "banks", "cards", "device_registrations", "push_tokens"]),
      (12, ["banks", "cards", "ogs_registrations"]), (15, ["banks", "ogs_registrations"]),
      (16, ["ogs_registrations"]), (20, ["ogs_registrations"]), (28, ["ogs_registrations"]),
    ] {
      try ReleasedSchema(number: number).withRows { store, _ throws in
        let lines = store.applySchema().output.split(separator: "\n")
        let found = number > 20 ? number : 1
        #expect(
          lines.first == "Upgrading the schema from version \(found) to \(SchemaText.version)")
        let named = try lines.compactMap {
          try Regex(copied).firstMatch(in: $0)?.output[1].substring.map(String.init)
        }
        #expect(named.sorted() == tables)
        #expect(lines.count == 1 + tables.count)
        #expect(store.applySchema().output == "")
      }
    }
  }

  @Test func theNewestHostOfATokenIsKept() throws {
    try withDatabase(schema: try ReleasedSchema(number: 20).text) { settings throws in
      let store = TestStore(root: settings)
      store.sql(
        """
        INSERT INTO ogs_users (id) VALUES (1), (2), (3);
        INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at, environment, topic) VALUES
          (1, REPEAT('a', 64), '2026-01-02', 'sandbox', 'app'),
          (2, REPEAT('a', 64), '2026-01-01', 'production', 'app'),
          (3, REPEAT('b', 64), '2026-01-01', NULL, NULL);
        """)
      store.sql(schemaOfTests)
      #expect(
        store.sql("SELECT LEFT(token, 1), topic, environment, learned_at FROM apns_hosts")
          == "a\tapp\tsandbox\t2026-01-02 00:00:00.000")
      #expect(
        store.column("SELECT CONCAT_WS(' ', ogs_user_id, environment) FROM notified_last").sorted()
          == ["1 sandbox", "2 sandbox", "3"])
    }
  }

  /// Responders of version 20 use the earlier name of the table of jobs.
  @Test func jobsHaveTheirEarlierName() throws {
    try withStore { store throws in
      let clients = UpgradeClients(of: store, tables: ["errands"])
      clients.awaitTenStatements()
      #expect(clients.stop().map(\.failures) == [[]])
      #expect(store.sql("SELECT COUNT(*) > 3 FROM jobs WHERE state = 'dead'") == "1")
    }
  }
}

import Foundation
import MariaDB
import Support
import Testing

@testable import Store

/// `schema.sql` makes of every released schema what it makes of an empty database.
@Suite(.serialized) struct UpgradeTests {
  /// What an upgrade has to come to, made once.
  private static let newest = Result { try withStore { try $0.structure() } }

  /// Rows of `deliveries` and `audit_log` in the newest of the released schemas, for a long run.
  private static let manyRows =
    ProcessInfo.processInfo.environment["SWITCHBOARD_UPGRADE_ROWS"].flatMap { Int($0) }

  /// Calls `body` with a database of `schema`, with the ``SampleRows``.
  private func withRows(
    of schema: ReleasedSchema, _ body: (TestStore, CommonRows) throws -> Void
  ) throws {
    try withStore { newest throws in
      newest.sql(SampleRows.statements)
      try withDatabase(schema: try schema.text) { settings throws in
        let store = TestStore(root: settings)
        let rows = CommonRows(of: newest, in: store)
        rows.insert()
        try body(store, rows)
      }
    }
  }

  @Test(arguments: ReleasedSchema.earlier)
  func everyReleasedSchemaIsUpgradedWhileClientsReadAndWrite(schema: ReleasedSchema) throws {
    try withRows(of: schema) { store, rows throws in
      let tables = store.columns().keys
      #expect(emptyTables(of: store, among: tables.sorted()) == [])
      let manyRows = schema.number == SchemaText.version - 1 ? Self.manyRows : nil
      fillLargeTables(of: store, rowCount: manyRows ?? 100)
      let secrets = tables.contains("pairing_server") ? pairingServer(store) : nil

      let clients = UpgradeClients(of: store)
      clients.awaitTenStatements()
      let begin = ContinuousClock.now
      let outcome = store.applySchema()
      let duration = ContinuousClock.now - begin
      clients.awaitTenStatements()
      let records = clients.stop()
      for record in records {
        #expect(record.failures == [])
        #expect(record.slowest < .seconds(3))
      }
      if let manyRows {
        let (count, slowest) = (records.map(\.count).reduce(0, +), records.map(\.slowest).max()!)
        print(
          "\(manyRows) rows: upgraded in \(duration), with \(count) statements, the slowest \(slowest)"
        )
      }

      #expect(outcome.status == 0, "\(outcome.output)")
      #expect(outcome.output.hasPrefix("Upgrading the schema from version 1 to"))
      #expect(try store.structure() == Self.newest.get())
      #expect(rows.lost() == [])
      if let secrets { #expect(pairingServer(store) == secrets) }
      #expect(store.sql("SELECT version FROM schema_version") == "\(SchemaText.version)")
      #expect(store.sql("SELECT COUNT(*) FROM delivery_leases WHERE channel = 'apns'") == "16")
    }
  }

  private func emptyTables(of store: TestStore, among tables: [String]) -> [String] {
    let queries = tables.map { "SELECT '\($0)' FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM \($0))" }
    return store.column(queries.joined(separator: " UNION ALL "))
  }

  private func pairingServer(_ store: TestStore) -> String {
    store.sql("SELECT session, server_id FROM pairing_server")
  }

  private func fillLargeTables(of store: TestStore, rowCount: Int) {
    store.sql(
      """
      INSERT INTO audit_log (at, event, account_id, request_id, address)
        SELECT NOW(3) - INTERVAL seq SECOND, 'refreshed', UUID(), 'r', '192.0.2.1'
        FROM seq_1_to_\(rowCount)
      """)
    guard store.columns()["deliveries"] != nil else { return }
    store.sql(
      """
      INSERT INTO deliveries (id, notification_id, token, shard, state, finished_at)
        SELECT UUID(), '\(SampleRows.notification)', SHA2(seq, 256), seq MOD 16,
          IF(seq MOD 100, 'delivered', 'open'), IF(seq MOD 100, NOW(3), NULL)
        FROM seq_1_to_\(rowCount)
      """)
  }

  /// A site that has applied schemas all along.
  @Test(arguments: ReleasedSchema.earlier.dropLast())
  func aSchemaThatWasUpgradedBeforeIsUpgraded(schema: ReleasedSchema) throws {
    try withDatabase(schema: try schema.text) { settings throws in
      let store = TestStore(root: settings)
      store.sql(try #require(ReleasedSchema.earlier.last).text)
      store.sql(SchemaText.all)
      #expect(try store.structure() == Self.newest.get())
    }
  }

  @Test func aChangedSchemaHasAnotherVersion() throws {
    #expect(ReleasedSchema.all.map(\.number) == Array(1...SchemaText.version))
    #expect(try ReleasedSchema.all.last?.text == SchemaText.all)
  }

  @Test func anUpgradeContinuesWhenATableIsFreeAgain() throws {
    try withRows(of: ReleasedSchema(number: 20)) { store, _ throws in
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
        // One attempt waits for the table, and gives up.
        let waiting = """
          SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST
          WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table%'
          """
        while store.sql(waiting) == "0" { usleep(10_000) }
        while store.sql(waiting) != "0" { usleep(10_000) }
        return ""
      }
      #expect(outcomes.joined().contains("A table is in use; trying again for a minute"))
      #expect(try store.structure() == Self.newest.get())
    }
  }

  @Test func whatCannotBeDoneOnlineIsSaidBefore() throws {
    let copied = "rows of (\\w+) are copied to add a CHECK; writes to it wait"
    for (number, tables) in [
      (2, ["accounts", "banks", "cards", "device_registrations", "push_tokens"]),
      (12, ["banks", "cards"]), (15, ["banks"]), (16, []), (20, []),
    ] {
      try withRows(of: ReleasedSchema(number: number)) { store, _ throws in
        let lines = store.applySchema().output.split(separator: "\n")
        #expect(lines.first == "Upgrading the schema from version 1 to \(SchemaText.version)")
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
      store.sql(SchemaText.all)
      #expect(
        store.sql("SELECT LEFT(token, 1), topic, environment, learned_at FROM apns_hosts")
          == "a\tapp\tsandbox\t2026-01-02 00:00:00.000")
      #expect(
        store.column("SELECT CONCAT_WS(' ', ogs_user_id, environment) FROM notified_last").sorted()
          == ["1 sandbox", "2 sandbox", "3"])
    }
  }

  /// Responders of version 20 know jobs by their earlier name.
  @Test func jobsHaveTheirEarlierName() throws {
    try withStore { store throws in
      let clients = UpgradeClients(of: store, tables: ["errands"])
      clients.awaitTenStatements()
      #expect(clients.stop().map(\.failures) == [[]])
      #expect(store.sql("SELECT COUNT(*) > 3 FROM jobs WHERE state = 'dead'") == "1")
    }
  }
}

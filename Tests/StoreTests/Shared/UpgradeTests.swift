import Foundation
import Support
import Testing

@testable import Store

/// `schema.sql` upgrades every released schema to the structure of a new database, while clients
/// read and write.
@Suite(.serialized) struct UpgradeTests {
  /// The number of rows of `deliveries` and `audit_log` in the newest released schema, for a long
  /// run.
  private static let manyRows =
    ProcessInfo.processInfo.environment["SWITCHBOARD_UPGRADE_ROWS"].flatMap { Int($0) }

  @Test(arguments: ReleasedSchema.earlier)
  func everyReleasedSchemaIsUpgradedWhileClientsReadAndWrite(schema: ReleasedSchema) throws {
    try schema.withRows { store, rows throws in
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
      // Before number 21 every schema had version 1.
      let version = schema.number < 21 ? 1 : schema.number
      #expect(outcome.output.hasPrefix("Upgrading the schema from version \(version) to"))
      #expect(try store.structure() == ReleasedSchema.newestStructure.get())
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
}

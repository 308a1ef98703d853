import Foundation
import MariaDB
import Support
import Testing

@testable import Store

/// `schema.sql` makes of a database of a released version what it makes of an empty one, while clients read and write.
/// The ``NextSchema`` stands for the version that is yet to come.
@Suite(.serialized) struct UpgradeTests {
  /// Rows of `deliveries` and `audit_log`. A long run has more.
  private static let largeCount =
    ProcessInfo.processInfo.environment["SWITCHBOARD_UPGRADE_ROWS"].flatMap { Int($0) } ?? 100

  @Test(arguments: ReleasedSchema.all)
  func everyReleasedSchemaIsUpgradedWhileClientsReadAndWrite(schema: ReleasedSchema) throws {
    try schema.withRows { store throws in
      fillLargeTables(of: store)
      let columns = store.sampleColumns()
      let before = store.sampleRows(of: columns)

      // Only a long run measures: on a busy machine, a statement may take long.
      let limit = Duration.seconds(Self.largeCount > 100 ? 5 : 86_400)
      let clients = UpgradeClients(of: store, answeredWithin: limit)
      clients.awaitTenStatements()
      let begin = ContinuousClock.now
      let outcome = store.applySchema(NextSchema.text)
      let duration = ContinuousClock.now - begin
      clients.awaitTenStatements()
      let records = clients.stop()
      for record in records { #expect(record.failures == []) }
      let (count, slowest) = (records.map(\.count).reduce(0, +), records.map(\.slowest).max()!)
      print("upgraded in \(duration), with \(count) statements, the slowest \(slowest)")

      #expect(outcome.status == 0, "\(outcome.output)")
      #expect(try store.structure() == NextSchema.structure.get())
      #expect(before.subtracting(store.sampleRows(of: columns)) == [])
      #expect(store.sql("SELECT version FROM schema_version") == "\(NextSchema.version)")
    }
  }

  private func fillLargeTables(of store: TestStore) {
    store.sql(
      """
      INSERT INTO audit_log (at, event, account_id, request_id, address)
        SELECT NOW(3) - INTERVAL seq SECOND, 'refreshed', UUID(), 'r', '192.0.2.1'
        FROM seq_1_to_\(Self.largeCount);
      INSERT INTO deliveries (id, notification_id, token, shard, state, finished_at)
        SELECT UUID(), '\(SampleRows.notification)', SHA2(seq, 256), seq MOD 16,
          IF(seq MOD 100, 'delivered', 'open'), IF(seq MOD 100, NOW(3), NULL)
        FROM seq_1_to_\(Self.largeCount)
      """)
  }

  @Test func confirmedPaymentsKeepTheNameOfTheirCard() throws {
    try ReleasedSchema(number: 1).withRows { store in
      store.sql("UPDATE payments SET confirmed_at = NOW(3), confirmed_by = 'passkey'")
      #expect(store.applySchema(SchemaText.all).status == 0)
      #expect(store.sql("SELECT card_token, approved_at = created_at FROM payments") == "card_a\t1")
    }
  }

  /// Of the inactive cards that were added before the proof of the address, only those with a payment stay.
  @Test func cardsOfAnEarlierPersonAreDeleted() throws {
    try ReleasedSchema(number: 1).withRows { store in
      store.sql(
        """
        UPDATE accounts SET email_verified_at = NOW(3);
        UPDATE cards SET active = FALSE, added_at = NOW(3) - INTERVAL 1 DAY;
        INSERT INTO cards (id, enrollment_id, last_four, card_type, active, added_at)
          VALUES (UUID(), '\(SampleRows.enrollment)', '1111', 'VISA', FALSE, NOW(3) - INTERVAL 1 DAY),
            (UUID(), '\(SampleRows.enrollment)', '2222', 'VISA', FALSE, NOW(3) + INTERVAL 1 DAY),
            (UUID(), '\(SampleRows.enrollment)', '3333', 'VISA', TRUE, NOW(3) - INTERVAL 1 DAY)
        """)
      #expect(store.applySchema(SchemaText.all).status == 0)
      let left = store.sql("SELECT GROUP_CONCAT(last_four ORDER BY last_four) FROM cards")
      #expect(left == "2222,3333,4242")
    }
  }

  @Test func aChangedSchemaHasAnotherVersion() throws {
    #expect(ReleasedSchema.all.map(\.number) == Array(1...SchemaText.version))
    #expect(try ReleasedSchema.all.last?.text == SchemaText.all)
  }

  @Test func anUpgradeSaysBeforehandWhatItCopies() throws {
    try ReleasedSchema(number: SchemaText.version).withRows { store throws in
      // On a busy machine, a table may be in use.
      let printed = store.applySchema(NextSchema.text).output
        .replacing("A table is in use; trying again for a minute\n", with: "")
      #expect(
        printed == """
          Upgrading the schema from version \(SchemaText.version) to \(NextSchema.version)
          Not online: about 1 rows of push_tokens are copied; writes to it wait

          """)
      #expect(store.applySchema(NextSchema.text).output == "")
    }
  }

  @Test func anUpgradeContinuesWhenATableIsFreeAgain() throws {
    try ReleasedSchema(number: SchemaText.version).withRows { store throws in
      let isInUse = DispatchSemaphore(value: 0)
      let outcomes = try inParallel(2) { number in
        if number == 0 {
          isInUse.wait()
          return store.applySchema(NextSchema.text).output
        }
        let connection = try Connection(store.root)
        _ = try connection.execute("SET autocommit = 0")
        _ = try connection.execute("SELECT COUNT(*) FROM audit_log")
        isInUse.signal()
        // One attempt waits for the table, and gives up: its connection ends.
        let waiting = """
          SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST
          WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table%'
          """
        var id = "0"
        wait(for: "an attempt that waits for the table") {
          id = store.sql(waiting)
          return id != "0"
        }
        let attempt = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = \(id)"
        wait(for: "the end of the attempt") { store.sql(attempt) == "0" }
        return ""
      }
      #expect(outcomes.joined().contains("A table is in use; trying again for a minute"))
      #expect(try store.structure() == NextSchema.structure.get())
    }
  }
}

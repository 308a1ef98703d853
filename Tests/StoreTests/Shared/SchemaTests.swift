import Foundation
import Support
import Testing

@testable import Store

@Suite struct SchemaTests {
  /// The whole database as SQL, including the data.
  private func dump(_ store: TestStore) throws -> String {
    let outcome = runProgram(
      "mariadb-dump",
      [
        "--no-defaults", "--socket=\(store.root.socket!)", "--user=root", "--skip-dump-date",
        "--routines", "--triggers", "--order-by-primary", store.root.database,
      ])
    try #require(outcome.status == 0, "\(outcome.output)")
    return outcome.output
  }

  @Test func applyingTheSchemaAgainChangesNothing() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      let before = try dump(store)
      #expect(before.contains("ann@example.org"))
      for _ in 0..<2 { store.sql(schemaOfTests) }
      #expect(try dump(store) == before)
    }
  }

  @Test func applyingTheSchemaAgainAltersNoTable() throws {
    try withStore { store throws in
      let alterations = """
        SHOW SESSION STATUS WHERE Variable_name REGEXP '^Com_(alter|rename|drop|revoke)' AND Value > 0;
        """
      #expect(store.sql(schemaOfTests + alterations) == "")
    }
  }

  @Test func applyingTheSchemaAgainKeepsWhatAdministratorsChanged() throws {
    try withStore { store throws in
      store.sql(
        """
        DELETE FROM models WHERE name = 'gpt-4o'; UPDATE models SET position = 90 WHERE name = 'mistral-nemo';
        INSERT INTO models (name, position) VALUES ('own-model', 5);
        """)
      let models = store.sql("SELECT * FROM models")
      store.sql(schemaOfTests)
      #expect(store.sql("SELECT * FROM models") == models)
      store.sql("DELETE FROM models")
      store.sql(schemaOfTests)
      #expect(store.sql("SELECT COUNT(*) FROM models") == "0")
    }
  }

  @Test func theVersionIsTheOneOfThePrograms() throws {
    try withStore { store throws in
      #expect(SchemaText.version == Int(Database.schemaVersion))
      #expect(store.sql("SELECT version FROM schema_version") == "\(SchemaText.version)")
    }
  }

  @Test func aServerThatIsNotMariaDBIsRefusedByName() {
    let server = MariaDBServer(options: ["--version=8.0.36"])
    defer { server.kill() }
    let refusal = TestStore(root: server.settings(database: "mysql")).applySchema()
    #expect(refusal.status == 1)
    #expect(refusal.output.contains("not MariaDB but MySQL, or one that calls itself 8.0.36"))
  }

  @Test func anOlderSchemaIsRefusedByANewerDatabase() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      store.sql("UPDATE schema_version SET version = 99; DROP VIEW companions")
      let before = try dump(store)
      let refusal = store.applySchema()
      #expect(refusal.status == 1)
      #expect(
        refusal.output.contains(
          "the database has schema version 99 and this schema.sql is version \(SchemaText.version): "
            + "nothing was changed; apply the schema.sql of version 99 or later"))
      #expect(try dump(store) == before)
    }
  }

  @Test func everyTableIsInnoDBWithAPrimaryKey() throws {
    try withStore { store throws in
      let tables = store.column(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'"
      )
      #expect(Set(tables) == Set(SchemaText.tables))
      let good = store.column(
        """
        SELECT t.TABLE_NAME FROM information_schema.TABLES t
        JOIN information_schema.TABLE_CONSTRAINTS c USING (TABLE_SCHEMA, TABLE_NAME)
        WHERE t.TABLE_SCHEMA = DATABASE() AND t.ENGINE = 'InnoDB' AND c.CONSTRAINT_TYPE = 'PRIMARY KEY'
        """)
      #expect(Set(tables) == Set(good))
    }
  }

  @Test func everyTextComparesByteByByteAndIsUTF8() throws {
    try withStore { store throws in
      #expect(
        store.column(
          """
          SELECT DISTINCT c.COLLATION_NAME FROM information_schema.COLUMNS c
          JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
          WHERE c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' AND c.COLLATION_NAME IS NOT NULL
          """) == ["utf8mb4_nopad_bin"])
    }
  }

  @Test func everyTimeAndSizeSaysItsUnit() throws {
    try withStore { store throws in
      let columns = """
        FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
        WHERE c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE'
        """
      let name = "SELECT CONCAT(c.TABLE_NAME, '.', c.COLUMN_NAME) "
      let times = "AND c.DATA_TYPE IN ('datetime', 'timestamp', 'date', 'time')"
      let instants = SchemaText.columns.count { $0.1.contains(" DATETIME(3) ") }
      #expect(store.column(name + columns + times).count == instants)
      #expect(
        store.column(name + columns + times + " AND c.COLUMN_COMMENT NOT LIKE 'UTC%'") == [])
      #expect(
        store.column(name + columns + times + " AND c.COLUMN_TYPE <> 'datetime(3)'") == [])
      let sizes =
        "AND c.COLUMN_NAME REGEXP '(^|_)(mb|kb|bytes|size|seconds|minutes|days|ms|amount)$'"
      let sized = SchemaText.columns.count {
        $0.0.contains(#/(^|_)(mb|kb|bytes|size|seconds|minutes|days|ms|amount)$/#)
      }
      #expect(store.column(name + columns + sizes).count == sized)
      #expect(store.column(name + columns + sizes + " AND c.COLUMN_COMMENT = ''") == [])
    }
  }

  @Test func allThatBelongsToAnAccountGoesWithIt() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      store.sql("DELETE FROM accounts")
      for table in [
        "devices", "device_preferences", "push_tokens", "sessions", "biometric_keys", "cards",
        "enrollments", "enrollment_states",
        "passkeys", "passkey_challenges",
        "attestation_keys",
      ] {
        #expect(store.sql("SELECT COUNT(*) FROM \(table)") == "0", "\(table)")
      }
      // The audit log stays.
      #expect(store.sql("SELECT COUNT(*) FROM audit_log") == "1")
    }
  }
}

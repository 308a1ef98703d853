import Support
import Testing

/// The views of the schema itself, by which `switchboard check` finds tables that somebody has changed.
@Suite struct SchemaViewTests {
  private func checksums(_ store: TestStore) -> [String: String] {
    let lines = store.sql("SELECT name, checksum FROM table_checksums").split(separator: "\n")
    return Dictionary(
      uniqueKeysWithValues: lines.map { line in
        let parts = line.split(separator: "\t").map(String.init)
        return (parts[0], parts[1])
      })
  }

  /// Calls `body` with a second database, in which `statements` have made tables.
  private func withOther(
    _ store: TestStore, _ statements: String, _ body: () throws -> Void
  ) rethrows {
    let other = "\(store.root.database)_other"
    store.sql("CREATE DATABASE \(other); USE \(other); \(statements)")
    defer { store.sql("DROP DATABASE \(other)") }
    try body()
  }

  @Test(arguments: [
    "MODIFY b VARCHAR(21) NOT NULL COLLATE utf8mb4_general_ci",
    "MODIFY b VARCHAR(20) NULL COLLATE utf8mb4_general_ci",
    "MODIFY b VARCHAR(20) NOT NULL COLLATE utf8mb4_bin",
    "CHANGE b c VARCHAR(20) NOT NULL COLLATE utf8mb4_general_ci", "ADD KEY more (b)",
    "DROP KEY two, ADD KEY two (b, a)",
    "DROP KEY two, ADD UNIQUE KEY two (a, b)", "DROP KEY two, ADD KEY three (a, b)",
    "DROP PRIMARY KEY",
  ])
  func aChangeOfATableChangesItsChecksumAndNoOther(change: String) throws {
    try withStore { store throws in
      store.sql(
        """
        CREATE TABLE own (a INT NOT NULL, b VARCHAR(20) NOT NULL COLLATE utf8mb4_general_ci, PRIMARY KEY (a), KEY two (a, b));
        """)
      let before = checksums(store)
      store.sql("ALTER TABLE own \(change)")
      let after = checksums(store)
      #expect(Set(after.keys) == Set(before.keys))
      #expect(after.keys.filter { after[$0] != before[$0] } == ["own"])
    }
  }

  @Test func tablesOfAnotherDatabaseAndViewsDoNotCount() throws {
    try withStore { store throws in
      store.sql("CREATE TABLE own (a INT NOT NULL PRIMARY KEY, b INT, c INT)")
      let before = checksums(store)
      try withOther(
        store,
        """
        CREATE TABLE own (z INT NOT NULL, b INT, KEY other (b)) ENGINE=MyISAM; CREATE TABLE foreign_one (a INT);
        CREATE VIEW accounts AS SELECT 1 AS email
        """
      ) { () throws in
        store.sql("CREATE VIEW sight AS SELECT 1 AS a")
        #expect(checksums(store) == before)
        let names = store.column("SELECT name FROM table_sizes")
        #expect(names.sorted() == before.keys.sorted())
        #expect(
          try store.records("companion").measurements.tableSizes().map(\.table)
            == store.column("SELECT name FROM table_sizes ORDER BY name"))
        #expect(store.sql("SELECT * FROM tables_unfit_for_a_cluster") == "")
      }
    }
  }

  /// Another database has the same names with other engines and keys.
  @Test func tablesThatNoClusterCanKeepAreShownOnce() throws {
    try withStore { store throws in
      store.sql(
        """
        CREATE TABLE own1 (a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b), KEY (b)) ENGINE=MyISAM;
        CREATE TABLE own2 (a INT NOT NULL, UNIQUE KEY (a)) ENGINE=InnoDB;
        CREATE TABLE own3 (a INT) ENGINE=MyISAM;
        CREATE TABLE own4 (a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b), KEY (b)) ENGINE=InnoDB;
        CREATE VIEW own5 AS SELECT 1 AS a;
        """)
      withOther(store, "CREATE TABLE own2 (a INT NOT NULL PRIMARY KEY); CREATE TABLE own4 (a INT)")
      {
        let names = store.column("SELECT name FROM tables_unfit_for_a_cluster ORDER BY name")
        #expect(names == ["own1", "own2", "own3"])
      }
    }
  }
}

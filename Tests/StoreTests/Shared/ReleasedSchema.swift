import Foundation
import Support
import Testing

/// A released schema: `Tests/Fixtures/schema/<number>.sql`.
struct ReleasedSchema: Sendable, CustomTestStringConvertible {
  private static let folder = projectSchema.deletingLastPathComponent()
    .appending(path: "Tests/Fixtures/schema")

  /// All released schemas, the oldest first.
  static let all = try! FileManager.default.contentsOfDirectory(atPath: folder.path())
    .compactMap { $0.hasSuffix(".sql") ? Int($0.dropLast(4)) : nil }
    .sorted().map { ReleasedSchema(number: $0) }

  /// The schemas that `schema.sql` must upgrade.
  static let earlier = all.filter { $0.number < SchemaText.version }

  let number: Int

  var testDescription: String { "\(number)" }

  var text: String {
    get throws {
      try String(contentsOf: Self.folder.appending(path: "\(number).sql"), encoding: .utf8)
    }
  }

  /// The schema's SQL, with the roles that all databases of the tests share.
  var statements: String { get throws { try commonRoles + text } }
}

extension ReleasedSchema {
  /// The structure that each upgrade must produce, computed once.
  static let newestStructure = Result { try withStore { try $0.structure() } }

  /// Calls `body` with a database of this schema that contains the ``SampleRows``.
  func withRows(_ body: (TestStore, CommonRows) throws -> Void) throws {
    try withStore { newest throws in
      newest.sql(SampleRows.statements)
      try withDatabase(schema: try statements) { settings throws in
        let store = TestStore(root: settings)
        let rows = CommonRows(of: newest, in: store)
        rows.insert()
        try body(store, rows)
      }
    }
  }
}

extension TestStore {
  /// Applies `schema.sql`, like administrators.
  func applySchema() -> (status: Int32, output: String) {
    let script = projectSchema.deletingLastPathComponent().appending(path: "nginx/apply-schema")
    return runProgram(
      script.path(),
      [
        "--no-defaults", "--socket=\(root.socket!)", "--user=root", "--init-command=\(commonRoles)",
        root.database,
      ])
  }

  /// The SQL of the database without its rows, and the rights of the three roles.
  func structure() throws -> String {
    let dump = runProgram(
      "mariadb-dump",
      [
        "--no-defaults", "--socket=\(root.socket!)", "--user=root", "--no-data", "--routines",
        "--triggers", "--events", "--skip-comments", root.database,
      ])
    try #require(dump.status == 0, "\(dump.output)")
    let rights = sql(
      """
      SELECT User, Table_name, Table_priv, Column_priv FROM mysql.tables_priv
        WHERE Db = DATABASE() ORDER BY User, Table_name;
      SELECT User, Table_name, Column_name, Column_priv FROM mysql.columns_priv
        WHERE Db = DATABASE() ORDER BY User, Table_name, Column_name;
      """)
    return dump.output.replacing(#/ AUTO_INCREMENT=\d+/#, with: "") + rights
  }

  /// The columns of each base table.
  func columns() -> [String: Set<String>] {
    let rows = column(
      """
      SELECT CONCAT(TABLE_NAME, ' ', COLUMN_NAME) FROM information_schema.COLUMNS
      JOIN information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME)
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
      """
    ).map { $0.split(separator: " ").map(String.init) }
    return Dictionary(grouping: rows, by: \.[0]).mapValues { Set($0.map { $0[1] }) }
  }
}

/// The part of the ``SampleRows`` that fits into a database of an earlier version.
struct CommonRows {
  private struct Table {
    let name: String
    let earlierName: String
    let columns: String
  }

  /// A current database with the ``SampleRows``.
  private let newest: TestStore
  private let earlier: TestStore
  private let tables: [Table]

  init(of newest: TestStore, in earlier: TestStore) {
    (self.newest, self.earlier) = (newest, earlier)
    let (today, before) = (newest.columns(), earlier.columns())
    tables = SampleRows.tables.compactMap { name in
      let earlierName = name == "jobs" && before["errands"] != nil ? "errands" : name
      guard let columns = before[earlierName]?.intersection(today[name]!) else { return nil }
      return Table(
        name: name, earlierName: earlierName, columns: columns.sorted().joined(separator: ", "))
    }
  }

  func insert() {
    let inserts = tables.map { table in
      """
      INSERT INTO \(table.earlierName) (\(table.columns))
      SELECT \(table.columns) FROM \(newest.root.database).\(table.name);
      """
    }
    earlier.sql(inserts.joined(separator: "\n"))
    guard earlier.columns()["ogs_registrations"]?.contains("environment") == true else { return }
    earlier.sql("UPDATE ogs_registrations SET environment = 'sandbox', topic = 'com.example.app'")
  }

  /// The tables of the upgraded database in which a row is missing.
  func lost() -> [String] {
    let queries = tables.map { table in
      """
      SELECT '\(table.name)' FROM (
        SELECT \(table.columns) FROM \(newest.root.database).\(table.name)
        EXCEPT SELECT \(table.columns) FROM \(table.name)) AS lost
      """
    }
    return earlier.column(queries.joined(separator: " UNION ALL "))
  }
}

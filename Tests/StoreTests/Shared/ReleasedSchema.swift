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

  let number: Int

  var testDescription: String { "\(number)" }

  var text: String {
    get throws {
      try String(contentsOf: Self.folder.appending(path: "\(number).sql"), encoding: .utf8)
    }
  }

  /// Calls `body` with a database of this schema, with the ``SampleRows`` of the tables that it has.
  func withRows(_ body: (TestStore) throws -> Void) throws {
    try withDatabase(schema: try commonRoles + text) { settings throws in
      let store = TestStore(root: settings)
      let text = try text
      let rows = SampleRows.statements.split(separator: ";\n").filter { statement in
        let table = statement.firstMatch(of: #/INSERT INTO (\w+)/#)!.output.1  // each is an INSERT
        return text.contains("CREATE TABLE IF NOT EXISTS \(table) ")
      }
      store.sql(rows.joined(separator: ";\n"))
      try body(store)
    }
  }
}

/// A made-up schema that follows the present one, with a step of each kind: it adds a column and an index online, a CHECK by
/// copying a table, a column to a view, and a right.
struct NextSchema {
  static let version = SchemaText.version + 1

  static let text: String = {
    let changes = [
      ("SET @version = \(SchemaText.version);", "SET @version = \(version);"),
      (
        "  name          VARCHAR(200) NOT NULL,\n",
        "  name          VARCHAR(200) NOT NULL,\n  nickname      VARCHAR(40) NULL COMMENT 'as the person likes',\n"
      ),
      (
        "  KEY audit_log_device (device_id, at)\n",
        "  KEY audit_log_device (device_id, at),\n  KEY audit_log_request (request_id)\n"
      ),
      (
        "push_tokens_form CHECK (token REGEXP '^[A-Za-z0-9:_.-]{20,512}\\\\z')",
        "push_tokens_form CHECK (token REGEXP '^[A-Za-z0-9:_.-]{20,512}\\\\z'),\n  CONSTRAINT push_tokens_short CHECK (CHAR_LENGTH(token) <= 512)"
      ),
      (
        "SELECT id, kind, state, attempts, created_at",
        "SELECT id, kind, state, attempts, due_at, created_at"
      ),
      (
        "GRANT SELECT ON jobs_today TO administrator;",
        "GRANT SELECT ON jobs_today TO administrator;\nGRANT SELECT (nickname) ON accounts TO companion;"
      ),
      ("-- Rows that every site has", steps + "\n-- Rows that every site has"),
    ]
    return changes.reduce(SchemaText.all) { text, change in
      if !text.contains(change.0) { Issue.record("schema.sql has no \(change.0)") }
      return text.replacing(change.0, with: change.1)
    }
  }()

  private static let steps = """
    SELECT CONCAT('Not online: about ', TABLE_ROWS, ' rows of ', TABLE_NAME, ' are copied; writes to it wait') AS upgrade
      FROM information_schema.TABLES
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'push_tokens' AND @found < \(version);

    DELIMITER //
    IF @found < \(version) THEN
      ALTER TABLE accounts
        ADD COLUMN IF NOT EXISTS nickname VARCHAR(40) NULL COMMENT 'as the person likes' AFTER name, ALGORITHM=INSTANT;
      ALTER TABLE audit_log
        ADD KEY IF NOT EXISTS audit_log_request (request_id), ALGORITHM=NOCOPY, LOCK=NONE;
      ALTER TABLE push_tokens
        ADD CONSTRAINT IF NOT EXISTS push_tokens_short CHECK (CHAR_LENGTH(token) <= 512);
    END IF //
    DELIMITER ;

    """

  /// The structure that an upgrade must reach, made once.
  static let structure = Result {
    try withDatabase(schema: commonRoles + text) { try TestStore(root: $0).structure() }
  }
}

extension TestStore {
  /// Applies a schema as administrators do.
  ///
  /// - Parameter schema: nil stands for the project's own.
  func applySchema(_ schema: String? = nil) -> (status: Int32, output: String) {
    let project = projectSchema.deletingLastPathComponent()
    guard let schema else { return apply(by: project.appending(path: "nginx/apply-schema")) }
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }  // It is in the temporary folder.
    let script = folder.appending(path: "nginx/apply-schema")
    do {
      try FileManager.default.createDirectory(
        at: script.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: project.appending(path: "nginx/apply-schema"), to: script)
      try schema.write(to: folder.appending(path: "schema.sql"), atomically: true, encoding: .utf8)
    } catch {
      return (-1, "\(error)")
    }
    return apply(by: script)
  }

  private func apply(by script: URL) -> (status: Int32, output: String) {
    runProgram(
      script.path(),
      [
        "--no-defaults", "--socket=\(root.socket!)", "--user=root", "--init-command=\(commonRoles)",
        root.database,
      ])
  }

  /// The database without its rows, as SQL, and the rights of the roles.
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

  /// The rows of the tables of ``SampleRows`` in the columns that they have now, as lines with the table's name.
  func sampleRows(of columns: [String: String]) -> Set<String> {
    Set(
      columns.flatMap { table, names in
        column("SELECT \(names) FROM \(table)").map { "\(table) \($0)" }
      })
  }

  /// The columns of each table of ``SampleRows`` that the database has, separated by commas. Decimal numbers are
  /// without zeros at their end, because an upgrade may add decimals.
  func sampleColumns() -> [String: String] {
    SampleRows.tables.reduce(into: [:]) { columns, table in
      let names = column(
        """
        SELECT IF(DATA_TYPE = 'decimal', CONCAT('TRIM(TRAILING ''0'' FROM ', COLUMN_NAME, ')'), COLUMN_NAME)
        FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '\(table)'
        ORDER BY ORDINAL_POSITION
        """)
      if !names.isEmpty { columns[table] = names.joined(separator: ", ") }
    }
  }
}

import Support

/// The tables of a database in `information_schema`; new tables are included automatically.
struct WatchedSchema {
  struct Table {
    let name: String
    let columns: [Column]
    /// The columns of the primary key.
    let key: [String]
    let references: [Reference]
  }

  struct Column {
    let name: String
    let isBinary: Bool
  }

  /// A foreign key of one column.
  struct Reference {
    let column: String
    let target: String
    let targetColumn: String
    /// The action on the row when its target is deleted.
    let rule: String
  }

  /// Tables that record events and are never compared.
  static let logs: Set<String> = [
    "audit_log", "rate_limits", "counters", "health", "companion_status", "problems",
  ]

  let tables: [String: Table]

  init(of database: String) {
    let columns = Self.read(
      """
      SELECT c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE IN ('binary', 'varbinary', 'blob'), c.COLUMN_KEY = 'PRI'
      FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND IS_GENERATED = 'NEVER'
      ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION
      """, database)
    let references = Self.read(
      """
      SELECT k.TABLE_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, r.DELETE_RULE
      FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r
        ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME
      WHERE k.TABLE_SCHEMA = DATABASE() AND k.REFERENCED_TABLE_NAME IS NOT NULL
      """, database)
    tables = Dictionary(grouping: columns) { $0[0] }.mapValues { rows in
      let name = rows[0][0]
      return Table(
        name: name, columns: rows.map { Column(name: $0[1], isBinary: $0[2] == "1") },
        key: rows.filter { $0[3] == "1" }.map { $0[1] },
        references: references.filter { $0[0] == name }.map {
          Reference(column: $0[1], target: $0[2], targetColumn: $0[3], rule: $0[4])
        })
    }
  }

  private static func read(_ sql: String, _ database: String) -> [[String]] {
    MariaDBServer.shared.run(sql, database: database).split(separator: "\n").map {
      $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
  }
}

extension WatchedSchema.Table {
  /// The columns as an SQL list.
  var list: String { columns.map { "`\($0.name)`" }.joined(separator: ", ") }

  /// An SQL expression that turns a row into JSON, all values as text.
  func json(of row: String) -> String {
    let members = columns.map { column in
      let value = "\(row)`\(column.name)`"
      return "'\(column.name)', \(column.isBinary ? "HEX(\(value))" : "CAST(\(value) AS CHAR)")"
    }
    return "JSON_OBJECT(\(members.joined(separator: ", ")))"
  }
}

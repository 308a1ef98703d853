import MariaDB

/// One property of the database that must hold.
package struct Inspection: Sendable {
  package let isRight: Bool
  package let text: String
}

extension Database {
  /// The version of `schema.sql` that these programs are written for.
  package static let schemaVersion: Int64 = 1

  /// Looks at what the companion's own account can see: server, schema, engine, keys, rights.
  package func inspect() throws -> [Inspection] {
    try pool.read { connection in
      [
        try connection.inspectServer(), try connection.inspectSchema(),
        try connection.inspectTables(), try connection.inspectRights(),
      ]
    }
  }
}

extension Connection {
  fileprivate func inspectServer() throws -> Inspection {
    let version = try row("SELECT VERSION()") { row in row.text(0) } ?? ""
    let numbers = version.split(whereSeparator: { !$0.isNumber }).prefix(2).compactMap { Int($0) }
    let isRight =
      version.contains("MariaDB") && numbers.count == 2 && (numbers[0], numbers[1]) >= (10, 11)
    return Inspection(isRight: isRight, text: "the server is \(version); 10.11 or later is needed")
  }

  fileprivate func inspectSchema() throws -> Inspection {
    let version = try row("SELECT version FROM schema_version") { row in row.integer(0) } ?? 0
    return Inspection(
      isRight: version >= Database.schemaVersion,
      text: "the schema's version is \(version); \(Database.schemaVersion) or later is needed")
  }

  /// Every table InnoDB with a primary key: a Galera cluster needs both.
  fileprivate func inspectTables() throws -> Inspection {
    let wrong = try rows("SELECT name FROM tables_unfit_for_a_cluster ORDER BY name") { row in
      row.text(0)
    }
    return Inspection(
      isRight: wrong.isEmpty,
      text: wrong.isEmpty
        ? "every table is InnoDB with a primary key"
        : "not InnoDB, or without a primary key: \(wrong.joined(separator: ", "))")
  }

  /// The wall: this account has no business in the tables that only the responder writes.
  fileprivate func inspectRights() throws -> Inspection {
    do {
      _ = try row("SELECT email FROM accounts LIMIT 1") { row in row.text(0) }
    } catch let error where [.tableAccessDenied, .columnAccessDenied].contains(error.code) {
      return Inspection(isRight: true, text: "the database account has only its own rights")
    }
    return Inspection(
      isRight: false, text: "the database account may read accounts: give it its own role only")
  }
}

extension DatabaseError.Code {
  /// ER_TABLEACCESS_DENIED_ERROR
  fileprivate static let tableAccessDenied = DatabaseError.Code(rawValue: 1142)
  /// ER_COLUMNACCESS_DENIED_ERROR
  fileprivate static let columnAccessDenied = DatabaseError.Code(rawValue: 1143)
}

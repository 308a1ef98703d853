import MariaDB
import StoreCore

/// One property of the database that must hold.
package struct Inspection: Sendable {
  package let isRight: Bool
  package let text: String
}

extension Database {
  /// The version of `schema.sql` that these programs are written for.
  package static var schemaVersion: Int64 { SchemaVersion.needed }

  /// - Throws: ``SchemaMismatch`` unless the schema has exactly ``schemaVersion``.
  package func requireSchemaVersion() throws { try SchemaVersion.require(in: pool) }

  /// Checks all that the companion's own account can see: server, schema, engine, keys, rights,
  /// statements.
  ///
  /// - Parameter isAccountShared: whether all programs use one account, because the host gives no other.
  package func inspect(isAccountShared: Bool = false) throws -> [Inspection] {
    try pool.read { connection in
      var general = [
        try connection.inspectServer(), try connection.inspectEncryption(isLocal: pool.isLocal),
      ]
      general += try inspectServers(connection)
      general += [
        try connection.inspectSchema(), try connection.inspectTables(),
        try connection.inspectRights(isAccountShared: isAccountShared),
      ]
      // Another schema cannot be checked further.
      guard try connection.schemaVersion() == Self.schemaVersion else { return general }
      return general + [try connection.inspectChanges(), inspectStatements(connection)]
    }
  }

  /// Checks whether the server would execute the statements that the rooms declare for the
  /// companion.
  private func inspectStatements(_ connection: borrowing Connection) -> Inspection {
    let statements = rooms.flatMap { room in
      let families = [
        room.retention.map(\.statement), room.whenTokenDies,
        room.whatIsOver.map(\.statement), room.ownersOfTokens, room.whenDelivered,
        room.whenGivenUp,
      ]
      return families.flatMap { $0 }
    }
    let refusals = statements.compactMap { statement -> String? in
      do throws(DatabaseError) {
        try connection.prepare(statement)
        return nil
      } catch {
        return "\(error)"
      }
    }
    return Inspection(
      isRight: refusals.isEmpty,
      text: refusals.first.map { "the database refuses \(refusals.count) statements: \($0)" }
        ?? "the database accepts the \(statements.count) statements that the rooms declare")
  }
}

extension Connection {
  fileprivate func inspectServer() throws -> Inspection {
    let version = try row("SELECT VERSION()") { row in row.text(0) } ?? ""
    let numbers = version.split(whereSeparator: { !$0.isNumber }).prefix(2).compactMap { Int($0) }
    let isRight =
      version.contains("MariaDB") && numbers.count == 2 && (numbers[0], numbers[1]) >= (10, 11)
    return Inspection(
      isRight: isRight, text: "the server is \(version); MariaDB 10.11 or later is needed")
  }

  /// Checks the way to the server, and its encryption.
  fileprivate func inspectEncryption(isLocal: Bool) throws -> Inspection {
    if isLocal {
      return Inspection(isRight: true, text: "the database is reached by a unix socket")
    }
    let cipher = try row("SHOW SESSION STATUS LIKE 'Ssl_cipher'") { row in row.text(1) } ?? ""
    return Inspection(
      isRight: !cipher.isEmpty,
      text: cipher.isEmpty
        ? "the connection to the database is not encrypted: SWITCHBOARD_DB_TLS is false"
        : "the connection to the database is encrypted with \(cipher)")
  }

  fileprivate func inspectSchema() throws -> Inspection {
    let version = try schemaVersion()
    let isRight = version == Database.schemaVersion
    return Inspection(
      isRight: isRight,
      text: isRight ? "the schema has version \(version)" : "\(SchemaMismatch(found: version))")
  }

  /// A Galera cluster needs InnoDB and a primary key in every table.
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

  /// Checks whether columns and indexes are as schema.sql made them.
  fileprivate func inspectChanges() throws -> Inspection {
    let changed = try rows(
      """
      SELECT t.name FROM schema_tables t LEFT JOIN table_checksums c ON c.name = t.name
      WHERE NOT c.checksum <=> t.checksum ORDER BY t.name
      """
    ) { row in row.text(0) }
    return Inspection(
      isRight: changed.isEmpty,
      text: changed.isEmpty
        ? "columns and indexes are as schema.sql made them"
        : "columns or indexes are not as schema.sql made them: \(changed.joined(separator: ", "))")
  }

  /// This account must not read the tables that only the responder uses, unless it is the responder's too.
  fileprivate func inspectRights(isAccountShared: Bool) throws -> Inspection {
    if isAccountShared {
      return Inspection(
        isRight: true,
        text:
          "one database account serves all programs (SWITCHBOARD_DB_ROLES=one): the database does not protect "
          + "the companion's secrets from the responder, or any table from an attacker who has the password"
      )
    }
    do {
      _ = try row("SELECT name FROM accounts LIMIT 1") { row in row.text(0) }
    } catch let error where [.tableAccessDenied, .columnAccessDenied].contains(error.code) {
      return Inspection(isRight: true, text: "the database account has only its own rights")
    }
    return Inspection(
      isRight: false,
      text:
        "the database account may read accounts: give it only its own role, or, if the host gives you only "
        + "one account, set SWITCHBOARD_DB_ROLES=one")
  }
}

extension DatabaseError.Code {
  /// `ER_TABLEACCESS_DENIED_ERROR`
  fileprivate static let tableAccessDenied = DatabaseError.Code(rawValue: 1142)
  /// `ER_COLUMNACCESS_DENIED_ERROR`
  fileprivate static let columnAccessDenied = DatabaseError.Code(rawValue: 1143)
}

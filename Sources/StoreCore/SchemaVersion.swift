package import MariaDB

/// The version of the database's schema.
package enum SchemaVersion {
  /// The version of `schema.sql` that these programs are written for.
  package static let needed: Int64 = 3

  /// - Throws: ``SchemaMismatch`` unless the schema has exactly the version ``needed``.
  package static func require(in pool: Pool) throws {
    let found = try pool.read { connection in try connection.schemaVersion() }
    guard found == needed else { throw SchemaMismatch(found: found) }
  }
}

/// The database has another schema than these programs are written for.
package struct SchemaMismatch: Error, CustomStringConvertible {
  package let found: Int64

  package init(found: Int64) {
    self.found = found
  }

  package var description: String {
    let advice =
      found < SchemaVersion.needed
      ? "apply the schema.sql of this release (switchboard setup), then start the program again"
      : "install the programs of the release that this schema belongs to"
    return "The schema has version \(found), this program needs version \(SchemaVersion.needed): "
      + advice + "."
  }
}

extension Connection {
  /// 0 in a database without the table or its row.
  package func schemaVersion() throws(DatabaseError) -> Int64 {
    do throws(DatabaseError) {
      return try row("SELECT version FROM schema_version") { row in row.integer(0) } ?? 0
    } catch {
      if error.code == .noSuchTable { return 0 }
      throw error
    }
  }
}

extension DatabaseError.Code {
  /// `ER_NO_SUCH_TABLE`
  fileprivate static let noSuchTable = DatabaseError.Code(rawValue: 1146)
}

extension DatabaseError {
  /// Whether the database does not answer, rejects us, or accepts no writes now, or the outcome of a
  /// write is unknown: the same request may be sent again later.
  package var isUnavailability: Bool {
    isUnreachable || isConnectionLost || isOutcomeUnknown || isTimeout || isConflict || isReadOnly
      || isStorageFull || isRefused || isOutOfStatements
  }
}

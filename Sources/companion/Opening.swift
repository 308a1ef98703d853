import Base
import MariaDB
import Program
import Store

extension Environment {
  /// Opens the database for a command.
  ///
  /// - Parameter isRehearsal: whether nothing is changed.
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed, also what was read
  ///   before; ``SchemaMismatch``.
  mutating func openRecords(isRehearsal: Bool = false) throws -> Records {
    let connection = connectionSettings()
    guard complaints.isEmpty else { throw ConfigurationError(complaints) }
    let database = Database(connection)
    try database.requireSchemaVersion()
    return database.records(at: .now(), from: .administrator, isRehearsal: isRehearsal)
  }
}

extension Records {
  /// The database for a command that needs no key.
  ///
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed; ``SchemaMismatch``.
  static func ofCommand(isRehearsal: Bool = false) throws -> Records {
    var environment = Environment.ofProcess()
    return try environment.openRecords(isRehearsal: isRehearsal)
  }
}

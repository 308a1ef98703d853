import Base
import MariaDB
import Program
import Store

extension Environment {
  /// Opens the database for a command.
  ///
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed, also what was read
  ///   before; ``SchemaMismatch``.
  mutating func openRecords() throws -> Records {
    let connection = connectionSettings()
    guard complaints.isEmpty else { throw ConfigurationError(complaints) }
    let database = Database(connection)
    try database.requireSchemaVersion()
    return database.records(at: .now(), from: .companion)
  }
}

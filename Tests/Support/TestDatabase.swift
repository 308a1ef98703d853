package import Foundation
package import MariaDB
import Synchronization

/// Calls `body` with a new database on the shared server, and drops the database afterwards.
///
/// - Parameter schema: the SQL applied to the new database; nil means the project's `schema.sql`.
package func withDatabase<T>(
  schema: String? = nil, _ body: (ConnectionSettings) throws -> T
) throws -> T {
  let database = try TestDatabase(schema: schema)
  defer { database.drop() }
  return try body(database.settings)
}

/// Calls a suspending `body` with a new database, and drops the database afterwards.
package func withDatabase<T>(
  schema: String? = nil, isolation: isolated (any Actor)? = #isolation,
  _ body: (ConnectionSettings) async throws -> T
) async throws -> T {
  let database = try TestDatabase(schema: schema)
  defer { database.drop() }
  return try await body(database.settings)
}

/// The project's `schema.sql`.
package let projectSchema = URL(filePath: #filePath).appending(path: "../../../schema.sql")
  .standardizedFileURL

/// `schema.sql` with fixed role names. All databases of a server share the accounts of the tests.
package let schemaOfTests = commonRoles + (try! String(contentsOf: projectSchema, encoding: .utf8))

/// SQL that gives the roles of any database the role names of the database `switchboard`.
package let commonRoles = "SET @roles = 'switchboard';\n"

struct TestDatabase {
  private static let count = Atomic(0)

  let settings: ConnectionSettings
  /// Set for a database with the project's schema; nil for others.
  private let definitions: String?
  private var work: WatchedWork?

  init(schema: String?) throws {
    if schema == nil, let spare = SpareDatabases.take() {
      self = spare
    } else {
      let text = schema ?? schemaOfTests
      let name = "test_\(Self.count.wrappingAdd(1, ordering: .relaxed).newValue)"
      settings = MariaDBServer.shared.settings(database: name)
      try MariaDBServer.shared.makeDatabase(name, schema: text)
      definitions = schema == nil ? SpareDatabases.definitions(of: name) : nil
    }
    work = WatchedWork("uses a database")
    Evidence.beginTest(on: settings.database)
  }

  func drop() {
    let name = settings.database
    var spare = self
    spare.work = nil
    if let definitions, SpareDatabases.giveBack(spare, madeWith: definitions) { return }
    Evidence.keep(database: name, of: MariaDBServer.shared.socket, user: settings.user, as: name)
    // The server keeps the grants of a dropped database and searches all grants at each GRANT.
    MariaDBServer.shared.dropDatabase(name)
    MariaDBServer.shared.run(
      """
      DELETE FROM mysql.tables_priv WHERE Db = '\(name)';
      DELETE FROM mysql.columns_priv WHERE Db = '\(name)';
      FLUSH PRIVILEGES;
      """)
  }
}

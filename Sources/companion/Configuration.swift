import Delivery
import Glibc
import Logging
import MariaDB
import Program
import Store

/// What the environment tells the companion.
struct Configuration {
  let settings: Settings
  private let connection: ConnectionSettings
  private let log: Logger

  /// - Throws: ``ConfigurationError`` that names everything missing or malformed.
  init(_ variables: Environment) throws {
    var environment = variables
    let settings = Settings(from: &environment)
    connection = environment.connectionSettings()
    log = JournalLog.logger(from: environment.logLevel())
    guard let settings, environment.complaints.isEmpty else {
      throw ConfigurationError(environment.complaints)
    }
    self.settings = settings
  }

  /// The companion, whatever the state of its database.
  func unchecked() -> Companion {
    signal(SIGPIPE, SIG_IGN)  // a lost peer is an error of the write, not our end
    return Companion(
      database: Database(connection), settings: settings, log: log)
  }

  /// The companion, if its database has the right schema.
  ///
  /// - Throws: ``SchemaMismatch``. A database that does not answer is waited for by whoever uses it.
  func companion() throws -> Companion {
    do {
      try Database(connection).requireSchemaVersion()
    } catch  where Database.isUnavailable(error) {
      log.warning(
        "The database does not answer: the schema's version was not checked. \(error)")
    }
    return unchecked()
  }
}

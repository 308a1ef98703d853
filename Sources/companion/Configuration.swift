import Cryptography
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
  /// Those of the responder; nil where they cannot be seen from here.
  private let publicKeys: BoxPublicKeys?
  /// Whether all programs use one database account.
  private let isAccountShared: Bool

  /// - Throws: ``ConfigurationError`` that names everything missing or malformed.
  init(_ variables: Environment) throws {
    var environment = variables
    let settings = Settings(from: &environment)
    connection = environment.connectionSettings()
    isAccountShared = environment.isDatabaseAccountShared()
    log = JournalLog.logger(from: environment.logLevel())
    publicKeys =
      environment.optional("SWITCHBOARD_COMPANION_PUBLIC_KEYS") == nil
      ? nil : environment.boxPublicKeys("SWITCHBOARD_COMPANION_PUBLIC_KEYS", "the responder's")
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

  /// The companion as somebody needs it who waits for an answer: a database that is away is not waited for.
  func impatient() -> Companion {
    signal(SIGPIPE, SIG_IGN)
    var connection = connection
    connection.connectTimeout = .seconds(1)
    return Companion(
      database: Database(connection, beginWaiting: { false }), settings: settings, log: log)
  }

  /// What `check` finds.
  func check() -> [Finding] {
    unchecked().check(publicKeys: publicKeys, isAccountShared: isAccountShared)
  }

  /// The companion, if its database has the right schema. The metrics say so if it has not: no pass will.
  ///
  /// - Throws: ``SchemaMismatch``. A database that does not answer is waited for by whoever uses it.
  func companion() throws -> Companion {
    do {
      try Database(connection).requireSchemaVersion()
    } catch let mismatch as SchemaMismatch {
      unchecked().writeMetrics()
      throw mismatch
    } catch  where Database.isUnavailable(error) {
      log.warning(
        "The database does not answer: the schema's version was not checked. \(error)")
    }
    return unchecked()
  }
}

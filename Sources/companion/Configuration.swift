import Administration
import Base
import Cryptography
import Delivery
import Glibc
import Logging
import MariaDB
import ProcessSupport
import SharedSettings
import Store
import StoreCore

/// The companion's configuration from the environment.
struct Configuration {
  let settings: Settings
  private let connection: ConnectionSettings
  private let log: Logger
  /// The responder's public keys; nil if this process does not have them.
  private let publicKeys: BoxPublicKeys?
  /// Whether all programs use one database account.
  private let isAccountShared: Bool
  /// The responder's proxies; empty if this process does not know them.
  private let proxies: [String]
  /// The word of the script `limit-connections`; nil at a shared host.
  private let connectionLimit: String?

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
    proxies = (environment.optional("SWITCHBOARD_TRUSTED_PROXIES") ?? "").split(separator: ",")
      .map { String($0).trimmed }
    connectionLimit = environment.optional("SWITCHBOARD_CONNECTION_LIMIT")
    guard let settings, environment.complaints.isEmpty else {
      throw ConfigurationError(environment.complaints)
    }
    self.settings = settings
  }

  /// The companion, without a check of its database.
  func unchecked() -> Companion {
    signal(SIGPIPE, SIG_IGN)  // a lost peer makes the write fail, and must not end the process
    return Companion(
      database: Database(connection), settings: settings, log: log)
  }

  /// The companion for a command whose user waits: it does not wait for a database that does not
  /// answer.
  func impatient() -> Companion {
    signal(SIGPIPE, SIG_IGN)
    var connection = connection
    connection.connectTimeout = .seconds(1)
    return Companion(
      database: Database(connection, beginWaiting: { false }), settings: settings, log: log)
  }

  /// The results of the command `check`.
  func check() -> [CheckLine] {
    unchecked().check(
      publicKeys: publicKeys, isAccountShared: isAccountShared, proxies: proxies)
      + [connectionLimit.flatMap(connectionLimitCheck)].compactMap { $0 }
  }

  /// The companion, if its database has the right schema. Otherwise writes the metrics, because no
  /// pass will write them.
  ///
  /// - Throws: ``SchemaMismatch``. Does not throw if the database does not answer: the work waits
  ///   for it then.
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

import API
import FastCGI
import MariaDB
import Program
import Store

/// What the responder is told by its environment.
struct Configuration {
  private let settings: Settings
  private let connection: ConnectionSettings
  private let workers: Int

  /// Requests that may wait at once, for the database or for the companion; half of them for banks.
  private static let waiters = 16

  /// - Throws: ``ConfigurationError`` that names everything missing or malformed.
  init(_ variables: Environment) throws {
    var environment = variables
    let settings = Settings(from: &environment)
    connection = environment.connectionSettings()
    workers = environment.integer("SWITCHBOARD_WORKERS", in: 1...64, default: 4)
    guard let settings, environment.complaints.isEmpty else {
      throw ConfigurationError(environment.complaints)
    }
    self.settings = settings
  }

  /// Answers requests until SIGTERM; as a plain CGI program, one.
  func serve() throws {
    guard let listener = try inheritedListener() else {
      let application = application { true }
      return try respondAsCGI(bodyLimit: Application.bodyLimit) { application.respond(to: $0) }
    }
    let server = try Server(
      listener: listener, workers: workers, waiters: Self.waiters,
      bodyLimit: Application.bodyLimit)
    let application = application { server.beginWaiting() }
    try server.run { application.respond(to: $0) }
  }

  private func application(beginWaiting: @escaping @Sendable () -> Bool) -> Application {
    Application(
      database: Database(connection, beginWaiting: beginWaiting), settings: settings,
      log: JournalLog.logger(), beginWaiting: beginWaiting)
  }
}

import API
import FastCGI
import Logging
import MariaDB
import ProcessSupport
import SharedSettings
import Store

/// The responder's configuration from the environment.
struct Configuration {
  private let settings: Settings
  private let connection: ConnectionSettings
  private let workers: Int
  private let log: Logger

  /// The number of requests that may wait at once, for the database or for the companion; half of them for banks.
  private static let waiters = 16

  /// The wait limit of a request for the database, whether it is down or does not answer.
  private static let databaseWaitLimit = Duration.seconds(3)

  /// - Throws: ``ConfigurationError`` that names every missing or malformed variable.
  init(_ variables: Environment) throws {
    var environment = variables
    let settings = Settings(from: &environment)
    connection = environment.connectionSettings().answering(within: Self.databaseWaitLimit)
    log = JournalLog.logger(from: environment.logLevel())
    workers = environment.integer("SWITCHBOARD_WORKERS", in: 1...64, default: 4)
    guard let settings, environment.complaints.isEmpty else {
      throw ConfigurationError(environment.complaints)
    }
    self.settings = settings
  }

  /// Answers requests until SIGTERM and reports the state to systemd. A plain CGI program answers one request.
  ///
  /// - Throws: ``SchemaMismatch``; ``FastCGIError``.
  func serve() throws {
    guard let listener = try inheritedListener() else {
      let application = try application { true }
      return try respondAsCGI(bodyLimit: Application.bodyLimit, below: settings.basePath) {
        application.respond(to: $0)
      }
    }
    let notifier = ServiceNotifier.ofProcess()
    let server = try Server(
      listener: listener, workers: workers, waiters: Self.waiters,
      bodyLimit: Application.bodyLimit, below: settings.basePath, aliveInterval: notifier.interval
    ) { event in
      if event == .ready { releaseStartPages() }
      notifier.tell(.init(event))
    }
    let application = try application { server.beginWaiting() }
    try server.run(
      Handler(
        group: application.group(of:), respondTogether: application.respond(toGroup:),
        respond: application.respond(to:)))
  }

  private func application(
    beginWaiting: @escaping @Sendable () -> Bool
  ) throws -> Application {
    let database = Database(
      connection, mailKeys: settings.mailKeys, beginWaiting: beginWaiting)
    do {
      try database.requireSchemaVersion()
    } catch  where Database.isUnavailable(error) {
      // The site answers 503 until the database is back, and then recovers by itself.
      log.warning("The database does not answer: the schema's version was not checked. \(error)")
    }
    return Application(
      database: database, settings: settings, log: log, beginWaiting: beginWaiting)
  }
}

extension ServiceNotifier.State {
  fileprivate init(_ event: ServerEvent) {
    self =
      switch event {
      case .ready: .ready
      case .alive: .alive
      case .stopping: .stopping
      }
  }
}

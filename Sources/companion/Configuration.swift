import Delivery
import Glibc
import MariaDB
import Program
import Store

/// What the companion is told by its environment.
struct Configuration {
  let settings: Settings
  private let connection: ConnectionSettings

  /// - Throws: ``ConfigurationError`` that names everything missing or malformed.
  init(_ variables: Environment) throws {
    var environment = variables
    let settings = Settings(from: &environment)
    connection = environment.connectionSettings()
    guard let settings, environment.complaints.isEmpty else {
      throw ConfigurationError(environment.complaints)
    }
    self.settings = settings
  }

  func companion() -> Companion {
    signal(SIGPIPE, SIG_IGN)  // a peer that has gone is an error of the write, not our end
    let database = Database(connection)
    let gateway = settings.apns.map {
      PushGateway($0, database, sealingKeys: settings.credentialKeys)
    }
    return Companion(
      database: database, settings: settings, log: JournalLog.logger(), pushGateway: gateway)
  }
}

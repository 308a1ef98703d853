import AgentRelay
import Base
import Logging
import MariaDB
import Program
import Store

/// The relay's settings, which come from environment variables.
struct Configuration {
  private let connection: ConnectionSettings
  private let agent: [AgentAddress]
  private let requiresAuth: Bool
  private let log: Logger

  /// - Throws: ``ConfigurationError``, which names every missing or malformed variable.
  init(_ variables: Environment) throws {
    var environment = variables
    connection = environment.connectionSettings()
    agent = environment.agentAddresses()
    requiresAuth = environment.flag("SWITCHBOARD_REQUIRE_AUTH", default: true)
    log = JournalLog.logger(from: environment.logLevel())
    guard environment.complaints.isEmpty else { throw ConfigurationError(environment.complaints) }
  }

  /// - Throws: ``SchemaMismatch``. Does not throw while the database is unavailable.
  func relay(on listener: CInt) throws -> Relay {
    let database = Database(connection)
    do {
      try database.requireSchemaVersion()
    } catch  where Database.isUnavailable(error) {
      log.warning("The database does not answer: the schema's version was not checked. \(error)")
    }
    return Relay(
      listener: listener, agent: agent, requiresAuth: requiresAuth, database: database, log: log)
  }
}

extension Environment {
  /// Reads the agent's addresses from `SWITCHBOARD_AGENT`.
  fileprivate mutating func agentAddresses() -> [AgentAddress] {
    let addresses = AgentAddress.addresses(of: optional("SWITCHBOARD_AGENT") ?? "127.0.0.1:8766")
    if addresses.isEmpty {
      complain(
        about: "SWITCHBOARD_AGENT",
        "must be HOST:PORT of the agent, and the host must have an address")
    }
    return addresses
  }
}

import AgentRelay
import Base
import Logging
import MariaDB
import ProcessSupport
import StoreCore

/// The relay's settings, which come from environment variables.
struct Configuration {
  private let database: AgentClients
  private let agent: [AgentAddress]
  private let requiresAuth: Bool
  private let log: Logger

  /// - Throws: ``ConfigurationError``, which names every missing or malformed variable.
  init(_ variables: Environment) throws {
    var environment = variables
    database = AgentClients(environment.connectionSettings())
    agent = environment.agentAddresses()
    requiresAuth = environment.flag("SWITCHBOARD_REQUIRE_AUTH", default: true)
    log = JournalLog.logger(from: environment.logLevel())
    guard environment.complaints.isEmpty else { throw ConfigurationError(environment.complaints) }
  }

  /// - Throws: ``SchemaMismatch``; ``DatabaseError`` unless the database is only unavailable.
  func relay(on listener: CInt) throws -> Relay {
    do {
      try SchemaVersion.require(in: database.pool)
    } catch let error as DatabaseError where error.isUnavailability {
      log.warning("The database does not answer: the schema's version was not checked. \(error)")
    }
    return Relay(
      listener: listener, agent: agent, requiresAuth: requiresAuth,
      ended: { [database] in try database.ended(among: $0, at: .now()) }, log: log)
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

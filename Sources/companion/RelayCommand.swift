import ArgumentParser
import Base
import Delivery
import Glibc
import Program
import Store

struct RunRelay: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relay",
    abstract:
      "Passes the requests of paired phones to the agent, and cuts those of revoked phones.",
    discussion: """
      Its socket is the standard input, or comes from systemd. Without systemd, spawn-fcgi makes one:
      spawn-fcgi -n -s /run/switchboard/relay.sock -- switchboard-companion relay

      Example: switchboard-companion relay
      """)

  func run() throws {
    signal(SIGPIPE, SIG_IGN)  // a lost peer makes the write fail, and must not end the process
    let notifier = ServiceNotifier.ofProcess()
    guard case .listening(let listener) = InheritedSocket.inherit() else {
      throw ValidationError("The relay needs a listening socket as its standard input.")
    }
    var environment = Environment.ofProcess()
    let connection = environment.connectionSettings()
    let agent = environment.agentAddress()
    let requiresAuth = environment.flag("SWITCHBOARD_REQUIRE_AUTH", default: true)
    let log = JournalLog.logger(from: environment.logLevel())
    guard environment.complaints.isEmpty else { throw ConfigurationError(environment.complaints) }
    let database = Database(connection)
    do {
      try database.requireSchemaVersion()
    } catch  where Database.isUnavailable(error) {
      log.warning("The database does not answer: the schema's version was not checked. \(error)")
    }
    var relay = Relay(
      listener: listener, agent: agent, requiresAuth: requiresAuth, database: database, log: log)
    var isReady = false
    relay.run {
      notifier.tell(isReady ? .alive : .ready)
      isReady = true
    }
    notifier.tell(.stopping)
  }
}

extension Environment {
  /// The agent's addresses, from `SWITCHBOARD_AGENT`.
  fileprivate mutating func agentAddress() -> [AgentAddress] {
    let addresses = AgentAddress.addresses(of: optional("SWITCHBOARD_AGENT") ?? "127.0.0.1:8766")
    if addresses.isEmpty {
      complain(
        about: "SWITCHBOARD_AGENT",
        "must be HOST:PORT of the agent, and the host must have an address")
    }
    return addresses
  }
}

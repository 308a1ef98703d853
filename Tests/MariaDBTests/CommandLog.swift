import MariaDB
import Support
import Synchronization

/// Calls `body` with a pool on a database with the table `t (id, n)`; its connections suffer each
/// of `faults` once, in order.
func withProxy(
  faults: [(MariaDBProxy.Command, MariaDBProxy.Action)] = [],
  _ body: (Pool, CommandLog) throws -> Void
) throws {
  let log = CommandLog(faults)
  try withDatabase(schema: table("n BIGINT")) { settings in
    let proxy = MariaDBProxy(settings) { command in log.action(for: command) }
    try withExtendedLifetime(proxy) {
      try body(Pool(proxy.settings, learned: LearnedStatements()), log)
    }
  }
}

final class CommandLog: Sendable {
  private let state: Mutex<State>

  private struct State {
    var faults: [(MariaDBProxy.Command, MariaDBProxy.Action)]
    var hasFailed = false
    var commands: [MariaDBProxy.Command] = []
  }

  init(_ faults: [(MariaDBProxy.Command, MariaDBProxy.Action)]) {
    state = Mutex(State(faults: faults))
  }

  var commands: [MariaDBProxy.Command] { state.withLock { $0.commands } }
  /// Whether the first fault has taken place.
  var hasFailed: Bool { state.withLock { $0.hasFailed } }

  func forgetCommands() { state.withLock { $0.commands = [] } }

  func action(for command: MariaDBProxy.Command) -> MariaDBProxy.Action {
    state.withLock { state in
      state.commands.append(command)
      guard state.faults.first?.0 == command else { return .pass }
      state.hasFailed = true
      return state.faults.removeFirst().1
    }
  }
}

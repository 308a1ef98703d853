import AgentRelay
import Base
import Glibc
import ProcessSupport

let usage = """
  Usage: switchboard-relay

  Passes the requests of paired phones to the agent, and closes the connections of revoked phones.
  Its listening socket is the standard input, or comes from systemd. Without systemd, spawn-fcgi makes one:

    spawn-fcgi -n -s /run/switchboard/relay.sock -- switchboard-relay

  """

/// Prints `text` on standard error, and ends the program.
func end(_ text: String, status: Int32) -> Never {
  let bytes = Array(text.utf8)
  _ = write(STDERR_FILENO, bytes, bytes.count)
  exit(status)
}

if CommandLine.arguments.count > 1 {
  guard ["-h", "--help"].contains(CommandLine.arguments[1]) else { end(usage, status: EX_USAGE) }
  print(usage, terminator: "")
  exit(0)
}
useOneHeap()
signal(SIGPIPE, SIG_IGN)  // a lost peer is an error of the write, not our end
let notifier = ServiceNotifier.ofProcess()
guard case .listening(let listener) = InheritedSocket.inherit() else {
  end("Error: The relay needs a listening socket as its standard input.\n", status: EX_USAGE)
}
do {
  var relay = try Configuration(Environment.ofProcess()).relay(on: listener)
  releaseStartPages()
  var isReady = false
  relay.run(until: stopSignal()) {
    notifier.tell(isReady ? .alive : .ready)
    isReady = true
  }
  notifier.tell(.stopping)
} catch {
  // Restarting cannot fix the configuration.
  end("Error: \(error)\n", status: error is ConfigurationError ? EX_CONFIG : 1)
}

import Base
import Foundation
import Logging
import StoreCore
import Support
import Synchronization

@testable import AgentRelay

/// A relay on a unix socket, with a scripted agent. A set replaces the database.
final class RunningRelay: Sendable {
  /// Serves one connection to the agent.
  typealias Script = @Sendable (ScriptedAgent.Connection) -> Void

  let agent: ScriptedAgent
  /// Holds the answer to the relay's question 0, 1, … to the database, after the database has read
  /// who is admitted.
  let gate = Gate()
  private let ended = Mutex<Set<AgentClient>>([])
  private let questions = Mutex(0)
  private let path = "/tmp/switchboard-relay-\(UUID().uuidString.prefix(8)).sock"
  private let stop = Latch()
  private let thread: Mutex<pthread_t?>
  private let work = WatchedWork("runs a relay")

  init(limits: RelayLimits = .never, _ script: @escaping Script = ScriptedAgent.answersOK) {
    agent = ScriptedAgent(script)
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let isBound = withAddress(of: path) { bind(listener, $0, $1) == 0 }
    if !isBound || listen(listener, 64) != 0 { recordIssue("no socket at \(path)") }
    thread = Mutex(nil)
    let addresses = AgentAddress.addresses(of: agent.address)
    let running = startThread { [self] in
      var relay = Relay(
        listener: listener, agent: addresses, requiresAuth: true, limits: limits,
        ended: { [self] clients in
          let read = ended.withLock { $0 }.intersection(clients)
          let question = questions.withLock { count in
            defer { count += 1 }
            return count
          }
          gate.pass("\(question)")
          return read
        },
        log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
      relay.run(until: stop) {}
      close(listener)
    }
    thread.withLock { $0 = running }
  }

  /// Ends the client's pairing.
  func end(_ client: AgentClient) { ended.withLock { _ = $0.insert(client) } }

  /// A connection as of the web server.
  func connection() -> Wire { Wire(unixSocket: path) }

  func beginStopping() { stop.set() }

  /// Waits for the relay's end after ``beginStopping()``.
  func awaitEnd() {
    let running = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    if let running { waiting(for: "the end of the relay") { _ = pthread_join(running, nil) } }
    unlink(path)
    agent.end()
  }
}

extension RelayLimits {
  /// Limits longer than a test.
  static let never: RelayLimits = {
    let long = Duration.seconds(86_400)
    var limits = RelayLimits()
    (limits.head, limits.ask, limits.connect) = (long, long, long)
    (limits.answer, limits.idle, limits.drain) = (long, long, long)
    return limits
  }()
}

/// Calls `body` with a relay, which ends afterwards.
func withRelay(
  limits: RelayLimits = .never,
  _ script: @escaping RunningRelay.Script = ScriptedAgent.answersOK,
  _ body: (RunningRelay) throws -> Void
) rethrows {
  let relay = RunningRelay(limits: limits, script)
  defer {
    relay.beginStopping()
    relay.awaitEnd()
  }
  try body(relay)
}

/// An agent that notes the head of each request, with the number of its connection.
final class ScriptedAgent: Sendable {
  struct Seen: Equatable {
    let connection: Int
    let head: String
  }

  /// A connection from the relay.
  struct Connection {
    let wire: Wire
    /// From 0.
    let number: Int
    fileprivate let agent: ScriptedAgent

    /// The head of the next request; nil at the end.
    func request() -> String? {
      guard let head = wire.head() else { return nil }
      agent.requests.withLock { $0.append(Seen(connection: number, head: head)) }
      return head
    }
  }

  /// Answers each request, and never ends a connection.
  static let answersOK: RunningRelay.Script = { connection in
    while connection.request() != nil { connection.wire.write(ok) }
  }
  static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  private let requests = Mutex<[Seen]>([])
  private let connections = Mutex(0)
  private let listener = LoopbackListener()!  // a free port

  var address: String { "127.0.0.1:\(listener.port)" }
  var seen: [Seen] { requests.withLock { $0 } }

  init(_ script: @escaping RunningRelay.Script) {
    listener.begin { [self] descriptor in
      let number = connections.withLock { count in
        defer { count += 1 }
        return count
      }
      script(Connection(wire: Wire(descriptor), number: number, agent: self))
    }
  }

  func end() { listener.end() }
}

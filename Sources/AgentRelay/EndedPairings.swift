import Base
import Glibc
import Logging
import StoreCore
import Synchronization

/// Asks the database once a second which clients with open connections are no longer admitted.
///
/// Runs on its own thread, so that a slow database does not delay other connections.
final class EndedPairings: Sendable {
  static let interval = Duration.seconds(1)

  private struct State {
    var held: Set<AgentClient> = []
    var ended: Set<AgentClient> = []
  }

  private let state = Mutex(State())
  private let database: AgentClients
  private let log: Logger
  private let signal = PollSignal()
  private let stop = Flag()

  init(database: AgentClients, log: Logger) {
    self.database = database
    self.log = log
  }

  /// Becomes readable when a pairing has ended.
  var descriptor: CInt { signal.reader }

  /// Asks until ``stopAsking()``.
  func startAsking() {
    pthread_detach(
      startThread { [self] in
        var isAway = false
        while !stop.isSet {
          let next = ContinuousClock.now + Self.interval
          ask(&isAway)
          usleep(useconds_t(max(0, (next - .now) / .microseconds(1))))
        }
      })
  }

  func stopAsking() { stop.set() }

  /// Sets the clients that hold connections.
  func watch(_ clients: Set<AgentClient>) { state.withLock { $0.held = clients } }

  /// The clients whose connections must be closed.
  func take() -> Set<AgentClient> {
    signal.clear()
    return state.withLock { state in
      defer { state.ended = [] }
      return state.ended
    }
  }

  /// Keeps connections open while the database does not answer, because revocations are unknown
  /// then.
  private func ask(_ isAway: inout Bool) {
    let held = state.withLock(\.held)
    guard held.contains(where: { $0 != .anyone }) else { return }
    do {
      let ended = try database.ended(among: held, at: .now())
      if isAway { log.notice("The database answers again.") }
      isAway = false
      guard !ended.isEmpty else { return }
      state.withLock { $0.ended.formUnion(ended) }
      signal.send()
    } catch {
      if !isAway {
        log.error("Cannot read revocations; connections to the agent stay open. \(error)")
      }
      isAway = true
    }
  }
}

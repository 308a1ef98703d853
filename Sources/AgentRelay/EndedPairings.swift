import Base
import Glibc
import Logging
import StoreCore

/// Asks the database which clients with open connections are no longer admitted.
///
/// Runs on its own thread, so that a slow database does not delay other connections.
final class EndedPairings: Sendable {
  private struct State {
    /// Clients to ask about; empty if the thread has nothing to do.
    var held: Set<AgentClient> = []
    var ended: Set<AgentClient> = []
    var isStopped = false
  }

  private let state = Monitor(State())
  private let ended: EndedClients
  private let log: Logger
  private let signal = PollSignal()

  init(ended: @escaping EndedClients, log: Logger) {
    self.ended = ended
    self.log = log
  }

  /// Becomes readable when a pairing has ended.
  var descriptor: CInt { signal.reader }

  /// Answers until ``stop()``.
  func start() {
    pthread_detach(
      startThread { [self] in
        var isAway = false
        while let held = state.wait(Self.takeHeld) { ask(about: held, &isAway) }
      })
  }

  func stop() { state.with { $0.isStopped = true } }

  /// Asks about the clients that hold connections. Replaces a question that has not been sent yet.
  func ask(about held: Set<AgentClient>) {
    // Only tokens and pairings end.
    let held = held.subtracting([.anyone])
    if !held.isEmpty { state.with { $0.held = held } }
  }

  /// - Returns: an inner nil after ``stop()``.
  private static func takeHeld(_ state: inout State) -> Set<AgentClient>?? {
    if state.isStopped { return .some(nil) }
    guard !state.held.isEmpty else { return nil }
    defer { state.held = [] }
    return state.held
  }

  /// The clients whose connections must be closed.
  func take() -> Set<AgentClient> {
    signal.clear()
    return state.with { state in
      defer { state.ended = [] }
      return state.ended
    }
  }

  /// Keeps connections open while the database does not answer, because revocations are unknown
  /// then.
  private func ask(about held: Set<AgentClient>, _ isAway: inout Bool) {
    do {
      let ended = try ended(held)
      if isAway { log.notice("The database answers again.") }
      isAway = false
      guard !ended.isEmpty else { return }
      state.with { $0.ended.formUnion(ended) }
      signal.send()
    } catch {
      if !isAway {
        log.error("Cannot read revocations; connections to the agent stay open. \(error)")
      }
      isAway = true
    }
  }
}

import Base
import Glibc
import Logging
import StoreCore

/// Asks the database whether the clients of new requests are admitted, because the relay trusts
/// neither the web server nor the responder.
///
/// Runs on its own thread, so that a slow database does not delay other connections.
final class ClientAdmissions: Sendable {
  /// The database's answer about a client.
  enum Verdict: Sendable {
    case admitted, ended
    /// The database does not answer.
    case unknown
  }

  /// The newest verdicts since they were taken last.
  struct Verdicts {
    /// Number of the last question that has been answered.
    var question = 0
    var ofClients: [AgentClient: Verdict] = [:]
  }

  private struct State {
    /// Number of the question that collects clients.
    var question = 1
    var asked: Set<AgentClient> = []
    var verdicts = Verdicts()
    var isStopped = false
  }

  private let state = Monitor(State())
  private let ended: EndedClients
  private let requiresAuth: Bool
  private let log: Logger
  private let signal = PollSignal()

  /// - Parameter requiresAuth: false admits clients without a token.
  init(ended: @escaping EndedClients, requiresAuth: Bool, log: Logger) {
    self.ended = ended
    self.requiresAuth = requiresAuth
    self.log = log
  }

  /// Becomes readable when there are verdicts.
  var descriptor: CInt { signal.reader }

  /// Answers until ``stop()``.
  func start() {
    pthread_detach(
      startThread { [self] in
        while let clients = state.wait(Self.takeAsked) { answer(clients) }
      })
  }

  func stop() { state.with { $0.isStopped = true } }

  /// - Returns: the number of the question. Verdicts of an earlier one say nothing about a request
  ///   that arrived later.
  func ask(about clients: Set<AgentClient>) -> Int {
    state.with { state in
      state.asked.formUnion(clients)
      return state.question
    }
  }

  /// The verdicts since the last call.
  func take() -> Verdicts {
    signal.clear()
    return state.with { state in
      defer { state.verdicts.ofClients = [:] }
      return state.verdicts
    }
  }

  /// - Returns: an inner nil after ``stop()``.
  private static func takeAsked(_ state: inout State) -> Set<AgentClient>?? {
    if state.isStopped { return .some(nil) }
    guard !state.asked.isEmpty else { return nil }
    defer {
      state.asked = []
      state.question += 1
    }
    return state.asked
  }

  private func answer(_ clients: Set<AgentClient>) {
    var verdicts: [AgentClient: Verdict] = [:]
    do {
      let ended = try ended(clients)
      for client in clients {
        let isOut = client == .anyone ? requiresAuth : ended.contains(client)
        verdicts[client] = isOut ? .ended : .admitted
      }
    } catch {
      log.error("Requests to the agent are refused: the database does not answer. \(error)")
      for client in clients { verdicts[client] = .unknown }
    }
    let answered = verdicts
    state.with { state in
      state.verdicts.question += 1
      state.verdicts.ofClients.merge(answered) { $1 }
    }
    signal.send()
  }
}

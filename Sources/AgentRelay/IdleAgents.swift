import StoreCore

/// Connections to the agent on which an answer has ended, for further requests of the same client.
///
/// Serves no other client: bytes that an agent sends too late can then never become a part of the
/// answer to another phone.
struct IdleAgents {
  private static let limit = 16

  private struct Idle {
    let client: AgentClient
    let socket: RelaySocket
    let since = ContinuousClock.now
  }

  private let lifetime: Duration
  /// The one that became idle last is the last.
  private var idle: [Idle] = []

  init(lifetime: Duration) {
    self.lifetime = lifetime
  }

  /// Closes the oldest connection if there are too many.
  mutating func keep(_ socket: RelaySocket, for client: AgentClient) {
    socket.watch(nil, tag: 0)
    if idle.count == Self.limit { idle.removeFirst() }
    idle.append(Idle(client: client, socket: socket))
  }

  /// A connection of `client` on which nothing has arrived since the answer.
  mutating func take(for client: AgentClient) -> RelaySocket? {
    while let index = idle.lastIndex(where: { $0.client == client }) {
      let socket = idle.remove(at: index).socket
      if !socket.hasInput { return socket }
    }
    return nil
  }

  /// Closes those that are too old, or that the agent has ended.
  mutating func closeOld(at now: ContinuousClock.Instant) {
    idle.removeAll { now - $0.since >= lifetime || $0.socket.hasInput }
  }
}

import Base
import Glibc
package import Logging
package import StoreCore

/// Passes requests that the responder has admitted from the web server to the agent, and closes the
/// connections of clients that are no longer admitted.
package struct Relay {
  /// Maximum number of connections, far more than the phones of one site need.
  private static let connectionLimit = 4096
  private static let drainLimit = Duration.seconds(5)

  private let listener: CInt
  private let addresses: [AgentAddress]
  private let log: Logger
  private let pairings: EndedPairings
  private let admissions: ClientAdmissions
  private var connections: [RelayConnection] = []

  /// - Parameters:
  ///   - listener: a listening socket to which only the web server and the responder may connect.
  ///   - agent: the agent's addresses; not empty.
  ///   - requiresAuth: false admits clients without a token that the responder has admitted.
  package init(
    listener: CInt, agent: [AgentAddress], requiresAuth: Bool, database: AgentClients, log: Logger
  ) {
    self.listener = listener
    addresses = agent
    self.log = log
    pairings = EndedPairings(database: database, log: log)
    admissions = ClientAdmissions(database: database, requiresAuth: requiresAuth, log: log)
    _ = fcntl(listener, F_SETFD, FD_CLOEXEC)
    _ = fcntl(listener, F_SETFL, fcntl(listener, F_GETFL, 0) | O_NONBLOCK)
    raiseDescriptorLimit(to: rlim_t(2 * Self.connectionLimit + 64))
  }

  /// Serves until SIGTERM or SIGINT. Then closes web sockets, and gives other requests five seconds
  /// to end.
  ///
  /// - Parameter isAlive: called about once a second, for the first time when the relay is ready.
  package mutating func run(isAlive: () -> Void) {
    let stop = stopSignal()
    pairings.startAsking()
    admissions.start()
    defer {
      pairings.stopAsking()
      admissions.stop()
    }
    var nextSign = ContinuousClock.now
    while !stop.isSet {
      if ContinuousClock.now >= nextSign {
        isAlive()
        nextSign = .now + .seconds(1)
      }
      turn(stop: stop, isAccepting: true)
    }
    let end = ContinuousClock.now + Self.drainLimit
    for connection in connections where connection.isUpgrade { connection.close() }
    while !connections.isEmpty, ContinuousClock.now < end { turn(stop: nil, isAccepting: false) }
    for connection in connections { connection.close() }
  }

  /// Waits for events for at most a second, and handles them.
  private mutating func turn(stop: Latch?, isAccepting: Bool) {
    connections.removeAll(where: \.isClosed)
    pairings.watch(Set(connections.compactMap(\.client)))
    let mayAccept = isAccepting && connections.count < Self.connectionLimit
    let own = [
      stop?.reader ?? -1, pairings.descriptor, mayAccept ? listener : -1, admissions.descriptor,
    ]
    var polled = own.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    for connection in connections {
      let interest = connection.interest
      polled += [interest.front, interest.agent]
    }
    guard poll(&polled, nfds_t(polled.count), 1000) >= 0 else { return }
    let now = ContinuousClock.now
    for (number, connection) in connections.enumerated() {
      connection.advance(
        front: polled[own.count + 2 * number].revents,
        agent: polled[own.count + 1 + 2 * number].revents, at: now)
    }
    if polled[1].revents != 0 { closeEnded() }
    if polled[3].revents != 0 { admit() }
    admissions.ask(about: Set(connections.compactMap { $0.takeQuestion() }))
    if polled[2].revents != 0 { accept() }
  }

  private mutating func accept() {
    while connections.count < Self.connectionLimit,
      case let front = Glibc.accept(listener, nil, nil), front >= 0
    {
      _ = fcntl(front, F_SETFD, FD_CLOEXEC)
      _ = fcntl(front, F_SETFL, O_NONBLOCK)
      connections.append(RelayConnection(front: front, addresses: addresses))
    }
  }

  private func admit() {
    let verdicts = admissions.take()
    for connection in connections {
      if let client = connection.client, let verdict = verdicts[client] {
        connection.take(verdict)
      }
    }
  }

  private func closeEnded() {
    let ended = pairings.take()
    let closed = connections.filter { !$0.isClosed && $0.client.map(ended.contains) ?? false }
    for connection in closed { connection.close() }
    for (client, its) in Dictionary(grouping: closed, by: \.client) {
      guard let client else { continue }
      log.notice(
        "Closed \(its.count) connections to the agent: revoked or expired.",
        metadata: ["client": "\(client.logName)"])
    }
  }
}

extension AgentClient {
  /// Name for the log, without the app's name.
  fileprivate var logName: String {
    switch self {
    case .phone(let id, _): id
    case .pairingToken: "a pairing token"
    case .anyone: "anyone"
    }
  }
}

/// Raises the soft limit of open files, as far as the hard one allows.
private func raiseDescriptorLimit(to wanted: rlim_t) {
  var limit = rlimit()
  guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < wanted
  else { return }
  limit.rlim_cur = min(wanted, limit.rlim_max)
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

package import Base
import Glibc
package import Logging
package import StoreCore

/// Asks the database which of the clients are not admitted.
package typealias EndedClients = @Sendable (Set<AgentClient>) throws -> Set<AgentClient>

/// Passes requests that the responder has admitted from the web server to the agent, and closes the
/// connections of clients that are no longer admitted.
package struct Relay {
  /// Maximum number of connections, far more than the phones of one site need.
  private static let mostConnections = 4096
  /// Descriptors that are not of connections, such as those of idle agents and of the database.
  private static let ownDescriptors = 64

  private static let interval = Duration.seconds(1)

  /// Tags of the relay's own descriptors. Connections have larger tags.
  private enum Tag {
    static let stop: UInt64 = 0
    static let listener: UInt64 = 1
    static let pairings: UInt64 = 2
    static let admissions: UInt64 = 3
    static let firstConnection: UInt64 = 4
  }

  private let listener: CInt
  /// Smaller than ``mostConnections`` if the process may open only few descriptors.
  private let connectionLimit: Int
  private let log: Logger
  private let pairings: EndedPairings
  private let admissions: ClientAdmissions
  private let resources: RelayResources
  private var connections: [UInt64: RelayConnection] = [:]
  private var nextTag = Tag.firstConnection
  /// Connections whose clients were asked about, with the numbers of the questions.
  private var asking: [(connection: RelayConnection, question: Int)] = []
  private var isListening = false
  private var nextSweep = ContinuousClock.now

  /// - Parameters:
  ///   - listener: a listening socket to which only the web server and the responder may connect.
  ///   - agent: the agent's addresses; not empty.
  ///   - requiresAuth: false admits clients without a token that the responder has admitted.
  package init(
    listener: CInt, agent: [AgentAddress], requiresAuth: Bool,
    limits: RelayLimits = RelayLimits(), ended: @escaping EndedClients,
    log: Logger
  ) {
    self.listener = listener
    self.log = log
    resources = RelayResources(addresses: agent, limits: limits)
    pairings = EndedPairings(ended: ended, log: log)
    admissions = ClientAdmissions(ended: ended, requiresAuth: requiresAuth, log: log)
    _ = fcntl(listener, F_SETFD, FD_CLOEXEC)
    _ = fcntl(listener, F_SETFL, fcntl(listener, F_GETFL, 0) | O_NONBLOCK)
    let wanted = 2 * Self.mostConnections + Self.ownDescriptors
    connectionLimit = max(1, (raiseDescriptorLimit(to: wanted) - Self.ownDescriptors) / 2)
  }

  /// Serves until `stop` is set. Then closes web sockets, and gives other requests
  /// ``RelayLimits/drain`` to end. Meanwhile a connection takes at most one further request, because the web server may
  /// have sent it before it learns of the end.
  ///
  /// - Parameter isAlive: called about once a second, for the first time when the relay is ready.
  package mutating func run(until stop: Latch, isAlive: () -> Void) {
    let poller = resources.poller
    poller.watch(stop.reader, from: nil, to: .input, tag: Tag.stop)
    poller.watch(pairings.descriptor, from: nil, to: .input, tag: Tag.pairings)
    poller.watch(admissions.descriptor, from: nil, to: .input, tag: Tag.admissions)
    pairings.start()
    admissions.start()
    defer {
      pairings.stop()
      admissions.stop()
    }
    isAlive()
    while !resources.isStopping { if turn() { isAlive() } }
    poller.watch(stop.reader, from: .input, to: nil, tag: Tag.stop)
    let end = ContinuousClock.now + resources.limits.drain
    for connection in connections.values where connection.isUpgrade { connection.close() }
    removeClosed()
    while !connections.isEmpty, ContinuousClock.now < end { turn() }
    for connection in connections.values { connection.close() }
  }

  /// Waits for events until the next sweep, and handles them. The relay's own descriptors come last, so that
  /// no event belongs to a socket that was made meanwhile.
  ///
  /// - Returns: whether it has swept, which happens once a second.
  @discardableResult
  private mutating func turn() -> Bool {
    listen(!resources.isStopping && connections.count < connectionLimit)
    var asked: [RelayConnection] = []
    var own: [UInt64] = []
    for event in resources.poller.wait(until: nextSweep) {
      guard let connection = connections[event.tag & ~1] else {
        own.append(event.tag)
        continue
      }
      connection.advance(event.readiness, ofAgent: event.tag & 1 == 1)
      if connection.isClosed { connections[connection.tag] = nil }
      asked.append(connection)
    }
    if own.contains(Tag.pairings) { closeEnded() }
    if own.contains(Tag.admissions) { admit() }
    ask(about: asked)
    if own.contains(Tag.listener) { accept() }
    if own.contains(Tag.stop) { resources.isStopping = true }
    let now = ContinuousClock.now
    guard now >= nextSweep else { return false }
    sweep(at: now)
    return true
  }

  private mutating func listen(_ mayAccept: Bool) {
    guard mayAccept != isListening else { return }
    resources.poller.watch(
      listener, from: isListening ? .input : nil, to: mayAccept ? .input : nil, tag: Tag.listener)
    isListening = mayAccept
  }

  private mutating func accept() {
    while connections.count < connectionLimit,
      case let descriptor = Glibc.accept(listener, nil, nil), descriptor >= 0
    {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      let front = RelaySocket(descriptor, poller: resources.poller)
      connections[nextTag] = RelayConnection(front: front, tag: nextTag, resources: resources)
      nextTag += 2
    }
  }

  private mutating func ask(about connections: [RelayConnection]) {
    let new = connections.filter(\.hasQuestion)
    guard !new.isEmpty else { return }
    let question = admissions.ask(about: Set(new.compactMap(\.client)))
    for connection in new { connection.hasQuestion = false }
    asking += new.map { ($0, question) }
  }

  private mutating func admit() {
    let verdicts = admissions.take()
    for (connection, question) in asking where question <= verdicts.question {
      guard let verdict = connection.client.flatMap({ verdicts.ofClients[$0] }) else { continue }
      connection.take(verdict)
      if connection.isClosed { connections[connection.tag] = nil }
    }
    asking.removeAll { $0.question <= verdicts.question }
  }

  /// Ends waits that have taken too long, and asks which clients must go.
  private mutating func sweep(at now: ContinuousClock.Instant) {
    nextSweep = now + Self.interval
    for connection in connections.values { connection.expire(at: now) }
    removeClosed()
    resources.idleAgents.closeOld(at: now)
    pairings.ask(about: Set(connections.values.compactMap(\.client)))
  }

  private mutating func removeClosed() {
    for (tag, connection) in connections where connection.isClosed { connections[tag] = nil }
  }

  private mutating func closeEnded() {
    let ended = pairings.take()
    let closed = connections.values.filter { $0.client.map(ended.contains) ?? false }
    for connection in closed { connection.close() }
    removeClosed()
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
///
/// - Returns: the new limit, at most `wanted`.
private func raiseDescriptorLimit(to wanted: Int) -> Int {
  var limit = rlimit()
  guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return wanted }
  guard limit.rlim_cur < wanted else { return wanted }
  limit.rlim_cur = min(rlim_t(wanted), limit.rlim_max)
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  return Int(limit.rlim_cur)
}

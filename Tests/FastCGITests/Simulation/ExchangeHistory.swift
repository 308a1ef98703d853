import Foundation
import Support

@testable import FastCGI

/// A random history of a web server and a FastCGI server that share a socket: requests arrive in pieces, connections are
/// kept, closed and cut, and the server drains, stops and is replaced at any step.
///
/// The threads of the server take their own time, so one seed has many histories.
final class ExchangeHistory {
  private let seed: UInt64
  private var chance: SeededGenerator
  private let site: SimulatedSite
  private var server: RunningServer!
  /// Connections of this process that have nothing to do with the history.
  private let before: Set<CInt>
  private var connections: [SimulatedConnection] = []
  private var nextNumber = 0
  private var isDraining = false
  /// Connections that are older than the last stop: the stop may have cut them.
  private var beforeStop: Set<ObjectIdentifier> = []
  private var isStopped = false
  private var waits = 0
  private var problem: String?

  init(seed: UInt64) throws {
    self.seed = seed
    chance = SeededGenerator(state: seed)
    site = try SimulatedSite(&chance)
    before = openConnections()
    server = try site.start()
  }

  /// - Returns: the first problem.
  func play() throws -> String? {
    try waiting(for: "the end of the history of seed \(seed)") { try playToTheEnd() }
  }

  private func playToTheEnd() throws -> String? {
    let most = Int.random(in: 1...8, using: &chance)
    for _ in 0..<Int.random(in: 5...60, using: &chance) where problem == nil {
      try step(most)
    }
    try settle()
    problem = problem ?? site.problem
    connections = []
    if problem == nil { try meet() }
    if problem == nil { end() }
    if problem != nil { giveUp() }
    return problem ?? site.problem
  }

  /// Ends the server, so that the next history begins without it.
  private func giveUp() {
    server.server.drain()
    while server.server.phase == .serving { sched_yield() }
    server.terminate()
    awaitEvent("the end of the server after: \(problem ?? "")") {
      site.openGate()
      return server.hasEnded()
    }
  }

  private func step(_ most: Int) throws {
    try replaceEndedServer()
    guard let connection = connections.randomElement(using: &chance) else { return try connect() }
    switch Int.random(in: 0..<64, using: &chance) {
    case 0..<8 where connections.count < most: try connect()
    case 8..<34: sendPiece(on: connection)
    case 34..<52: try receive(on: connection)
    case 52..<55: sched_yield()
    case 55..<57: poll(nil, 0, 1)
    case 57, 58: site.openGate()
    case 59: remove(connection)
    case 60: connection.endSending()
    case 61 where Int.random(in: 0..<4, using: &chance) == 0: drain()
    case 62 where Int.random(in: 0..<8, using: &chance) == 0: stop()
    default: beginRequest(on: connection)
    }
  }

  private func connect() throws {
    connections.append(try SimulatedConnection(to: site.endpoint.path))
    if Bool.random(using: &chance) { beginRequest(on: connections.last!) }
  }

  /// Closes a connection, at any octet.
  private func remove(_ connection: SimulatedConnection) {
    connections.removeAll { $0 === connection }
  }

  private func beginRequest(on connection: SimulatedConnection) {
    guard connection.isIdle else { return }
    nextNumber += 1
    let request = SimulatedRequest(nextNumber, &chance)
    site.expect(request)
    if request.isWait { waits += 1 }
    connection.begin(request)
  }

  private func sendPiece(on connection: SimulatedConnection) {
    if connection.request == nil { beginRequest(on: connection) }
    let all = connection.unsent
    guard all > 0 else { return }
    let counts = [all, all, all - 1, all - 8, all / 2, 1, 8, 16, 100]
    send(max(1, counts.randomElement(using: &chance)!), on: connection)
  }

  private func send(_ count: Int, on connection: SimulatedConnection) {
    guard let request = connection.request, connection.unsent > 0 else { return }
    if connection.isComplete(after: min(count, connection.unsent)) { site.noteSent(request) }
    connection.send(count)
    let begun = connections.filter(\.isBegun)
    for other in begun where begun.count > site.partialRequestLimit { other.mayBeDropped = true }
  }

  private func drain() {
    server.server.drain()
    isDraining = true
  }

  private func stop() {
    if isStopped { return }
    drain()
    while server.server.phase == .serving { sched_yield() }
    server.terminate()
    isStopped = true
    beforeStop = Set(connections.map { ObjectIdentifier($0) })
  }
}

// MARK: - Answers

extension ExchangeHistory {
  private func receive(on connection: SimulatedConnection) throws {
    do {
      if let answer = try connection.read() { check(answer, on: connection) }
    } catch {
      problem = "\(describe(connection)): \(error)"
    }
    if connection.hasEnded { checkEnd(of: connection) }
  }

  private func check(_ answer: [UInt8], on connection: SimulatedConnection) {
    guard let request = connection.request, request.isAnswer(answer), request.defect == nil else {
      problem = "\(describe(connection)): \(Answer(answer).head)"
      return
    }
    if !connection.isComplete() { problem = "\(describe(connection)): answered before its end" }
    if !site.isHandled(request) { problem = "\(describe(connection)): not handled" }
    if answer.starts(with: "Status: 503".utf8), waits <= site.waiters {
      problem = "\(describe(connection)): it may not wait"
    }
    connection.finish()
  }

  /// Checks whether the server was allowed to close the connection.
  private func checkEnd(of connection: SimulatedConnection) {
    let isCut = beforeStop.contains(ObjectIdentifier(connection))
    let isLate = connection.isBegun && .now - connection.begunAt >= site.requestTimeLimit
    let mayBeDropped = connection.mayBeDropped || isLate
    if connection.hasPartOfAnswer, !isCut {
      problem = "\(describe(connection)): closed within its answer"
    } else if connection.expectsAnswer, !mayBeDropped, !isCut {
      problem = "\(describe(connection)): closed without an answer"
    } else if connection.request == nil, !connection.mayEnd, !isCut {
      problem = "\(describe(connection)): closed although it is kept"
    } else if let request = connection.request, request.defect == nil, !connection.isComplete(),
      !connection.hasEndedSending, !mayBeDropped, !isCut
    {
      problem = "\(describe(connection)): closed before the end of the request"
    }
    remove(connection)
  }

  private func describe(_ connection: SimulatedConnection) -> String {
    guard let request = connection.request else { return "idle connection" }
    return "request \(request.number) (\(request.defect ?? "well-formed"), kept \(request.isKept), "
      + "\(connection.unsent) of \(request.octets.count) octets left, cut \(connection.isCut))"
  }
}

// MARK: - The end

extension ExchangeHistory {
  /// Sends the rest of all requests, and waits for what must come.
  private func settle() throws {
    try awaitEvent("answers: \(connections.map(describe))") {
      guard problem == nil, site.problem == nil, !connections.isEmpty else { return true }
      site.openGate()
      try replaceEndedServer()
      for connection in connections {
        if connection.isIdle || connection.request == nil && connection.hasEndedSending {
          remove(connection)
          continue
        }
        // An impatient server ends the others.
        if !site.isImpatient || !connection.isBegun || connection.hasEndedSending {
          send(.max, on: connection)
        }
        try receive(on: connection)
      }
      var polled = connections.map {
        pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
      }
      poll(&polled, nfds_t(polled.count), 1)
      return false
    }
  }

  private func awaitEvent(
    _ event: @autoclosure () -> String, _ condition: () throws -> Bool
  ) rethrows {
    try wait(for: "seed \(seed): \(event())", pause: 0, until: condition)
  }

  /// Starts the next server when this one has ended.
  private func replaceEndedServer() throws {
    guard isDraining, server.hasEnded() else { return }
    closeLeftConnections()
    server = try site.start()
    isDraining = false
    isStopped = false
  }

  /// Ends the connections that a stopped server leaves to the end of its process. There are none after it drained.
  private func closeLeftConnections() {
    weak let ended = server.server
    server = nil
    let ours = before.union(connections.map(\.descriptor))
    let left = openConnections().subtracting(ours)
    if !left.isEmpty, !isStopped { problem = "\(left.count) connections are left open" }
    awaitEvent("the end of the server's threads") {
      site.openGate()
      for descriptor in openConnections().subtracting(ours) {
        shutdown(descriptor, CInt(SHUT_RDWR))
      }
      return ended == nil
    }
    for descriptor in openConnections().subtracting(ours) { close(descriptor) }
  }

  /// Lets as many requests meet as there are workers, while as many wait as may: so no thread is lost.
  private func meet() throws {
    try awaitEvent("the end of the server") {
      if isDraining { try replaceEndedServer() }
      return !isDraining
    }
    awaitEvent("the end of partial requests and of waits") {
      site.openGate()  // for handlers whose connection is closed
      return server.server.partialRequests.withLock { $0.isEmpty } && areWaitersFree
    }
    let held = try send("/hold", site.waiters)
    awaitEvent("waiting requests") { site.holding == site.waiters }
    let fresh = try send("/meet", site.workers)
    for connection in fresh { try expectSuccess(on: connection) }
    site.releaseAll()
    for connection in held { try expectSuccess(on: connection) }
  }

  /// Sends requests for this path over new connections.
  private func send(_ path: String, _ count: Int) throws -> [Connection] {
    try (0..<count).map { _ in
      let connection = try server.connect()
      try connection.send(requestBytes("GET", path))
      return connection
    }
  }

  private func expectSuccess(on connection: Connection) throws {
    let answer = try waiting(for: "seed \(seed): as many workers as before") {
      try connection.answer()
    }
    if !answer.head.hasPrefix("Status: 200") { problem = "a worker is lost" }
  }

  private var areWaitersFree: Bool {
    var slots = 0
    while server.server.waiterSlots.tryToTake() { slots += 1 }
    for _ in 0..<slots { server.server.waiterSlots.give() }
    return slots == site.waiters
  }

  /// Drains the server, which has no connection any more.
  private func end() {
    server.server.drain()
    awaitEvent("the end of the server without connections") { server.hasEnded() }
    closeLeftConnections()
  }
}

/// Descriptors of this process.
func openDescriptors() -> Set<CInt> {
  guard let folder = opendir("/proc/self/fd") else { return [] }
  defer { closedir(folder) }
  var found: Set<CInt> = []
  while let entry = readdir(folder) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if let number = CInt(name), number != dirfd(folder) { found.insert(number) }
  }
  return found
}

/// Connected sockets of this process.
func openConnections() -> Set<CInt> {
  openDescriptors().filter { descriptor in
    var address = sockaddr()
    var length = socklen_t(MemoryLayout.size(ofValue: address))
    return getpeername(descriptor, &address, &length) == 0
  }
}

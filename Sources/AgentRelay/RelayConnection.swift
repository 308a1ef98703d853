import Glibc
import StoreCore

/// One request to the agent: a connection from the web server, and one to the agent.
///
/// Reads from one side only after the other side has accepted the bytes before (back-pressure). So
/// a connection buffers at most 16 KiB in each direction, and nothing while it is idle.
final class RelayConnection {
  private enum Phase {
    /// The head of the request is incomplete.
    case head
    /// The head has named the client; the database's answer about it is awaited.
    case asking
    case connecting(to: Int)
    case open
    /// The answer is complete; further input is dropped.
    case answered
    case closed
  }

  static let chunk = 16 * 1024
  private static let headLimit = Duration.seconds(10)
  private static let askLimit = Duration.seconds(5)
  private static let connectLimit = Duration.seconds(2)
  private static let answerLimit = Duration.seconds(10)

  private let front: CInt
  private var agent: CInt = -1
  private let addresses: [AgentAddress]
  private var phase = Phase.head
  private var isProbe = false
  /// Whether the agent has ended; the connection is closed when the web server has all bytes.
  private var isAgentDone = false
  /// Interim answer for the web server, which then sends the content.
  private var interim: [UInt8] = []
  /// nil until the head of the request has been read.
  private var answer: AgentAnswer?
  private var toAgent: [UInt8] = []
  private var toFront: [UInt8] = []
  private var deadline: ContinuousClock.Instant?
  /// nil until the head has been read.
  private(set) var client: AgentClient?
  /// Whether the database has not been asked about the client yet.
  private var hasQuestion = false
  /// Whether the request opens a web socket, which may stay open for days.
  private(set) var isUpgrade = false

  /// - Parameter front: an accepted nonblocking connection, owned by this object.
  init(front: CInt, addresses: [AgentAddress]) {
    self.front = front
    self.addresses = addresses
    deadline = .now + Self.headLimit
  }

  deinit { close() }

  var isClosed: Bool { if case .closed = phase { true } else { false } }

  func close() {
    guard !isClosed else { return }
    phase = .closed
    Glibc.close(front)
    closeAgent()
  }

  private func closeAgent() {
    if agent >= 0 { Glibc.close(agent) }
    agent = -1
  }

  /// Events to wait for at the web server and at the agent.
  var interest: (front: pollfd, agent: pollfd) {
    var (atFront, atAgent): (CInt, CInt) = (toFront.isEmpty ? 0 : POLLOUT, 0)
    switch phase {
    case .head, .answered: atFront |= POLLIN
    case .asking: break
    case .connecting: atAgent = POLLOUT
    case .open:
      if toAgent.isEmpty { atFront |= POLLIN } else { atAgent |= POLLOUT }
      if toFront.isEmpty, !isAgentDone { atAgent |= POLLIN }
    case .closed: break
    }
    // Leaves out the agent's descriptor while it has no events to wait for, because `poll` would
    // report its end all the time.
    return (
      pollfd(fd: front, events: Int16(atFront), revents: 0),
      pollfd(fd: atAgent == 0 ? -1 : agent, events: Int16(atAgent), revents: 0)
    )
  }

  /// Handles the events, and the deadline if it has passed.
  func advance(front: Int16, agent: Int16, at now: ContinuousClock.Instant) {
    if agent != 0 { advanceAgent(CInt(agent)) }
    if front != 0, !isClosed { advanceFront(CInt(front)) }
    if let deadline, now >= deadline { expire() }
  }

  private func advanceAgent(_ events: CInt) {
    if case .connecting(let number) = phase {
      finishConnecting(to: number)
    } else {
      if !toAgent.isEmpty, !send(&toAgent, to: agent) { return agentHasEnded() }
      if toFront.isEmpty, events & ~POLLOUT != 0 { readAnswer() }
    }
  }

  private func advanceFront(_ events: CInt) {
    if !toFront.isEmpty, events & POLLOUT != 0, !sendToFront() { return close() }
    if isAgentDone, toFront.isEmpty { return close() }
    guard events & ~POLLOUT != 0 else { return }
    switch phase {
    case .head: readHead()
    case .answered: if !readAway() { close() }
    // The web server never closes half of a connection, so its end ends the request.
    case .asking, .connecting: close()
    case .open:
      guard toAgent.isEmpty, move(from: front, to: agent, &toAgent) else { return close() }
    case .closed: break
    }
  }

  /// Passes on the agent's next bytes. Replaces a malformed answer by an error, or closes the
  /// connection if the answer has begun.
  private func readAnswer() {
    guard let bytes = read(from: agent), var answer else { return agentHasEnded() }
    do throws(AgentAnswerHead.Malformed) {
      toFront = try answer.take(bytes)
    } catch {
      return answer.hasHead ? close() : finish(with: .malformedAnswer)
    }
    self.answer = answer
    if answer.isComplete { return finish() }
    if !sendToFront() { close() }
  }

  /// Handles the end of the agent's connection. Bytes for the web server may still wait.
  private func agentHasEnded() {
    isAgentDone = true
    closeAgent()
    if toFront.isEmpty { close() }
  }

  private func expire() {
    switch phase {
    case .asking: finish(with: .unknownClient)
    case .connecting(let number): connect(to: number + 1)
    case .head, .open, .answered, .closed: close()
    }
  }

  // MARK: The head, and the agent

  private func readHead() {
    let before = toAgent.count
    guard let bytes = read(from: front) else { return close() }
    toAgent += bytes
    let start = max(0, before - 3)
    guard let end = toAgent[start...].firstRange(of: "\r\n\r\n".utf8)?.upperBound else {
      if toAgent.count > RelayHead.limit { finish(with: .malformed) }
      return
    }
    let head = Array(toAgent[..<end])
    if RelayHead.isProbe(head) {
      isProbe = true
      connect(to: 0)
    } else {
      do throws(RelayHead.Refusal) {
        let parsed = try RelayHead(head)
        client = parsed.client
        isUpgrade = parsed.isUpgrade
        answer = AgentAnswer(to: parsed)
        if parsed.expectsContinue { interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
        toAgent.replaceSubrange(..<end, with: parsed.bytes)
      } catch {
        return finish(with: RelayAnswer(error))
      }
      phase = .asking
      hasQuestion = true
      deadline = .now + Self.askLimit
    }
  }

  /// The client to ask the database about; nil if there is none or if it was asked already.
  func takeQuestion() -> AgentClient? {
    defer { hasQuestion = false }
    return hasQuestion && !isClosed ? client : nil
  }

  /// Passes the request on if it waits for this verdict and the client is admitted.
  func take(_ verdict: ClientAdmissions.Verdict) {
    // This may be the verdict for an earlier request of the same client.
    guard case .asking = phase, !hasQuestion else { return }
    switch verdict {
    case .admitted: connect(to: 0)
    case .ended: finish(with: .endedClient)
    case .unknown: finish(with: .unknownClient)
    }
  }

  private func connect(to number: Int) {
    closeAgent()
    guard number < addresses.count else { return finish(with: .agentAway) }
    agent = addresses[number].connectingSocket()
    guard agent >= 0 else { return connect(to: number + 1) }
    phase = .connecting(to: number)
    deadline = .now + Self.connectLimit
  }

  private func finishConnecting(to number: Int) {
    var (problem, size): (CInt, socklen_t) = (0, socklen_t(MemoryLayout<CInt>.size))
    getsockopt(agent, SOL_SOCKET, SO_ERROR, &problem, &size)
    guard problem == 0 else { return connect(to: number + 1) }
    if isProbe { return finish(with: .agentAnswers) }
    phase = .open
    deadline = nil
    toFront = interim
    if !sendToFront() { return close() }
    if !send(&toAgent, to: agent) { agentHasEnded() }
  }

  /// Answers instead of the agent.
  private func finish(with answer: RelayAnswer) {
    toFront = answer.bytes
    finish()
    deadline = .now + Self.answerLimit
  }

  /// Sends the remaining bytes to the web server, and then the end. Keeps reading from the web
  /// server, because it ignores the answer if its own write fails.
  private func finish() {
    closeAgent()
    toAgent = []
    phase = .answered
    deadline = nil
    if !sendToFront() { close() }
  }

  // MARK: Bytes

  /// Moves available bytes from `source` to `target`, and keeps the rest in `pending`.
  ///
  /// - Returns: false if either side has ended.
  private func move(from source: CInt, to target: CInt, _ pending: inout [UInt8]) -> Bool {
    guard let bytes = read(from: source) else { return false }
    pending = bytes
    return bytes.isEmpty || send(&pending, to: target)
  }

  /// - Returns: nil at the end.
  private func read(from source: CInt) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunk) { room, count in
      let received = recv(source, room.baseAddress, room.count, 0)
      count = max(0, received)
    }
    if !bytes.isEmpty { return bytes }
    var pending: CInt = 0
    // Nothing was read: either nothing has arrived yet, or the connection has ended.
    return recv(source, &pending, 1, CInt(MSG_PEEK)) < 0 && errno == EAGAIN ? [] : nil
  }

  private func readAway() -> Bool { read(from: front) != nil }

  private func sendToFront() -> Bool {
    guard toFront.isEmpty || send(&toFront, to: front) else { return false }
    if case .answered = phase, toFront.isEmpty {
      shutdown(front, CInt(SHUT_WR))
      deadline = .now + Self.answerLimit
    }
    return true
  }

  /// - Returns: false if `target` accepts nothing any more.
  private func send(_ pending: inout [UInt8], to target: CInt) -> Bool {
    let sent = Glibc.send(target, pending, pending.count, CInt(MSG_NOSIGNAL))
    if sent < 0 { return errno == EAGAIN }
    if sent == pending.count { pending = [] } else { pending.removeFirst(sent) }
    return true
  }
}

import Glibc
import Store

/// One request to the agent: a connection from the web server, and one to the agent.
///
/// What one side sends is read only when the other side has taken what came before (back-pressure), so
/// that a connection holds 16 KiB at most in each direction, and nothing while nothing moves.
final class RelayConnection {
  private enum Phase {
    /// The head of the request is on its way.
    case head
    /// The head has named the client, and the database is to say whether it is admitted.
    case asking
    case connecting(to: Int)
    case open
    /// The answer is complete: whatever else comes is thrown away.
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
  /// The agent's end has come: what is left for the web server ends the connection.
  private var isAgentDone = false
  /// What the web server gets before it sends the content.
  private var interim: [UInt8] = []
  /// nil until the head of the request has been read.
  private var answer: AgentAnswer?
  private var toAgent: [UInt8] = []
  private var toFront: [UInt8] = []
  private var deadline: ContinuousClock.Instant?
  /// nil until the head has been read.
  private(set) var client: AgentClient?
  /// Whether nobody has been asked about the client yet.
  private var hasQuestion = false
  /// Whether it became a web socket, which may stay open for days.
  private(set) var isUpgrade = false

  /// - Parameter front: an accepted connection that does not block; it is owned.
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

  /// What to wait for, first at the web server, then at the agent.
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
    // A descriptor is left out while nothing is wanted of it: its end would be reported all the time.
    return (
      pollfd(fd: front, events: Int16(atFront), revents: 0),
      pollfd(fd: atAgent == 0 ? -1 : agent, events: Int16(atAgent), revents: 0)
    )
  }

  /// Does what is possible now.
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
    // The web server never closes half of a connection: its end is the end.
    case .asking, .connecting: close()
    case .open:
      guard toAgent.isEmpty, move(from: front, to: agent, &toAgent) else { return close() }
    case .closed: break
    }
  }

  /// Passes on what the agent sends next. What is no answer is not passed on, and cut where it has begun.
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

  /// The last bytes for the web server may still wait.
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

  /// The client about whom the database has to be asked; nil where that is not to be done, or is done.
  func takeQuestion() -> AgentClient? {
    defer { hasQuestion = false }
    return hasQuestion && !isClosed ? client : nil
  }

  /// Passes the request on, if it waits for the verdict and that is good.
  func take(_ verdict: ClientAdmissions.Verdict) {
    // Another request of the same client may have asked before this one did.
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

  /// Answers in place of the agent.
  private func finish(with answer: RelayAnswer) {
    toFront = answer.bytes
    finish()
    deadline = .now + Self.answerLimit
  }

  /// Sends what is left for the web server, and then the end. What the web server still sends is read, because its
  /// write would fail otherwise, and it would not look at the answer.
  private func finish() {
    closeAgent()
    toAgent = []
    phase = .answered
    deadline = nil
    if !sendToFront() { close() }
  }

  // MARK: Bytes

  /// Moves what `source` has for `target`, and keeps the rest in `pending`.
  ///
  /// - Returns: false at the end of either.
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
    // Nothing to read: either there is nothing yet, or it is the end.
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

  /// - Returns: false where `target` takes nothing any more.
  private func send(_ pending: inout [UInt8], to target: CInt) -> Bool {
    let sent = Glibc.send(target, pending, pending.count, CInt(MSG_NOSIGNAL))
    if sent < 0 { return errno == EAGAIN }
    if sent == pending.count { pending = [] } else { pending.removeFirst(sent) }
    return true
  }
}

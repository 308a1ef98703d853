import Glibc
import StoreCore

/// Connection from the web server, and one to the agent for the request on it.
///
/// Takes another request only after the complete answer to one without content (see
/// ``RelayHead/isBare``), and only if nothing has arrived until then.
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
    /// The answer is complete, but perhaps not sent. Further input of the last one is dropped.
    case answered(isLast: Bool)
    case closed
  }

  /// Even, for the events of the web server; the next number is for those of the agent.
  let tag: UInt64
  private let front: RelaySocket
  private var agent: RelaySocket?
  private let resources: RelayResources
  private var phase = Phase.head
  private var isProbe = false
  /// Whether the agent's connection has served another request before this one.
  private var isAgentKept = false
  /// nil until the head has been read.
  private var request: RelayHead?
  private var answer: AgentAnswer?
  private var toAgent: [UInt8] = []
  private var toFront: [UInt8] = []
  private var deadline: ContinuousClock.Instant?
  /// Whether the database has not been asked about the client yet.
  var hasQuestion = false

  /// - Parameter front: an accepted connection.
  init(front: RelaySocket, tag: UInt64, resources: RelayResources) {
    self.front = front
    self.tag = tag
    self.resources = resources
    deadline = .now + resources.limits.head
    watch()
  }

  var isClosed: Bool { if case .closed = phase { true } else { false } }
  /// nil between two requests.
  var client: AgentClient? { request?.client }
  /// Whether the request opens a web socket, which may stay open for days.
  var isUpgrade: Bool { request?.isUpgrade ?? false }

  func close() {
    phase = .closed
    front.close()
    closeAgent()
  }

  private func closeAgent() {
    agent?.close()
    agent = nil
  }

  // MARK: Events

  /// Sets the events to wait for at the web server and at the agent.
  private func watch() {
    guard !isClosed else { return }
    var (atFront, atAgent): (SocketPoller.Readiness, SocketPoller.Readiness) = ([], [])
    if !toFront.isEmpty { atFront = .output }
    switch phase {
    case .head, .answered: atFront.insert(.input)
    case .asking: if isBare { atFront.insert(.input) }
    case .connecting:
      atAgent = .output
      if isBare { atFront.insert(.input) }
    case .open:
      if toAgent.isEmpty || isBare { atFront.insert(.input) }
      if !toAgent.isEmpty { atAgent = .output }
      if toFront.isEmpty { atAgent.insert(.input) }
    case .closed: break
    }
    front.watch(atFront, tag: tag)
    // Leaves out the agent while there is nothing to wait for, because its end would be reported
    // all the time.
    agent?.watch(atAgent.isEmpty ? nil : atAgent, tag: tag + 1)
  }

  /// Handles an event of the web server or of the agent.
  func advance(_ readiness: SocketPoller.Readiness, ofAgent isOfAgent: Bool) {
    guard !isClosed else { return }
    // Only the end and errors are reported without being waited for.
    let hasInput = readiness != .output
    if isOfAgent { advanceAgent(hasInput: hasInput) } else { advanceFront(hasInput: hasInput) }
    watch()
  }

  private func advanceAgent(hasInput: Bool) {
    guard let agent else { return }
    if case .connecting(let number) = phase {
      finishConnecting(agent, to: number)
    } else {
      sendToAgent()
      if toFront.isEmpty, hasInput { readAnswer(from: agent) }
    }
  }

  private func advanceFront(hasInput: Bool) {
    if !toFront.isEmpty, !sendToFront() { return close() }
    guard hasInput else { return }
    switch phase {
    case .head: readHead()
    case .answered: dropInput()
    // The web server never closes half of a connection, so its end ends the request.
    case .asking, .connecting: isBare ? dropInput() : close()
    case .open:
      if isBare { return dropInput() }
      if toAgent.isEmpty { moveToAgent() } else { close() }
    case .closed: break
    }
  }

  /// Closes the connection if its deadline has passed.
  func expire(at now: ContinuousClock.Instant) {
    guard let deadline, now >= deadline else { return }
    switch phase {
    case .asking: finish(with: .unknownClient)
    case .connecting(let number): connect(to: number + 1)
    case .head, .open, .answered, .closed: close()
    }
    watch()
  }

  // MARK: The request

  private var isBare: Bool { request?.isBare ?? false }

  private func readHead() {
    let before = toAgent.count
    switch front.read() {
    case .nothing: return
    case .end: return close()
    case .bytes(let bytes): toAgent += bytes
    }
    let start = max(0, before - 3)
    guard let end = RelayField.endOfHead(in: toAgent, from: start) else {
      if toAgent.count > RelayHead.limit { finish(with: .malformed) }
      return
    }
    let head = Array(toAgent[..<end])
    if RelayHead.isProbe(head) {
      isProbe = true
      return connect(to: 0)
    }
    do throws(RelayHead.Refusal) {
      var request = try RelayHead(head)
      if resources.isStopping || request.isBare && end < toAgent.count { request.isLast = true }
      answer = AgentAnswer(to: request)
      toAgent = request.isBare ? request.bytes : request.bytes + toAgent[end...]
      self.request = request
    } catch {
      return finish(with: RelayAnswer(error))
    }
    phase = .asking
    hasQuestion = true
    deadline = .now + resources.limits.ask
  }

  /// Passes the request on if the client is admitted.
  func take(_ verdict: ClientAdmissions.Verdict) {
    guard case .asking = phase else { return }
    switch verdict {
    case .admitted: reachAgent()
    case .ended: finish(with: .endedClient)
    case .unknown: finish(with: .unknownClient)
    }
    watch()
  }

  // MARK: The agent

  private func reachAgent() {
    if let request, request.isRepeatable, let kept = resources.idleAgents.take(for: request.client)
    {
      agent = kept
      isAgentKept = true
      sendRequest()
    } else {
      connect(to: 0)
    }
  }

  private func connect(to number: Int) {
    closeAgent()
    guard number < resources.addresses.count else { return finish(with: .agentAway) }
    let descriptor = resources.addresses[number].connectingSocket()
    guard descriptor >= 0 else { return connect(to: number + 1) }
    agent = RelaySocket(descriptor, poller: resources.poller)
    phase = .connecting(to: number)
    deadline = .now + resources.limits.connect
  }

  private func finishConnecting(_ agent: RelaySocket, to number: Int) {
    guard agent.connectError == 0 else { return connect(to: number + 1) }
    if isProbe { return finish(with: .agentAnswers) }
    if request?.expectsContinue == true { toFront = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
    sendRequest()
  }

  private func sendRequest() {
    phase = .open
    deadline = nil
    if !sendToFront() { return close() }
    sendToAgent()
  }

  /// Drops what the agent does not accept any more. That is not yet its end: it may have answered
  /// before it closed, so only reading shows the end.
  private func sendToAgent() {
    if agent?.send(&toAgent) == false { toAgent = [] }
  }

  /// Passes on the agent's next bytes. Replaces a malformed answer by an error, or closes the
  /// connection if the answer has begun.
  private func readAnswer(from agent: RelaySocket) {
    switch agent.read() {
    case .nothing: return
    case .end: return agentHasEnded()
    case .bytes(let bytes):
      do throws(AgentAnswerHead.Malformed) {
        toFront = try answer?.take(bytes) ?? []
      } catch {
        return answer?.hasHead == true ? close() : finish(with: .malformedAnswer)
      }
    }
    guard let request, let answer, answer.isComplete else {
      if !sendToFront() { close() }
      return
    }
    if request.isRepeatable, answer.isReusable, toAgent.isEmpty {
      resources.idleAgents.keep(agent, for: request.client)
      self.agent = nil
    }
    finish(isLast: request.isLast)
  }

  /// Handles the end of the agent's connection: the end of an answer without a length, or that of a
  /// cut one. A kept connection may have ended before the request reached the agent (RFC 9112
  /// §9.3.1).
  private func agentHasEnded() {
    if isAgentKept, let request, answer?.hasBegun == false {
      isAgentKept = false
      toAgent = request.bytes
      return connect(to: 0)
    }
    finish(isLast: true)
  }

  // MARK: The end of the answer

  /// Answers instead of the agent.
  private func finish(with answer: RelayAnswer) {
    toFront = answer.bytes
    finish(isLast: true)
    deadline = .now + resources.limits.answer
  }

  /// Sends the remaining bytes to the web server. Keeps reading from the web server after the last
  /// answer, because it ignores the answer if its own write fails.
  private func finish(isLast: Bool) {
    closeAgent()
    toAgent = []
    phase = .answered(isLast: isLast)
    deadline = nil
    if !sendToFront() { close() }
  }

  private func sendToFront() -> Bool {
    // Bytes that arrive before the end of the answer must not be taken for the next request.
    if case .answered(isLast: false) = phase, front.hasInput { phase = .answered(isLast: true) }
    guard front.send(&toFront) else { return false }
    if case .answered(let isLast) = phase, toFront.isEmpty {
      if isLast { front.endOutput() } else { awaitRequest() }
      deadline = .now + resources.limits.answer
    }
    return true
  }

  private func awaitRequest() {
    phase = .head
    (request, answer) = (nil, nil)
    isAgentKept = false
  }

  // MARK: Bytes

  private func moveToAgent() {
    switch front.read() {
    case .nothing: break
    case .end: close()
    case .bytes(let bytes):
      toAgent = bytes
      sendToAgent()
    }
  }

  /// Drops bytes that belong to no request. Closes the connection at its end.
  private func dropInput() {
    switch front.read() {
    case .nothing: break
    case .end: close()
    case .bytes:
      request?.isLast = true
      if case .answered = phase { phase = .answered(isLast: true) }
    }
  }
}

import Glibc
import Store

/// One run of ``APNsClient``: what waits, what was sent again, and why it ends.
///
/// Of each notification taken from `next` the place is one of: `waiting`, the engine, reported.
final class APNsSending {
  private let client: APNsClient
  private let deadline: ContinuousClock.Instant
  private let next: (Int) -> [APNsNotification]
  private let report: (APNsNotification, APNsOutcome) -> Void

  private var summary = APNsRun()
  private var waiting: [APNsNotification] = []
  private var resends: [String: Int] = [:]
  private var isExhausted = false
  /// Why nothing more is sent, where that is so.
  private var end: APNsRun.End?
  private var token: String?
  private var isTokenRefused = false
  private var isTokenRenewed = false
  private var answersOfConnection = 0
  private var fruitless = 0

  init(
    _ client: APNsClient, until deadline: ContinuousClock.Instant,
    next: @escaping (Int) -> [APNsNotification],
    report: @escaping (APNsNotification, APNsOutcome) -> Void
  ) {
    self.client = client
    self.deadline = deadline
    self.next = next
    self.report = report
  }

  func run() -> APNsRun {
    while end == nil, fillWaiting(1), let token = currentToken() { useConnection(token) }
    for notification in waiting { finish(notification, .notProcessed) }
    summary.end = end ?? .finished
    return summary
  }

  /// Whether something waits, after asking for as many as `count`.
  private func fillWaiting(_ count: Int) -> Bool {
    if ContinuousClock.now >= deadline { end = end ?? .overdue }
    if end != nil { return false }
    if waiting.isEmpty, !isExhausted {
      waiting = next(count)
      precondition(waiting.count <= count, "more notifications than asked for")
      isExhausted = waiting.isEmpty
    }
    return !waiting.isEmpty
  }

  private func currentToken() -> String? {
    do {
      guard isTokenRefused || token == nil else { return token }
      let new = try client.providerToken(token)
      if new == token {
        end = .stopped(.expiredProviderToken)
        return nil
      }
      isTokenRenewed = token != nil
      isTokenRefused = false
      token = new
      return new
    } catch {
      end = .noProviderToken(error)
      return nil
    }
  }

  // MARK: Connections

  private func useConnection(_ token: String) {
    pauseAfterFruitlessConnections()
    summary.connections += 1
    answersOfConnection = 0
    var failure = APNsConnectionError.lost(reason: "closed by the other side")
    do throws(APNsConnectionError) {
      let limit = min(client.limits.connecting, max(.zero, deadline - .now))
      let connection = try TLSConnection.connect(
        to: client.endpoint, with: client.trust, within: limit)
      let engine = APNsEngine(
        authority: client.endpoint.authority, providerToken: token, limits: client.limits.engine,
        now: .now)
      if let reason = converse(engine, over: connection) { failure = .lost(reason: reason) }
    } catch {
      failure = error
    }
    fruitless = answersOfConnection == 0 ? fruitless + 1 : 0
    // Apple takes frequent connecting for an attack: each hundred answers earn one more.
    let isTooMany = summary.connections >= 20 + summary.reported / 100
    if !isTokenRefused, fruitless >= client.limits.fruitlessConnections || isTooMany {
      end = end ?? .unreachable(failure)
    }
  }

  private func pauseAfterFruitlessConnections() {
    guard fruitless > 0 else { return }
    let pause = client.limits.backOff * (1 << min(fruitless - 1, 6))
    let rest = min(pause, max(.zero, deadline - .now))
    usleep(UInt32(rest / .microseconds(1)))
  }

  /// Sends until nothing is left or the connection is of no more use.
  ///
  /// - Returns: why it is of no more use, where that is so.
  private func converse(_ engine: APNsEngine, over connection: consuming TLSConnection) -> String? {
    var stream = EngineStream(engine, connection)
    while true {
      submit(to: engine)
      stream.write()
      settle(engine)
      if case .failed = engine.state { break }
      if engine.inFlight == 0 {
        guard engine.capacity > 0, fillWaiting(1) else { break }
        continue
      }
      stream.read()
      engine.tick(.now)
      settle(engine)
    }
    engine.close(reason: "nothing is left to be sent")
    stream.write()
    settle(engine)
    return switch engine.state {
    case .failed(let reason), .closing(let reason): reason
    case .open: nil
    }
  }

  private func submit(to engine: APNsEngine) {
    let now = ContinuousClock.now
    while case let capacity = engine.capacity, capacity > 0, fillWaiting(capacity) {
      for notification in waiting.suffix(capacity) { engine.submit(notification, at: now) }
      waiting.removeLast(min(capacity, waiting.count))
    }
  }

  // MARK: Outcomes

  private func settle(_ engine: APNsEngine) {
    for result in engine.takeResults() { settle(result, engine) }
  }

  private func settle(_ result: APNsEngine.Result, _ engine: APNsEngine) {
    let notification = result.notification
    switch result.outcome {
    case .notProcessed:
      if resend(notification, atMost: client.limits.resendsAfterRefusal) { return }
    case .unanswered:
      if case .failed = engine.state,
        resend(notification, atMost: client.limits.resendsAfterLoss)
      {
        return
      }
      // Nobody has answered here yet: the next notification would wait as long.
      if answersOfConnection == 0 { engine.close(reason: "no answer in time") }
    case .accepted, .unregistered:
      answersOfConnection += 1
    case .rejected(let status, let reason):
      answersOfConnection += 1
      if heed(status, reason, of: notification, engine) { return }
    }
    finish(notification, result.outcome)
  }

  /// Does what a refusal means for the connection and the summary.
  ///
  /// - Returns: whether the notification is sent again.
  private func heed(
    _ status: Int, _ reason: APNsOutcome.Reason, of notification: APNsNotification,
    _ engine: APNsEngine
  ) -> Bool {
    let outcome = APNsOutcome.rejected(status: status, reason: reason)
    switch outcome.action(
      registeredAt: Timestamp(milliseconds: 0), attempts: 1, retries: APNsRetries(delay: .zero))
    {
    case .renewProviderToken:
      engine.close(reason: reason.rawValue)
      if isTokenRenewed {
        end = end ?? .stopped(reason)
        return false
      }
      isTokenRefused = true
      return resend(notification, atMost: client.limits.resendsAfterRefusal)
    case .retryNow:
      engine.close(reason: reason.rawValue)
      return resend(notification, atMost: client.limits.resendsAfterLoss)
    case .stop, .pause:
      engine.close(reason: reason.rawValue)
      end = end ?? .stopped(reason)
    case .retry where reason == .shutdown: engine.close(reason: reason.rawValue)
    default: break
    }
    return false
  }

  private func resend(_ notification: APNsNotification, atMost limit: Int) -> Bool {
    let count = resends[notification.id, default: 0]
    guard end == nil, count < limit else { return false }
    resends[notification.id] = count + 1
    summary.resent += 1
    waiting.append(notification)
    return true
  }

  private func finish(_ notification: APNsNotification, _ outcome: APNsOutcome) {
    if !resends.isEmpty { resends[notification.id] = nil }
    summary.reported += 1
    if case .accepted = outcome { summary.accepted += 1 }
    report(notification, outcome)
  }
}

/// An engine with its socket.
private struct EngineStream: ~Copyable {
  private let engine: APNsEngine
  private var connection: TLSConnection
  private var output: [UInt8] = []
  private var written = 0
  private var isWritable = true
  /// Bytes may be left that wake nobody.
  private var hasMore = false
  /// The most that OpenSSL writes at once (RFC 8446 §5.1).
  private static let recordSize = 16_384
  private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

  init(_ engine: APNsEngine, _ connection: consuming TLSConnection) {
    self.engine = engine
    self.connection = connection
    output.reserveCapacity(98_304)
  }

  deinit { input.deallocate() }

  /// Writes all that the engine has to say, as far as the socket takes it.
  mutating func write() {
    guard isWritable else { return }
    do throws(APNsConnectionError) {
      while true {
        if output.count - written < Self.recordSize {
          output.removeFirst(written)
          written = 0
          engine.drain(into: &output)
        }
        if output.isEmpty { return }
        let count = try connection.write(output.span.extracting(written...))
        if count == 0 { return }
        written += count
      }
    } catch {
      // Apple may have said why: what has arrived is read before the connection is given up.
      isWritable = false
    }
  }

  /// Waits for what comes next, be it bytes or time, and gives the engine the bytes that are there.
  mutating func read() {
    if !hasMore {
      connection.wait(forWriting: isWritable && !output.isEmpty, until: engine.nextTick)
    }
    do throws(APNsConnectionError) {
      // Not without end: a flood must not keep us from answering, nor from looking at the clock.
      for _ in 0..<16 {
        let count = try connection.read(into: input)
        hasMore = count > 0
        guard hasMore else {
          if !isWritable { engine.fail("closed by the other side") }
          return
        }
        engine.feed(UnsafeRawBufferPointer(rebasing: input[..<count]), at: .now)
      }
    } catch {
      engine.fail("\(error)")
    }
  }
}

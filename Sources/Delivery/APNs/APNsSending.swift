import Base
import Glibc
import Store

/// One run of ``APNsClient``: its waiting notifications, its resends and the reason for its end.
///
/// Each notification taken from `next` is either in `waiting`, in the engine, or reported.
final class APNsSending {
  private let client: APNsClient
  private let clock: LimitClock
  private let deadline: ContinuousClock.Instant
  private let isOver: () -> Bool
  private let next: (Int) -> [APNsNotification]
  private let report: (APNsNotification, APNsOutcome) -> Void

  /// A connection of this run.
  private final class Line {
    let connection: APNsConnection
    /// Answers in this run.
    var answers = 0
    var accepted = 0
    var engine: APNsEngine { connection.engine }

    init(_ connection: APNsConnection) { self.connection = connection }

    /// The reason if nothing can be sent over the connection any more and no answer will come.
    var lossReason: String? {
      switch engine.state {
      case .failed(let reason): reason
      case _ where engine.inFlight > 0 || engine.capacity > 0: nil
      case .closing(let reason): reason
      case .open: "no stream is allowed"
      }
    }
  }

  /// Approximate number of notifications that fill a TLS record.
  private static let batchCount = 24

  private var summary = APNsRun()
  /// In reverse order: taking the last element needs no copy.
  private var waiting: [APNsNotification] = []
  private var resends: [String: Int] = [:]
  private var isExhausted = false
  /// Reason why sending has stopped; nil while it goes on.
  private var end: APNsRun.End?
  private var token: String?
  private var isTokenRefused = false
  private var isTokenRenewed = false
  /// The connections in use. There is one until its streams are too few (``isAnotherUseful``).
  private var lines: [Line] = []
  /// Why the last connection was lost.
  private var loss = APNsConnectionError.lost(reason: "closed by the other side")
  /// Answers on all connections.
  private var answers = 0
  private var fruitless = 0

  init(
    _ client: APNsClient, until deadline: ContinuousClock.Instant, isOver: @escaping () -> Bool,
    next: @escaping (Int) -> [APNsNotification],
    report: @escaping (APNsNotification, APNsOutcome) -> Void
  ) {
    self.client = client
    clock = client.clock
    self.deadline = deadline
    self.isOver = isOver
    self.next = next
    self.report = report
  }

  func run() -> APNsRun {
    while end == nil, fillWaiting(1), let token = currentToken() { useConnections(token) }
    for notification in waiting { finish(notification, .notProcessed) }
    summary.end = end ?? .finished
    return summary
  }

  /// Returns true if notifications wait, after asking for up to `count`.
  private func fillWaiting(_ count: Int) -> Bool {
    if clock.now() >= deadline || isOver() { end = end ?? .overdue }
    if end != nil { return false }
    if waiting.isEmpty, !isExhausted {
      waiting = next(count)
      precondition(waiting.count <= count, "more notifications than asked for")
      waiting.reverse()
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

  private func useConnections(_ token: String) {
    pauseAfterFruitlessConnections()
    let answersBefore = answers
    open(token, within: client.limits.connecting)
    converse(token)
    fruitless = answers == answersBefore ? fruitless + 1 : 0
    if !isTokenRefused, fruitless >= client.limits.fruitlessConnections || isTooMany {
      end = end ?? .unreachable(loss)
    }
  }

  /// Apple treats frequent connecting as an attack: one more connection per hundred outcomes.
  private var isTooMany: Bool { summary.connections >= 20 + summary.reported / 100 }

  /// Uses one more connection: a kept one or a new one.
  private func open(_ token: String, within limit: Duration) {
    if let kept = client.takeKept(for: token) { return lines.append(Line(kept)) }
    summary.connections += 1
    do throws(APNsConnectionError) {
      lines.append(
        Line(
          try APNsConnection(
            to: client.endpoint, with: client.trust, providerToken: token,
            limits: client.limits.engine,
            within: min(limit, max(.zero, deadline - clock.now())), by: clock)))
    } catch {
      loss = error
      if !lines.isEmpty { client.pauseAddingConnections() }
    }
  }

  private func pauseAfterFruitlessConnections() {
    guard fruitless > 0 else { return }
    let pause = client.limits.backOff * (1 << min(fruitless - 1, 6))
    clock.sleep(min(pause, max(.zero, deadline - clock.now())))
  }

  /// Sends until no notification is left, and then keeps the connections, or until none is usable.
  private func converse(_ token: String) {
    var lastAnswerAt: ContinuousClock.Instant?
    while !lines.isEmpty {
      for line in lines {
        // One record at a time: Apple processes it while we make the next one.
        while submit(to: line.engine) { line.connection.write(isMoreComing: true) }
        line.connection.write(isMoreComing: false)
        settle(line)
      }
      dropLost()
      if lines.isEmpty { return }
      if lines.allSatisfy({ $0.engine.inFlight == 0 }) {
        guard fillWaiting(1) else { break }
        continue
      }
      if isAnotherUseful, fillWaiting(client.limits.engine.window) {
        open(token, within: client.limits.addingConnection)
        continue
      }
      APNsConnection.read(
        lines.map(\.connection), until: clock.now() + .seconds(1), by: clock)
      if lastAnswerAt == nil, isOver() {
        lastAnswerAt = clock.now() + client.limits.answersAtEnd
        end = end ?? .overdue
      }
      let isLate = lastAnswerAt.map { clock.now() >= $0 } ?? false
      for line in lines {
        if isLate, line.engine.inFlight > 0 { line.engine.markFailed("no answer in time") }
        line.engine.tick(clock.now())
        settle(line)
      }
    }
    client.keepOpen(lines.map(\.connection))
    lines = []
  }

  private func dropLost() {
    for case (let line, let reason?) in lines.map({ ($0, $0.lossReason) }) {
      loss = .lost(reason: reason)
      if lines.count > 1, line.accepted < 2 * client.limits.engine.window {
        client.pauseAddingConnections()
      }
    }
    lines.removeAll { $0.lossReason != nil }
  }

  /// Whether one more connection could make us faster: as many requests as we allow are in flight, Apple has accepted twice
  /// as many, and even its quickest answer takes so long that they do not reach ``APNsClient/Limits/rate``.
  ///
  /// Where Apple allows fewer streams than we do, more connections would evade its limit. Where it refuses one in ten, a
  /// setting may be wrong.
  private var isAnotherUseful: Bool {
    let limits = client.limits
    let window = limits.engine.window
    guard lines.count < limits.connections, client.mayAddConnections, !isTooMany,
      lines.allSatisfy({
        $0.engine.state == .open && $0.engine.inFlight == window && $0.accepted >= 2 * window
          && $0.accepted * 10 > $0.answers * 9
      }),
      let quickest = lines.compactMap(\.engine.quickestAnswer).min()
    else { return false }
    return Double(lines.count * window) < Double(limits.rate) * (quickest / .seconds(1))
  }

  /// Submits some of the waiting notifications.
  ///
  /// - Returns: false if none could be submitted.
  private func submit(to engine: APNsEngine) -> Bool {
    let capacity = engine.capacity
    guard capacity > 0, fillWaiting(capacity) else { return false }
    let now = clock.now()
    // After a refusal, submits as many as allowed, because Apple may change its limit any time.
    let most = resends.isEmpty ? min(capacity, Self.batchCount) : capacity
    for _ in 0..<most {
      guard let notification = waiting.popLast() else { break }
      engine.submit(notification, at: now)
    }
    return true
  }

  // MARK: Outcomes

  private func settle(_ line: Line) {
    for result in line.engine.takeResults() { settle(result.notification, result.outcome, line) }
  }

  private func settle(_ notification: APNsNotification, _ outcome: APNsOutcome, _ line: Line) {
    switch outcome {
    case .notProcessed:
      if resend(notification, atMost: client.limits.resendsAfterRefusal) { return }
    case .unanswered:
      if case .failed = line.engine.state,
        resend(notification, atMost: client.limits.resendsAfterLoss)
      {
        return
      }
      // No answer came on this connection: the next notification would wait as long.
      if line.answers == 0 { line.engine.close(reason: "no answer in time") }
    case .accepted:
      line.accepted += 1
      countAnswer(on: line)
    case .unregistered: countAnswer(on: line)
    case .rejected(let status, let reason):
      countAnswer(on: line)
      if heed(status, reason, of: notification, line.engine) { return }
    }
    finish(notification, outcome)
  }

  private func countAnswer(on line: Line) {
    line.answers += 1
    answers += 1
  }

  /// Applies a refusal to the connection and the run.
  ///
  /// - Returns: true if the notification is sent again.
  private func heed(
    _ status: Int, _ reason: APNsOutcome.Reason, of notification: APNsNotification,
    _ engine: APNsEngine
  ) -> Bool {
    let outcome = APNsOutcome.rejected(status: status, reason: reason)
    switch outcome.action(
      attempts: 1, retries: APNsRetries(delay: .zero))
    {
    case .renewProviderToken:
      closeAll(reason)
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
      closeAll(reason)
      end = end ?? .stopped(reason)
    case .retry where reason == .shutdown: engine.close(reason: reason.rawValue)
    default: break
    }
    return false
  }

  /// All connections use the same token. A kept one would send with it as if it were trusted.
  private func closeAll(_ reason: APNsOutcome.Reason) {
    for line in lines { line.engine.close(reason: reason.rawValue) }
    client.close()
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

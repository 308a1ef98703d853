import Base
import Glibc
import Store

/// One run of ``APNsClient``: its waiting notifications, its resends and the reason for its end.
///
/// Each notification taken from `next` is either in `waiting`, in the engine, or reported.
final class APNsSending {
  private let client: APNsClient
  private let deadline: ContinuousClock.Instant
  private let isOver: () -> Bool
  private let next: (Int) -> [APNsNotification]
  private let report: (APNsNotification, APNsOutcome) -> Void

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
  private var answersOfConnection = 0
  private var fruitless = 0

  init(
    _ client: APNsClient, until deadline: ContinuousClock.Instant, isOver: @escaping () -> Bool,
    next: @escaping (Int) -> [APNsNotification],
    report: @escaping (APNsNotification, APNsOutcome) -> Void
  ) {
    self.client = client
    self.deadline = deadline
    self.isOver = isOver
    self.next = next
    self.report = report
  }

  func run() -> APNsRun {
    while end == nil, fillWaiting(1), let token = currentToken() { useConnection(token) }
    for notification in waiting { finish(notification, .notProcessed) }
    summary.end = end ?? .finished
    return summary
  }

  /// Returns true if notifications wait, after asking for up to `count`.
  private func fillWaiting(_ count: Int) -> Bool {
    if ContinuousClock.now >= deadline || isOver() { end = end ?? .overdue }
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

  private func useConnection(_ token: String) {
    pauseAfterFruitlessConnections()
    answersOfConnection = 0
    var failure = APNsConnectionError.lost(reason: "closed by the other side")
    do throws(APNsConnectionError) {
      let connection = try connection(token)
      if let reason = converse(over: connection) { failure = .lost(reason: reason) }
    } catch {
      failure = error
    }
    fruitless = answersOfConnection == 0 ? fruitless + 1 : 0
    // Apple treats frequent connecting as an attack: one more connection per hundred outcomes.
    let isTooMany = summary.connections >= 20 + summary.reported / 100
    if !isTokenRefused, fruitless >= client.limits.fruitlessConnections || isTooMany {
      end = end ?? .unreachable(failure)
    }
  }

  private func connection(_ token: String) throws(APNsConnectionError) -> APNsConnection {
    if let kept = client.takeKept(for: token) { return kept }
    summary.connections += 1
    return try APNsConnection(
      to: client.endpoint, with: client.trust, providerToken: token, limits: client.limits.engine,
      within: min(client.limits.connecting, max(.zero, deadline - .now)))
  }

  private func pauseAfterFruitlessConnections() {
    guard fruitless > 0 else { return }
    let pause = client.limits.backOff * (1 << min(fruitless - 1, 6))
    let rest = min(pause, max(.zero, deadline - .now))
    usleep(UInt32(rest / .microseconds(1)))
  }

  /// Sends until no notification is left, and then keeps the connection, or until the connection is
  /// unusable.
  ///
  /// - Returns: the reason why the connection is unusable; nil if it is kept.
  private func converse(over connection: APNsConnection) -> String? {
    let engine = connection.engine
    var lastAnswerAt: ContinuousClock.Instant?
    while true {
      // One record at a time: Apple processes it while we make the next one.
      while submit(to: engine) { connection.write(isMoreComing: true) }
      connection.write(isMoreComing: false)
      settle(engine)
      if case .failed = engine.state { break }
      if engine.inFlight == 0 {
        guard engine.capacity > 0, fillWaiting(1) else { break }
        continue
      }
      connection.read(until: .now + .seconds(1))
      if lastAnswerAt == nil, isOver() {
        lastAnswerAt = .now + client.limits.answersAtEnd
        end = end ?? .overdue
      }
      if let lastAnswerAt, .now >= lastAnswerAt { engine.markFailed("no answer in time") }
      engine.tick(.now)
      settle(engine)
    }
    switch engine.state {
    case .failed(let reason), .closing(let reason): return reason
    case .open:
      guard engine.capacity > 0 else { return "no stream is allowed" }
      client.keepOpen(connection)
      return nil
    }
  }

  /// Submits some of the waiting notifications.
  ///
  /// - Returns: false if none could be submitted.
  private func submit(to engine: APNsEngine) -> Bool {
    let capacity = engine.capacity
    guard capacity > 0, fillWaiting(capacity) else { return false }
    let now = ContinuousClock.now
    // After a refusal, submits as many as allowed, because Apple may change its limit any time.
    let most = resends.isEmpty ? min(capacity, Self.batchCount) : capacity
    for _ in 0..<most {
      guard let notification = waiting.popLast() else { break }
      engine.submit(notification, at: now)
    }
    return true
  }

  // MARK: Outcomes

  private func settle(_ engine: APNsEngine) {
    for result in engine.takeResults() { settle(result.notification, result.outcome, engine) }
  }

  private func settle(
    _ notification: APNsNotification, _ outcome: APNsOutcome, _ engine: APNsEngine
  ) {
    switch outcome {
    case .notProcessed:
      if resend(notification, atMost: client.limits.resendsAfterRefusal) { return }
    case .unanswered:
      if case .failed = engine.state,
        resend(notification, atMost: client.limits.resendsAfterLoss)
      {
        return
      }
      // No answer came on this connection: the next notification would wait as long.
      if answersOfConnection == 0 { engine.close(reason: "no answer in time") }
    case .accepted, .unregistered:
      answersOfConnection += 1
    case .rejected(let status, let reason):
      answersOfConnection += 1
      if heed(status, reason, of: notification, engine) { return }
    }
    finish(notification, outcome)
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

import Base
import Glibc
import Store

/// One run of Web Push. Sends several messages in parallel, each on a thread with its own
/// connections.
final class WebPushRun: ChannelRun {
  private struct Queue {
    var waiting: [OutgoingDelivery] = []
    var sent: [Answer] = []
    var isOver = false
  }

  private struct Answer {
    let outgoing: OutgoingDelivery
    var outcome: WebPushOutcome
    /// Origin of the push service; nil if the subscription is unusable.
    var origin: String?
  }

  private let settings: WebPushSettings
  private let keys: CompanionKeys
  private let deadline: ContinuousClock.Instant
  private let answerLimit: Duration
  private let waitLimit: Duration
  private let clock: LimitClock
  private let silent = SilentOrigins()
  /// Origins that accepted a message.
  private var accepting: Set<String> = []
  /// Statuses with which origins refused our key.
  private var refusing: [String: Int] = [:]
  /// Refusals of our key that are not reported yet. If their service accepts another message, they
  /// concern only their subscriptions.
  private var undecided: [Answer] = []
  /// Whether requests hang.
  private(set) var isStopped = false

  private static let threads = 4

  /// - Parameters:
  ///   - answerLimit: time limit for one request.
  ///   - waitLimit: time limit for the next answer to any request in flight; longer than
  ///     `answerLimit`, so it passes only if a request hangs.
  init(
    _ settings: WebPushSettings, keys: CompanionKeys, until deadline: ContinuousClock.Instant,
    answerLimit: Duration, waitLimit: Duration = .seconds(15), clock: LimitClock = .system
  ) {
    self.settings = settings
    self.keys = keys
    self.deadline = deadline
    self.answerLimit = answerLimit
    self.waitLimit = waitLimit
    self.clock = clock
  }

  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void
  ) {
    // A new queue for each call, because hanging threads of an earlier call still use theirs.
    let queue = Monitor(Queue())
    let threads = (0..<Self.threads).map { _ in startThread(worker(of: queue)) }
    var inHand: [String: OutgoingDelivery] = [:]
    while true {
      let more = isOver() || clock.now() >= deadline ? [] : next(Self.threads - inHand.count)
      for outgoing in more { inHand[outgoing.delivery.id] = outgoing }
      queue.with { $0.waiting += more }
      if inHand.isEmpty { break }
      guard let answered = queue.wait(until: .now + clock.realTime(of: waitLimit), Self.takeSent)
      else { break }
      for answer in answered {
        inHand[answer.outgoing.delivery.id] = nil
        note(answer, report)
      }
      decide(report) { accepting.contains($0) }
    }
    decide(report) { _ in true }
    queue.with { $0.isOver = true }
    if inHand.isEmpty {
      for thread in threads { pthread_join(thread, nil) }
    } else {
      for thread in threads { pthread_detach(thread) }
      giveUp(inHand.values, report)
    }
  }

  func finish() -> [DeadToken] { [] }

  /// Ends the run and reports the messages of hanging threads as unanswered.
  private func giveUp(
    _ inHand: some Sequence<OutgoingDelivery>, _ report: (SentDelivery) -> Void
  ) {
    isStopped = true
    for outgoing in inHand { report(sent(Answer(outgoing: outgoing, outcome: .unanswered))) }
  }

  /// - Returns: nil if no message was sent since the last call.
  private static func takeSent(_ queue: inout Queue) -> [Answer]? {
    guard !queue.sent.isEmpty else { return nil }
    defer { queue.sent = [] }
    return queue.sent
  }

  /// Makes a worker that sends waiting messages until the queue is over.
  private func worker(of queue: Monitor<Queue>) -> @Sendable () -> Void {
    let (settings, keys, silent, clock) = (settings, keys, silent, clock)
    let limits = HTTPClient.Limits(
      connecting: min(answerLimit, .seconds(3)), total: answerLimit, body: 65_536)
    return {
      let sender = WebPushSender(
        settings, keys: keys, limits: limits, silent: silent, clock: clock)
      while let outgoing = queue.wait(Self.takeWaiting) {
        let (outcome, origin) = sender.send(WebPushSender.Message(outgoing))
        queue.with {
          $0.sent.append(Answer(outgoing: outgoing, outcome: outcome, origin: origin))
        }
      }
    }
  }

  /// - Returns: an inner nil if the queue is over.
  private static func takeWaiting(_ queue: inout Queue) -> OutgoingDelivery?? {
    if !queue.waiting.isEmpty { return queue.waiting.removeFirst() }
    return queue.isOver ? .some(nil) : nil
  }

  private func sent(_ answer: Answer) -> SentDelivery {
    let (delivery, outcome) = (answer.outgoing.delivery, answer.outcome)
    return SentDelivery(
      id: delivery.id, outcome: outcome.deliveryOutcome(after: delivery.attempts + 1),
      deadToken: outcome.isGone
        ? DeadToken(token: delivery.token, registeredBefore: answer.outgoing.readAt) : nil)
  }
}

// MARK: Refusals of our key

extension WebPushRun {
  /// Reports an answer, unless it refuses our key.
  private func note(_ answer: Answer, _ report: (SentDelivery) -> Void) {
    if answer.outcome.isOurFault { return undecided.append(answer) }
    if case .accepted = answer.outcome, let origin = answer.origin { accepting.insert(origin) }
    report(sent(answer))
  }

  /// Reports the undecided refusals of the origins for which `isKnown` returns true.
  private func decide(_ report: (SentDelivery) -> Void, _ isKnown: (String) -> Bool) {
    for var answer in undecided {
      guard let origin = answer.origin, isKnown(origin) else { continue }
      if accepting.contains(origin) {
        answer.outcome = .otherKey(status: answer.outcome.status)
      } else {
        refusing[origin] = answer.outcome.status
      }
      report(sent(answer))
    }
    undecided.removeAll { $0.origin.map(isKnown) ?? false }
  }

  var problem: String? {
    if isStopped { return "requests to push services do not end" }
    return refusing.first { !accepting.contains($0.key) }.map { _, status in
      """
      A push service answers \(status): it refuses our VAPID key. Check that WEBPUSH_VAPID_KEY is the \
      key with which the pages subscribed
      """
    }
  }
}

extension WebPushSender.Message {
  fileprivate init(_ outgoing: OutgoingDelivery) {
    let delivery = outgoing.delivery
    self.init(
      token: delivery.token, sealed: outgoing.route, payload: delivery.content.apnsPayload,
      collapseID: delivery.content.collapseID,
      lifetime: delivery.expiresAt - Timestamp.now().seconds)
  }
}

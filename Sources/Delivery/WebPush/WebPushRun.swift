import Base
import Glibc
import Store

/// One run of Web Push. Sends several messages in parallel, each on a thread with its own
/// connections.
final class WebPushRun: ChannelRun {
  private struct Queue {
    var waiting: [OutgoingDelivery] = []
    var sent: [(outgoing: OutgoingDelivery, outcome: WebPushOutcome)] = []
    var isOver = false
  }

  private let settings: WebPushSettings
  private let keys: CompanionKeys
  private let deadline: ContinuousClock.Instant
  private let answerLimit: Duration
  private let waitLimit: Duration
  private let silent = SilentOrigins()
  private(set) var problem: String?
  private(set) var isStopped = false

  private static let threads = 4

  /// - Parameters:
  ///   - answerLimit: time limit for one request.
  ///   - waitLimit: time limit for the next answer to any request in flight; longer than
  ///     `answerLimit`, so it passes only if a request hangs.
  init(
    _ settings: WebPushSettings, keys: CompanionKeys, until deadline: ContinuousClock.Instant,
    answerLimit: Duration, waitLimit: Duration = .seconds(15)
  ) {
    self.settings = settings
    self.keys = keys
    self.deadline = deadline
    self.answerLimit = answerLimit
    self.waitLimit = waitLimit
  }

  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void
  ) {
    // A new queue for each call, because hanging threads of an earlier call still use theirs.
    let queue = Monitor(Queue())
    let threads = (0..<Self.threads).map { _ in startThread(worker(of: queue)) }
    var inHand: [String: OutgoingDelivery] = [:]
    while true {
      let more = isOver() || .now >= deadline ? [] : next(Self.threads - inHand.count)
      for outgoing in more { inHand[outgoing.delivery.id] = outgoing }
      queue.with { $0.waiting += more }
      if inHand.isEmpty { break }
      guard let answered = queue.wait(until: .now + waitLimit, Self.takeSent) else { break }
      for (outgoing, outcome) in answered {
        inHand[outgoing.delivery.id] = nil
        report(sent(outgoing, outcome))
      }
    }
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
    problem = "requests to push services do not end"
    for outgoing in inHand { report(sent(outgoing, .unanswered)) }
  }

  /// - Returns: nil if no message was sent since the last call.
  private static func takeSent(
    _ queue: inout Queue
  ) -> [(outgoing: OutgoingDelivery, outcome: WebPushOutcome)]? {
    guard !queue.sent.isEmpty else { return nil }
    defer { queue.sent = [] }
    return queue.sent
  }

  /// Makes a worker that sends waiting messages until the queue is over.
  private func worker(of queue: Monitor<Queue>) -> @Sendable () -> Void {
    let (settings, keys, silent) = (settings, keys, silent)
    let limits = HTTPClient.Limits(
      connecting: min(answerLimit, .seconds(3)), total: answerLimit, body: 65_536)
    return {
      let sender = WebPushSender(settings, keys: keys, limits: limits, silent: silent)
      while let outgoing = queue.wait(Self.takeWaiting) {
        let outcome = sender.send(WebPushSender.Message(outgoing))
        queue.with { $0.sent.append((outgoing, outcome)) }
      }
    }
  }

  /// - Returns: an inner nil if the queue is over.
  private static func takeWaiting(_ queue: inout Queue) -> OutgoingDelivery?? {
    if !queue.waiting.isEmpty { return queue.waiting.removeFirst() }
    return queue.isOver ? .some(nil) : nil
  }

  private func sent(_ outgoing: OutgoingDelivery, _ outcome: WebPushOutcome) -> SentDelivery {
    let delivery = outgoing.delivery
    if outcome.isOurFault {
      problem = """
        A push service answers \(outcome.status): it refuses our VAPID key. Check that WEBPUSH_VAPID_KEY is the \
        key with which the pages subscribed
        """
    }
    return SentDelivery(
      id: delivery.id, outcome: outcome.deliveryOutcome(after: delivery.attempts + 1),
      deadToken: outcome.isGone
        ? DeadToken(token: delivery.token, registeredBefore: outgoing.readAt) : nil)
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

import Base
import Glibc
import Store

/// One run of Web Push: a few messages at once, each by a thread with connections of its own.
final class WebPushRun: ChannelRun {
  private struct Queue {
    var waiting: [OutgoingDelivery] = []
    var sent: [(outgoing: OutgoingDelivery, outcome: WebPushOutcome)] = []
    var isOver = false
  }

  private let settings: WebPushSettings
  private let keys: CompanionKeys
  private let deadline: ContinuousClock.Instant
  private let queue = Monitor(Queue())
  private(set) var alarm: String?
  let isStopped = false

  private static let threads = 4

  init(_ settings: WebPushSettings, keys: CompanionKeys, until deadline: ContinuousClock.Instant) {
    self.settings = settings
    self.keys = keys
    self.deadline = deadline
  }

  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void
  ) {
    let threads = (0..<Self.threads).map { _ in startThread(worker()) }
    defer { for thread in threads { pthread_join(thread, nil) } }
    var inHand = 0
    repeat {
      let more = isOver() || .now >= deadline ? [] : next(Self.threads - inHand)
      inHand += more.count
      queue.with { $0.waiting += more }
      guard inHand > 0 else { break }
      for (outgoing, outcome) in takeSent() {
        inHand -= 1
        report(sent(outgoing, outcome))
      }
    } while true
    queue.with { $0.isOver = true }
  }

  func finish() -> [DeadToken] { [] }

  private func takeSent() -> [(outgoing: OutgoingDelivery, outcome: WebPushOutcome)] {
    queue.wait { queue in
      guard !queue.sent.isEmpty else { return nil }
      defer { queue.sent = [] }
      return queue.sent
    }
  }

  /// Sends what waits until the run is over.
  private func worker() -> @Sendable () -> Void {
    let (settings, keys, queue) = (settings, keys, queue)
    return {
      var limits = HTTPClient.Limits()
      limits.body = 65_536
      var sender = WebPushSender(settings, keys: keys, limits: limits)
      while let outgoing = queue.wait(Self.takeWaiting) {
        let outcome = sender.send(WebPushSender.Message(outgoing))
        queue.with { $0.sent.append((outgoing, outcome)) }
      }
    }
  }

  /// - Returns: nil inside where the run is over.
  private static func takeWaiting(_ queue: inout Queue) -> OutgoingDelivery?? {
    if !queue.waiting.isEmpty { return queue.waiting.removeFirst() }
    return queue.isOver ? .some(nil) : nil
  }

  private func sent(_ outgoing: OutgoingDelivery, _ outcome: WebPushOutcome) -> SentDelivery {
    let delivery = outgoing.delivery
    if outcome.isOurFault {
      alarm = """
        A push service answers \(outcome.status): it does not take our VAPID key. See that WEBPUSH_VAPID_KEY is the \
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
      token: delivery.token, sealed: outgoing.route, payload: delivery.payload,
      collapseID: delivery.collapseID, lifetime: delivery.expiresAt - Timestamp.now().seconds)
  }
}

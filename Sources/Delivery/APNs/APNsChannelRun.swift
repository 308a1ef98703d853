import Base
import Store

/// One run of the APNs channel: sends to the first host, then to the other host.
///
/// A token that the first host refuses is tried on the other host. If the first host refuses many
/// tokens, our host or topic is wrong, and no token is removed (``RefusedTokens``).
final class APNsChannelRun: ChannelRun {
  /// The clients for Apple's two hosts.
  struct Hosts {
    let first: APNsClient
    /// nil if there is only one host.
    let other: APNsClient?
  }

  private let settings: APNsSettings
  private let hosts: Hosts
  private let deadline: ContinuousClock.Instant
  private let handOver: (OutgoingDelivery) -> Bool
  private let learn: @Sendable (_ token: String) throws -> Void
  private let refusedTokens: RefusedTokens
  /// Deliveries without an outcome in this run, by id.
  private var open: [String: OutgoingDelivery] = [:]
  /// Notifications for the other host.
  private var elsewhere: [APNsNotification] = []
  /// Outcomes of the first host for tokens that the other host is asked about, by id.
  private var suspects: [String: APNsOutcome] = [:]
  private var mismatches: [DeadToken] = []
  /// Deliveries with an outcome.
  private var answered = 0
  private(set) var problem: String?
  private(set) var isStopped = false

  /// - Parameters:
  ///   - handOver: offers another app a delivery whose token Apple assigns to another app. Returns
  ///     true if that app takes the delivery; this run then does not report it.
  ///   - learn: remembers that the other host accepts notifications to a token.
  init(
    _ settings: APNsSettings, _ hosts: Hosts, until deadline: ContinuousClock.Instant,
    refusedTokens: RefusedTokens, handOver: @escaping (OutgoingDelivery) -> Bool,
    learn: @escaping @Sendable (_ token: String) throws -> Void
  ) {
    self.settings = settings
    self.hosts = hosts
    self.deadline = deadline
    self.refusedTokens = refusedTokens
    self.handOver = handOver
    self.learn = learn
  }

  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void
  ) {
    let end = hosts.first.run(until: deadline, isOver: isOver) { count in
      isOver() ? [] : take(count, next, report)
    } report: { notification, outcome in
      note(outcome, of: notification, report)
    }.end
    switch end {
    case .finished, .overdue: break
    case .stopped, .noProviderToken, .unreachable: raise("\(end)")
    }
    sendElsewhere(isOver, report)
  }

  func finish() -> [DeadToken] {
    guard areOurFault(mismatches.map(\.token)) else { return mismatches }
    raise(
      "Apple refuses the tokens of \(mismatches.count) devices: the host or the topic is wrong; "
        + "no token was removed")
    return []
  }

  // MARK: Notifications to send

  /// At most `count` notifications for the first host.
  private func take(
    _ count: Int, _ next: (Int) -> [OutgoingDelivery], _ report: (SentDelivery) -> Void
  ) -> [APNsNotification] {
    var taken: [APNsNotification] = []
    while taken.count < count {
      let outgoing = next(count - taken.count)
      if outgoing.isEmpty { break }
      for delivery in outgoing {
        guard let notification = notification(of: delivery.delivery) else {
          answered += 1
          report(
            SentDelivery(
              id: delivery.delivery.id, outcome: .dead(status: nil, reason: "not a push token")))
          continue
        }
        open[notification.id] = delivery
        if isElsewhere(delivery) {
          elsewhere.append(notification)
        } else {
          taken.append(notification)
        }
      }
    }
    return taken
  }

  private func isElsewhere(_ outgoing: OutgoingDelivery) -> Bool {
    hosts.other != nil
      && APNsApps.Route(outgoing.route).environment == settings.environment.other
  }

  private func notification(of delivery: Delivery) -> APNsNotification? {
    let content = delivery.content
    return PushToken(delivery.token).flatMap {
      APNsNotification(
        id: delivery.id, token: $0, topic: settings.topic, collapseID: content.collapseID,
        expiration: delivery.expiresAt,
        priority: content.isShown ? .immediate : .considerate, payload: content.apnsPayload)
    }
  }

  /// Sends to the other host the notifications known to belong there, and those whose tokens the
  /// first host refused.
  private func sendElsewhere(_ isOver: () -> Bool, _ report: (SentDelivery) -> Void) {
    guard let other = hosts.other, !elsewhere.isEmpty else { return }
    let suspected = suspects.keys.compactMap { open[$0]?.delivery.token }
    if areOurFault(suspected + mismatches.map(\.token)) {
      settleSuspects(report) { suspects[$0.id]! }
    }
    let end = other.run(until: deadline, isOver: isOver) { count in
      if isOver() { return [] }
      let taken = Array(elsewhere.prefix(count))
      elsewhere.removeFirst(taken.count)
      return taken
    } report: { notification, outcome in
      note(outcome, of: notification, report)
    }.end
    switch end {
    case .finished, .overdue: break
    case .stopped(let reason):
      settleSuspects(report) { _ in .rejected(status: 403, reason: reason) }
    case .noProviderToken, .unreachable: raise("\(end)")
    }
  }

  /// Notes an outcome for the tokens that the other host is no longer asked about.
  private func settleSuspects(
    _ report: (SentDelivery) -> Void, _ outcome: (APNsNotification) -> APNsOutcome
  ) {
    let settled = elsewhere.filter { suspects[$0.id] != nil }
    elsewhere.removeAll { suspects[$0.id] != nil }
    for notification in settled { note(outcome(notification), of: notification, report) }
  }

  // MARK: Outcomes

  private func note(
    _ outcome: APNsOutcome, of notification: APNsNotification, _ report: (SentDelivery) -> Void
  ) {
    guard let outgoing = open[notification.id] else { return }
    let first = suspects.removeValue(forKey: notification.id)
    if first == nil, outcome.isMismatch, hosts.other != nil, !isElsewhere(outgoing) {
      suspects[notification.id] = outcome
      elsewhere.append(notification)
      return
    }
    open[notification.id] = nil
    let last = first.map { outcome.secondOpinion(after: $0, settings.retries) } ?? outcome
    if last.isOfOtherTopic, handOver(outgoing) { return }
    let sent = decide(last, isSecond: first != nil, of: outgoing)
    answered += 1
    report(sent)
  }

  /// - Parameter isSecond: true if both hosts were asked.
  private func decide(
    _ outcome: APNsOutcome, isSecond: Bool, of outgoing: OutgoingDelivery
  ) -> SentDelivery {
    let delivery = outgoing.delivery
    let action = outcome.action(
      attempts: Int(delivery.attempts) + 1, retries: settings.retries)
    let (status, reason) = outcome.statusAndReason
    if action.isProblem {
      raise("Apple answers \(status ?? 0) \(reason)", isFinal: action.endsSending)
    }
    var sent = SentDelivery(
      id: delivery.id, outcome: action.deliveryOutcome(status: status, reason: reason))
    if action == .done, isSecond {
      sent.afterwards = { [learn] in try learn(delivery.token) }
    }
    if action == .removeToken, case .unregistered(_, let since?) = outcome {
      sent.deadToken = DeadToken(token: delivery.token, registeredBefore: since)
    }
    if action == .markMismatch {
      mismatches.append(DeadToken(token: delivery.token, registeredBefore: outgoing.readAt))
      if mismatches.count.isMultiple(of: 1_000), areOurFault(mismatches.map(\.token)) {
        isStopped = true
      }
    }
    return sent
  }

  private func raise(_ text: String, isFinal: Bool = true) {
    problem = problem ?? text
    if isFinal { isStopped = true }
  }

  private func areOurFault(_ tokens: [String]) -> Bool {
    refusedTokens.areOurFault(tokens, among: answered + suspects.count)
  }
}

extension APNsOutcome {
  /// Whether Apple says that the token belongs to another host or app.
  var isMismatch: Bool {
    if case .rejected(_, let reason) = self {
      reason == .badDeviceToken || reason == .deviceTokenNotForTopic
    } else {
      false
    }
  }

  /// Whether Apple says that the token belongs to another app.
  fileprivate var isOfOtherTopic: Bool {
    if case .rejected(_, .deviceTokenNotForTopic) = self { true } else { false }
  }

  /// The outcome that counts if this is the other host's answer and `first` was the first host's.
  /// If the other host does not know the token or does not serve us, `first` counts.
  func secondOpinion(after first: APNsOutcome, _ retries: APNsRetries) -> APNsOutcome {
    switch action(attempts: 1, retries: retries) {
    case .markMismatch, .stop, .stopTopic, .deadLetter: first
    case .retryNow: .unanswered  // counts as an attempt: the first host is not asked again
    default: self
    }
  }

  /// Status and reason for the row of the delivery.
  fileprivate var statusAndReason: (Int64?, String) {
    switch self {
    case .accepted: (200, "")
    case .rejected(let status, let reason): (Int64(status), reason.rawValue)
    case .unregistered(let reason, _): (410, reason.rawValue)
    case .unanswered: (nil, "no answer")
    case .notProcessed: (nil, "not taken")
    }
  }
}

extension APNsAction {
  fileprivate var endsSending: Bool { self == .stop || self == .stopTopic }

  fileprivate func deliveryOutcome(status: Int64?, reason: String) -> DeliveryOutcome {
    func later(_ delay: Duration, counts: Bool) -> DeliveryOutcome {
      .later(delay: delay, status: status, reason: reason, countsAsAttempt: counts)
    }
    return switch self {
    case .done: .delivered
    case .removeToken, .markMismatch, .keepToken, .deadLetter:
      .dead(status: status, reason: reason)
    case .retry(let delay), .deferDevice(let delay): later(delay, counts: true)
    case .retryNow: later(.seconds(1), counts: false)
    case .pause(let delay): later(delay, counts: false)
    case .renewProviderToken, .stop, .stopTopic: later(.seconds(60), counts: false)
    }
  }
}

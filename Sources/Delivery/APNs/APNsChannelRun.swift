import Base
import Store

/// One run of the channel APNs: sends to the host that is asked first, then to the other one.
///
/// A token that the first host calls wrong is tried on the other host, unless that happens to many:
/// then our host or topic is wrong, and no token is removed.
final class APNsChannelRun: ChannelRun {
  /// The ways to Apple's two hosts.
  struct Hosts {
    let first: APNsClient
    /// nil where there is only one.
    let other: APNsClient?
  }

  private let settings: APNsSettings
  private let hosts: Hosts
  private let deadline: ContinuousClock.Instant
  private let handOver: (OutgoingDelivery) -> Bool
  private let learn: @Sendable (_ token: String) throws -> Void
  /// In this run, by id.
  private var open: [String: OutgoingDelivery] = [:]
  /// For the other host.
  private var elsewhere: [APNsNotification] = []
  /// What the first host said of tokens on which the other one is asked, by id.
  private var suspects: [String: APNsOutcome] = [:]
  private var mismatches: [DeadToken] = []
  /// Deliveries with an outcome.
  private var answered = 0
  private(set) var alarm: String?
  private(set) var isStopped = false

  /// - Parameters:
  ///   - handOver: whether another app takes a delivery whose token Apple calls another app's. If so, this run reports
  ///     nothing of it.
  ///   - learn: remembers that the other host takes notifications to a token.
  init(
    _ settings: APNsSettings, _ hosts: Hosts, until deadline: ContinuousClock.Instant,
    handOver: @escaping (OutgoingDelivery) -> Bool,
    learn: @escaping @Sendable (_ token: String) throws -> Void
  ) {
    self.settings = settings
    self.hosts = hosts
    self.deadline = deadline
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
    guard isRule(mismatches.count) else { return mismatches }
    raise(
      "Apple refuses the tokens of \(mismatches.count) devices: the host or the topic is wrong; "
        + "no token was removed")
    return []
  }

  // MARK: What is sent

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
    PushToken(delivery.token).flatMap {
      APNsNotification(
        id: delivery.id, token: $0, topic: settings.topic, collapseID: delivery.collapseID,
        expiration: delivery.expiresAt,
        priority: delivery.isQuiet ? .considerate : .immediate, payload: delivery.payload)
    }
  }

  /// Sends to the other host what is known to be its own, and asks it about the tokens that the first
  /// one has called wrong.
  private func sendElsewhere(_ isOver: () -> Bool, _ report: (SentDelivery) -> Void) {
    guard let other = hosts.other, !elsewhere.isEmpty else { return }
    if isRule(suspects.count + mismatches.count) {
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

  /// Notes an outcome of those on which the other host is not asked any more.
  private func settleSuspects(
    _ report: (SentDelivery) -> Void, _ outcome: (APNsNotification) -> APNsOutcome
  ) {
    let settled = elsewhere.filter { suspects[$0.id] != nil }
    elsewhere.removeAll { suspects[$0.id] != nil }
    for notification in settled { note(outcome(notification), of: notification, report) }
  }

  // MARK: What became of it

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

  /// - Parameter isSecond: whether both hosts were asked.
  private func decide(
    _ outcome: APNsOutcome, isSecond: Bool, of outgoing: OutgoingDelivery
  ) -> SentDelivery {
    let delivery = outgoing.delivery
    let action = outcome.action(
      registeredAt: Timestamp(seconds: 0), attempts: Int(delivery.attempts) + 1,
      retries: settings.retries)
    let (status, reason) = outcome.statusAndReason
    if action.isAlarm {
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
      if mismatches.count >= 1_000, isRule(mismatches.count) { isStopped = true }
    }
    return sent
  }

  private func raise(_ text: String, isFinal: Bool = true) {
    alarm = alarm ?? text
    if isFinal { isStopped = true }
  }

  /// Whether so many mismatches are the rule of the run and not the exception.
  private func isRule(_ count: Int) -> Bool {
    count > 20 && count * 10 > answered + suspects.count
  }
}

extension APNsOutcome {
  /// Whether it says that the token is not of this host or app.
  var isMismatch: Bool {
    if case .rejected(_, let reason) = self {
      reason == .badDeviceToken || reason == .deviceTokenNotForTopic
    } else {
      false
    }
  }

  /// Whether it says that the token is not of this app.
  fileprivate var isOfOtherTopic: Bool {
    if case .rejected(_, .deviceTokenNotForTopic) = self { true } else { false }
  }

  /// What counts where this is the other host's answer about a token on which the first one said
  /// `first`: a host that does not know the token, or does not serve us, changes nothing.
  func secondOpinion(after first: APNsOutcome, _ retries: APNsRetries) -> APNsOutcome {
    switch action(registeredAt: Timestamp(seconds: 0), attempts: 1, retries: retries) {
    case .markMismatch, .stop, .stopTopic, .deadLetter: first
    case .retryNow: .unanswered  // so that it counts: the first host is not asked again
    default: self
    }
  }

  /// As the row of the delivery shows it.
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

package import Store

/// Outcome of a message that was sent to a push service (RFC 8030 §5 and §7.3).
package enum WebPushOutcome: Sendable, Equatable {
  /// The service has the message.
  case accepted(status: Int)
  /// The service answered with another status.
  case refused(status: Int, retryAfter: Duration?)
  /// The service refused our key, which it accepts for other subscriptions: this subscription was
  /// made with another key.
  case otherKey(status: Int)
  /// The service did not answer.
  case unanswered
  /// Not sent, because the service did not answer earlier in this run.
  case postponed
  /// Not sent, because the message has more than ``WebPushKeys/maximumContentSize`` bytes.
  case tooLarge
  /// Not sent, because the subscription is missing, cannot be opened, is malformed, or names a host
  /// that is not allowed.
  case unusable(Unusable)

  package enum Unusable: String, Sendable, Equatable {
    case missing = "NoSubscription"
    case unopenable = "SealedForOtherKeys"
    case malformed = "MalformedSubscription"
    case foreignHost = "UnknownPushService"
  }
}

extension WebPushOutcome {
  /// The service's status; 0 if it did not answer or was not asked.
  var status: Int {
    switch self {
    case .accepted(let status), .refused(let status, _), .otherKey(let status): status
    case .unanswered, .postponed, .tooLarge, .unusable: 0
    }
  }

  /// Status that users see. It is reduced to the statuses that users can act on; only
  /// administrators see a host's exact answer.
  var toldStatus: Int {
    switch self {
    case .accepted: 201
    case .refused(401, _), .refused(403, _), .otherKey: 403
    case .refused(let status, _) where [404, 410, 413, 429].contains(status): status
    case .refused(500..., _): 503
    case .refused: 400
    case .unanswered, .postponed, .tooLarge, .unusable: 0
    }
  }

  /// Reason of a failure that matches ``toldStatus``; nil if the message was accepted.
  var toldReason: String? {
    switch self {
    case .accepted: nil
    case .refused(400..<500, _) where toldStatus != 400, .otherKey, .unanswered, .postponed,
      .tooLarge, .unusable:
      reason
    case .refused: "HTTP_\(toldStatus)"
    }
  }

  /// Reason of a failure; empty if the message was accepted. Services use different texts, so we
  /// use our own words for all.
  var reason: String {
    switch self {
    case .accepted: ""
    case .refused(404, _), .refused(410, _): "SubscriptionGone"
    case .refused(413, _), .tooLarge: "PayloadTooLarge"
    case .refused(429, _): "TooManyRequests"
    case .refused(401, _), .refused(403, _): "VapidKeyRefused"
    case .refused(let status, _): "HTTP_\(status)"
    case .otherKey: "SubscribedWithOtherKey"
    case .unanswered, .postponed: "NoAnswer"
    case .unusable(let why): why.rawValue
    }
  }

  /// Whether the subscription has ended or is unusable.
  var isGone: Bool {
    switch self {
    case .refused(404, _), .refused(410, _), .otherKey, .unusable(.malformed), .unusable(.missing):
      true
    default: false
    }
  }

  /// Whether the service refuses our key.
  var isOurFault: Bool {
    switch self {
    case .refused(401, _), .refused(403, _): true
    default: false
    }
  }

  /// The next step for the delivery.
  ///
  /// - Parameter attempts: number of attempts, including this one.
  package func deliveryOutcome(after attempts: Int64) -> DeliveryOutcome {
    switch self {
    case .accepted: .delivered
    case .refused(401, _), .refused(403, _), .refused(429, _), .refused(500..., _):
      later(after: attempts, status: Int64(status))
    case .refused, .otherKey: .dead(status: Int64(status), reason: reason)
    case .unanswered: later(after: attempts, status: nil)
    case .postponed, .unusable(.unopenable):
      later(after: 1, status: nil, countsAsAttempt: false)
    case .tooLarge, .unusable: .dead(status: nil, reason: reason)
    }
  }

  private func later(
    after attempts: Int64, status: Int64?, countsAsAttempt: Bool = true
  ) -> DeliveryOutcome {
    // One minute, doubled after each attempt, up to 32 minutes.
    var delay = Duration.seconds(60 << min(max(attempts, 1) - 1, 5))
    if case .refused(_, let wanted?) = self { delay = max(delay, wanted) }
    return .later(delay: delay, status: status, reason: reason, countsAsAttempt: countsAsAttempt)
  }
}

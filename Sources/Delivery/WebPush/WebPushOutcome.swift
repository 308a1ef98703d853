package import Store

/// What became of a message that was handed to a push service (RFC 8030 §5 and §7.3).
package enum WebPushOutcome: Sendable, Equatable {
  /// The service has it.
  case accepted(status: Int)
  /// The service answered with another status.
  case refused(status: Int, retryAfter: Duration?)
  /// Nobody answered.
  case unanswered
  /// No service was asked: it has not answered before in this run.
  case postponed
  /// No service was asked: the message has more than ``WebPushKeys/maximumContentSize`` bytes.
  case tooLarge
  /// No service was asked: the subscription is not there, or cannot be opened, or leads to a host that is not allowed.
  case unusable(Unusable)

  package enum Unusable: String, Sendable, Equatable {
    case missing = "NoSubscription"
    case unopenable = "SealedForOtherKeys"
    case malformed = "MalformedSubscription"
    case foreignHost = "UnknownPushService"
  }
}

extension WebPushOutcome {
  /// The service's status; 0 where it has not answered or was not asked.
  var status: Int {
    switch self {
    case .accepted(let status), .refused(let status, _): status
    case .unanswered, .postponed, .tooLarge, .unusable: 0
    }
  }

  /// What people are told of the status: one word for each thing that they can do about it. What else a host answers
  /// is for administrators alone.
  var toldStatus: Int {
    switch self {
    case .accepted: 201
    case .refused(401, _), .refused(403, _): 403
    case .refused(let status, _) where [404, 410, 413, 429].contains(status): status
    case .refused(500..., _): 503
    case .refused: 400
    case .unanswered, .postponed, .tooLarge, .unusable: 0
    }
  }

  /// Why it was not accepted, in words that go with ``toldStatus``; nil where it was.
  var toldReason: String? {
    switch self {
    case .accepted: nil
    case .refused(400..<500, _) where toldStatus != 400, .unanswered, .postponed, .tooLarge,
      .unusable:
      reason
    case .refused: "HTTP_\(toldStatus)"
    }
  }

  /// Why it was not accepted, else empty. Services say it in texts of their own; we use the same words for all.
  var reason: String {
    switch self {
    case .accepted: ""
    case .refused(404, _), .refused(410, _): "SubscriptionGone"
    case .refused(413, _), .tooLarge: "PayloadTooLarge"
    case .refused(429, _): "TooManyRequests"
    case .refused(401, _), .refused(403, _): "VapidKeyRefused"
    case .refused(let status, _): "HTTP_\(status)"
    case .unanswered, .postponed: "NoAnswer"
    case .unusable(let why): why.rawValue
    }
  }

  /// Whether no browser has the subscription any more.
  var isGone: Bool {
    switch self {
    case .refused(404, _), .refused(410, _), .unusable(.malformed), .unusable(.missing): true
    default: false
    }
  }

  /// Whether the service takes nothing from us, because of our key.
  var isOurFault: Bool {
    switch self {
    case .refused(401, _), .refused(403, _): true
    default: false
    }
  }

  /// What to do now.
  ///
  /// - Parameter attempts: made, this one included.
  package func deliveryOutcome(after attempts: Int64) -> DeliveryOutcome {
    switch self {
    case .accepted: .delivered
    case .refused(401, _), .refused(403, _), .refused(429, _), .refused(500..., _):
      later(after: attempts, status: Int64(status))
    case .refused: .dead(status: Int64(status), reason: reason)
    case .unanswered: later(after: attempts, status: nil)
    case .postponed, .unusable(.unopenable):
      later(after: 1, status: nil, countsAsAttempt: false)
    case .tooLarge, .unusable: .dead(status: nil, reason: reason)
    }
  }

  private func later(
    after attempts: Int64, status: Int64?, countsAsAttempt: Bool = true
  ) -> DeliveryOutcome {
    // A minute, and twice as long after each attempt, up to 32 minutes.
    var delay = Duration.seconds(60 << min(max(attempts, 1) - 1, 5))
    if case .refused(_, let wanted?) = self { delay = max(delay, min(wanted, .seconds(86_400))) }
    return .later(delay: delay, status: status, reason: reason, countsAsAttempt: countsAsAttempt)
  }
}

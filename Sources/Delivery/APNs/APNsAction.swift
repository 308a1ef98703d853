import Base
import Store

/// Next step after an outcome, by Apple's table and its advice on retries ("Handling notification
/// responses from APNs").
package enum APNsAction: Sendable, Equatable {
  /// Apple has the notification.
  case done
  /// Delete the dead token; the notification is finished.
  case removeToken
  /// Keep the token, because Apple does not say which registration it means; the notification is
  /// finished.
  case keepToken
  /// Finish the notification: the token belongs to another host or topic, or our host or topic is
  /// wrong. If this happens to many tokens, our settings are wrong, and no token is deleted.
  case markMismatch
  /// Retry after this time, with the same `apns-id` and collapse id.
  case retry(after: Duration)
  /// Retry at once, on a new connection if Apple gave a reason. Not counted as an attempt.
  case retryNow
  /// Get a newer provider token than the refused one, then retry once.
  case renewProviderToken
  /// Send nothing to any device for this time; keep the deliveries.
  case pause(Duration)
  /// Stop sending, report a problem and keep the deliveries: our account or its key is wrong.
  case stop
  /// Stop sending for this topic, report a problem and keep its deliveries: the topic is wrong.
  case stopTopic
  /// Give up: Apple will never accept this notification.
  case deadLetter(isProblem: Bool)
  /// Retry after this time, because this device gets too many; other devices are not delayed.
  case deferDevice(Duration)

  /// Whether an administrator has to know.
  package var isProblem: Bool {
    switch self {
    case .stop, .stopTopic, .deadLetter(isProblem: true): true
    default: false
    }
  }
}

/// Delays before the next attempt.
package struct APNsRetries: Sendable, Equatable {
  /// Delay after the first 5xx status; Apple asks for 15 minutes or more.
  package let delay: Duration

  package init(delay: Duration) {
    self.delay = delay
  }

  /// Doubles after each attempt, up to 16 times the first delay.
  ///
  /// - Parameter attempts: made so far, at least 1.
  func delay(after attempts: Int) -> Duration { delay * (1 << min(max(attempts, 1) - 1, 4)) }

  /// Starts with a shorter delay, because a lost connection usually recovers sooner than Apple's
  /// servers.
  func delayOfUnanswered(after attempts: Int) -> Duration {
    min(.seconds(60), delay) * (1 << min(max(attempts, 1) - 1, 4))
  }
}

extension APNsOutcome {
  /// The next step after this outcome.
  ///
  /// - Parameter attempts: how often the notification was sent, including this time.
  package func action(attempts: Int, retries: APNsRetries) -> APNsAction {
    switch self {
    case .accepted: .done
    case .unregistered(_, let since): since == nil ? .keepToken : .removeToken
    case .unanswered: .retry(after: retries.delayOfUnanswered(after: attempts))
    case .notProcessed: .retryNow
    case .rejected(400..<500, let reason): reason.action(after: attempts, retries)
    case .rejected: .retry(after: retries.delay(after: attempts))
    }
  }
}

extension APNsOutcome.Reason {
  /// The next step after a refusal with a 4xx status.
  fileprivate func action(after attempts: Int, _ retries: APNsRetries) -> APNsAction {
    switch self {
    case .badDeviceToken, .deviceTokenNotForTopic: .markMismatch
    case .badTopic, .missingTopic, .topicDisallowed: .stopTopic
    case .expiredProviderToken: .renewProviderToken
    case .tooManyProviderTokenUpdates: .pause(retries.delay(after: attempts))
    case .invalidProviderToken, .missingProviderToken, .badCertificate, .badCertificateEnvironment,
      .forbidden, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken:
      .stop
    case .tooManyRequests: .deferDevice(retries.delay(after: attempts))
    case .idleTimeout: .retryNow
    case .badPath, .methodNotAllowed, .payloadTooLarge: .deadLetter(isProblem: false)
    default: .deadLetter(isProblem: true)
    }
  }
}

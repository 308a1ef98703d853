package import Base
import Store

/// What to do after an outcome: Apple's table and its advice on trying again ("Handling notification
/// responses from APNs").
package enum APNsAction: Sendable, Equatable {
  /// Apple has the notification.
  case done
  /// The token is dead: delete it; the notification is finished.
  case removeToken
  /// Apple means an older registration of the token, or does not say which: the token stays; the
  /// notification is finished.
  case keepToken
  /// The token is not of this host or topic, or the host or topic is not ours: finish the
  /// notification. If it is so with many, the fault is ours, and no token may go.
  case markMismatch
  /// Try again after this time, with the same `apns-id` and collapse id.
  case retry(after: Duration)
  /// Try again at once, on a new connection where there is a reason given; costs no attempt.
  case retryNow
  /// Get a provider token that is not the refused one, then try again, once.
  case renewProviderToken
  /// Send nothing to anyone for this time; keep the work.
  case pause(Duration)
  /// Something is wrong with our account or its key: send nothing more, alarm, keep the work.
  case stop
  /// Something is wrong with the topic: send nothing more of it, alarm, keep the work.
  case stopTopic
  /// Nothing will make Apple take it: give it up.
  case deadLetter(isAlarm: Bool)
  /// This device gets too many: try again after this time; others go on.
  case deferDevice(Duration)

  /// Whether an administrator has to know.
  package var isAlarm: Bool {
    switch self {
    case .stop, .stopTopic, .deadLetter(isAlarm: true): true
    default: false
    }
  }
}

/// How long to wait before the next try.
package struct APNsRetries: Sendable, Equatable {
  /// After Apple's 5xx, for the first time; Apple asks for 15 minutes or more.
  package let delay: Duration

  package init(delay: Duration) {
    self.delay = delay
  }

  /// Twice as long after each attempt, up to 16 times the first delay.
  ///
  /// - Parameter attempts: made so far, at least 1.
  func delay(after attempts: Int) -> Duration { delay * (1 << min(max(attempts, 1) - 1, 4)) }

  /// Silence has causes that pass sooner than Apple's own trouble.
  func delayOfUnanswered(after attempts: Int) -> Duration {
    min(.seconds(60), delay) * (1 << min(max(attempts, 1) - 1, 4))
  }
}

extension APNsOutcome {
  /// What to do now.
  ///
  /// - Parameters:
  ///   - registeredAt: when the app last gave us the token.
  ///   - attempts: how often the notification has been handed over, this time included.
  package func action(registeredAt: Timestamp, attempts: Int, retries: APNsRetries) -> APNsAction {
    switch self {
    case .accepted: .done
    case .unregistered(_, let since?) where since > registeredAt: .removeToken
    case .unregistered: .keepToken
    case .unanswered: .retry(after: retries.delayOfUnanswered(after: attempts))
    case .notProcessed: .retryNow
    case .rejected(400..<500, let reason): reason.action(after: attempts, retries)
    case .rejected: .retry(after: retries.delay(after: attempts))
    }
  }
}

extension APNsOutcome.Reason {
  /// What to do after a refusal with a status of 4xx.
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
    case .badPath, .methodNotAllowed, .payloadTooLarge: .deadLetter(isAlarm: false)
    default: .deadLetter(isAlarm: true)
    }
  }
}

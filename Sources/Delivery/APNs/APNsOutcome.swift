package import Base
import Store

/// Outcome of a notification that was sent to Apple.
package enum APNsOutcome: Sendable, Equatable {
  /// Apple has the notification, under this `apns-id`.
  case accepted(apnsID: String)
  /// Apple refused the notification with this HTTP status.
  case rejected(status: Int, reason: Reason)
  /// Status 410: no app uses this token any more. `since` is when Apple noticed that;
  /// nil if Apple does not say, or names a time that cannot be true.
  case unregistered(reason: Reason, since: Timestamp?)
  /// No answer: Apple may or may not have the notification.
  case unanswered
  /// Apple does not have the notification: Apple says so, or it was never sent.
  case notProcessed

  /// Apple's word for a refusal. Apple adds new words, so any text is allowed.
  package struct Reason: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    // The words that we distinguish, from "Handling notification responses from APNs".
    static let badDeviceToken = Reason(rawValue: "BadDeviceToken")
    static let deviceTokenNotForTopic = Reason(rawValue: "DeviceTokenNotForTopic")

    static let badTopic = Reason(rawValue: "BadTopic")
    static let missingTopic = Reason(rawValue: "MissingTopic")
    static let topicDisallowed = Reason(rawValue: "TopicDisallowed")

    static let expiredProviderToken = Reason(rawValue: "ExpiredProviderToken")
    static let tooManyProviderTokenUpdates = Reason(rawValue: "TooManyProviderTokenUpdates")
    static let invalidProviderToken = Reason(rawValue: "InvalidProviderToken")
    static let missingProviderToken = Reason(rawValue: "MissingProviderToken")
    static let badCertificate = Reason(rawValue: "BadCertificate")
    static let badCertificateEnvironment = Reason(rawValue: "BadCertificateEnvironment")
    static let forbidden = Reason(rawValue: "Forbidden")
    static let unrelatedKeyIDInToken = Reason(rawValue: "UnrelatedKeyIdInToken")
    static let badEnvironmentKeyIDInToken = Reason(rawValue: "BadEnvironmentKeyIdInToken")
    static let badEnvironmentKeyInToken = Reason(rawValue: "BadEnvironmentKeyInToken")

    static let badPath = Reason(rawValue: "BadPath")
    static let methodNotAllowed = Reason(rawValue: "MethodNotAllowed")
    static let payloadTooLarge = Reason(rawValue: "PayloadTooLarge")
    static let tooManyRequests = Reason(rawValue: "TooManyRequests")
    static let idleTimeout = Reason(rawValue: "IdleTimeout")
    static let shutdown = Reason(rawValue: "Shutdown")
  }
}

extension APNsOutcome {
  /// The outcome of an answer with this status and body.
  init(status: Int, body: Span<UInt8>, apnsID: @autoclosure () -> String) {
    if status == 200 {
      self = .accepted(apnsID: apnsID())
      return
    }
    let answer = Answer(body.withUnsafeBufferPointer { Array($0) })
    self =
      status == 410
      ? .unregistered(reason: answer.reason, since: answer.since)
      : .rejected(status: status, reason: answer.reason)
  }

  /// The members of Apple's body, `{"reason":"…","timestamp":…}`.
  private struct Answer {
    private(set) var reason = Reason(rawValue: "")
    private(set) var since: Timestamp?

    init(_ body: [UInt8]) {
      var reader = JSONReader(body, .lenient)
      do {
        _ = try reader.optionalObject { name, value in
          switch name {
          case "reason":
            let text = try value.optionalString(atMost: 100)
            if let text, text.isVisibleASCII(atMost: 99) { reason = Reason(rawValue: text) }
          case "timestamp":
            since = try value.optionalTimestamp()
          default: try value.skip()
          }
        }
      } catch {
        // Members before the syntax error still count.
      }
    }
  }
}

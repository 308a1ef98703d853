import Store

/// Push service of a channel, described for administrators.
struct PushService {
  private let channel: Channel

  init(behind channel: Channel) { self.channel = channel }

  var name: String {
    switch channel {
    case .fcm: "Google"
    case .webPush: "the browser's push service"
    default: "Apple"
    }
  }

  /// Host of the service.
  var host: String {
    switch channel {
    case .fcm: "fcm.googleapis.com"
    case .webPush: "the browser's push service"
    default: "api.push.apple.com"
    }
  }

  /// Explains a refusal and gives advice, in sentences.
  ///
  /// Knows the reasons of "Handling notification responses from APNs" and "FCM error codes", and
  /// our own reasons for Web Push services. For other reasons, the advice depends on the status.
  func advice(onStatus status: Int64, _ reason: String) -> String {
    let advice =
      switch channel {
      case .fcm: fcmAdvice(on: reason)
      case .webPush: webPushAdvice(on: reason)
      default: apnsAdvice(on: reason)
      }
    return advice ?? adviceOnStatus(status)
  }

  private func adviceOnStatus(_ status: Int64) -> String {
    switch status {
    case 410: tokenIsGone
    case 500...: "\(name.capitalizedFirst) has a temporary problem. Switchboard retries."
    default: "The refusal is final."
    }
  }
}

private let tokenIsGone =
  "No app has this token any more: it was deleted, or has another token now. Notifications work again when the app registers: open "
  + "it on the phone."

private func apnsAdvice(on reason: String) -> String? {
  switch reason {
  case "BadDeviceToken":
    "Apple does not know the token at this host: it is malformed, or belongs to the other host (sandbox or production). "
      + "Check APNS_USE_SANDBOX, and let the app register again."
  case "DeviceTokenNotForTopic":
    "The token belongs to another app. Check APNS_BUNDLE_ID, and which app registered it."
  case "BadTopic", "MissingTopic", "TopicDisallowed":
    "Apple does not take notifications for this app. Check APNS_BUNDLE_ID, and that the key may send for it."
  case "ExpiredProviderToken":
    "Apple calls our provider token expired. The clock of this host is likely wrong: compare it with timedatectl."
  case "TooManyProviderTokenUpdates":
    "Apple got too many new provider tokens. Let only one site use this key."
  case "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken":
    "Apple refuses our key. Check APNS_KEY_ID, APNS_TEAM_ID and APNS_PRIVATE_KEY."
  case "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken":
    "The key is not for this host (sandbox or production). Check APNS_USE_SANDBOX, or make a key for both."
  case "BadCertificate", "BadCertificateEnvironment", "Forbidden":
    "Apple does not let us send. Check that the key was not revoked in the developer account."
  case "PayloadTooLarge":
    "The notification has more than 4096 bytes. That is an error of this program: report it."
  case "TooManyRequests":
    "Apple got too many notifications for this device in a short time. Switchboard retries."
  case "BadPath", "MethodNotAllowed":
    "The server at the configured address is not Apple's. Check APNS_ENDPOINT_OVERRIDE."
  default: nil
  }
}

private func fcmAdvice(on reason: String) -> String? {
  switch reason {
  case "UNREGISTERED": tokenIsGone
  case "SENDER_ID_MISMATCH":
    "The token belongs to another Firebase project. Check FCM_SERVICE_ACCOUNT, and which app registered it."
  case "INVALID_ARGUMENT":
    "Google does not understand the message or the token. Let the app register again; if that does not help, report it."
  case "QUOTA_EXCEEDED":
    "Google got too many notifications in a short time. Switchboard retries."
  case "UNAVAILABLE", "INTERNAL":
    "Google has a temporary problem. Switchboard retries. See the Firebase status page."
  case "THIRD_PARTY_AUTH_ERROR":
    "The token belongs to an iPhone or a browser, for which Firebase has no key. Let the app register Apple's own token."
  case "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND":
    "Google does not let us send. Check that the service account may send messages for the project."
  default: nil
  }
}

private func webPushAdvice(on reason: String) -> String? {
  switch reason {
  case "SubscriptionGone":
    "The browser has given up the subscription. Notifications work again when the page subscribes: open it in the browser."
  case "VapidKeyRefused":
    "The push service refuses our key. Check WEBPUSH_VAPID_KEY: subscriptions belong to the key with which they were made."
  case "SubscribedWithOtherKey":
    "The page subscribed with another key than the site's. Notifications work again when the page subscribes: open it in the browser."
  case "PayloadTooLarge":
    "The notification is too long for a push service. That is an error of this program: report it."
  case "TooManyRequests":
    "The push service got too many notifications in a short time. Switchboard retries."
  default: nil
  }
}

extension String {
  /// With a capital first letter, for the beginning of a sentence.
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

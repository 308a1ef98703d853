/// What a refusal of Apple or Google means, and what to do, in sentences for an administrator.
///
/// The words are those of "Handling notification responses from APNs" and "FCM error codes"; others get the advice of
/// their status.
func advice(onStatus status: Int64, _ reason: String) -> String {
  fcmAdvice(on: reason) ?? apnsAdvice(onStatus: status, reason)
}

private func apnsAdvice(onStatus status: Int64, _ reason: String) -> String {
  switch APNsOutcome.Reason(rawValue: reason) {
  case .badDeviceToken:
    "Apple does not know the token at this host: it is malformed, or belongs to the other host (sandbox or production). "
      + "Check APNS_USE_SANDBOX, and let the app register again."
  case .deviceTokenNotForTopic:
    "The token belongs to another app. Check APNS_BUNDLE_ID, and which app registered it."
  case .badTopic, .missingTopic, .topicDisallowed:
    "Apple does not take notifications for this app. Check APNS_BUNDLE_ID, and that the key may send for it."
  case .expiredProviderToken:
    "Apple calls our provider token too old. The clock of this host is likely wrong: compare it with timedatectl."
  case .tooManyProviderTokenUpdates:
    "Apple got too many new provider tokens. Let only one site use this key."
  case .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken:
    "Apple refuses our key. Check APNS_KEY_ID, APNS_TEAM_ID and APNS_PRIVATE_KEY."
  case .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken:
    "The key is not for this host (sandbox or production). Check APNS_USE_SANDBOX, or make a key for both."
  case .badCertificate, .badCertificateEnvironment, .forbidden:
    "Apple does not let us send. Check that the key was not revoked in the developer account."
  case .payloadTooLarge:
    "The notification has more than 4096 bytes. That is an error of this program: report it."
  case .tooManyRequests:
    "Apple got too many notifications for this device in a short time. It waits by itself."
  case .badPath, .methodNotAllowed:
    "Whatever answers at the configured address is not Apple. Check APNS_ENDPOINT_OVERRIDE."
  default: advice(onStatus: status)
  }
}

private func advice(onStatus status: Int64) -> String {
  switch status {
  case 410:
    "No app has this token any more: it was deleted, or has another token now. It works again when the app registers: open "
      + "it on the phone."
  case 500...:
    "Apple has trouble of its own. It is tried again by itself: see Apple's system status page."
  default: "Apple refuses it for good."
  }
}

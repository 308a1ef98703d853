/// What a refusal of Google means, and what to do, in sentences for an administrator.
///
/// - Returns: nil for a word that is not Google's.
func fcmAdvice(on reason: String) -> String? {
  switch reason {
  case "UNREGISTERED":
    "No app has this token any more: it was deleted, or has another token now. It works again when the app registers: "
      + "open it on the phone."
  case "SENDER_ID_MISMATCH":
    "The token belongs to another Firebase project. Check FCM_SERVICE_ACCOUNT_FILE, and which app registered it."
  case "INVALID_ARGUMENT":
    "Google does not understand the message or the token. Let the app register again; if that does not help, report it."
  case "QUOTA_EXCEEDED":
    "Google got too many notifications in a short time. It is tried again by itself."
  case "UNAVAILABLE", "INTERNAL":
    "Google has trouble of its own. It is tried again by itself: see the Firebase status page."
  case "THIRD_PARTY_AUTH_ERROR":
    "The token is of an iPhone or a browser, for which Firebase has no key. Let the app register Apple's own token."
  case "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND":
    "Google does not let us send. Check that the service account may send messages for the project."
  default: nil
  }
}

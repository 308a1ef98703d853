/// Cases about the fate of notifications.
extension WhyTests {
  static func delivery(_ columns: String) -> String {
    "UPDATE deliveries SET \(columns) WHERE token LIKE 'b%'"
  }

  static func open(_ columns: String) -> String {
    delivery("state = 'open', finished_at = NULL, due_at = NOW(3) + INTERVAL 1 MINUTE, \(columns)")
  }

  static func dead(_ columns: String) -> String { delivery("state = 'dead', \(columns)") }

  static let ofDeliveries = [
    Case("delivered", "77", "was taken by Apple on", isCause: false),
    Case(
      "waiting", "7",
      after: delivery(
        "state = 'open', finished_at = NULL, due_at = NOW(3), status = NULL, reason = NULL, attempts = 0"
      ), "never tried"),
    Case(
      "quiet_hours", "7", after: open("status = NULL, reason = NULL, attempts = 0"),
      "waits for the end of the device's quiet hours, on"),
    Case(
      "refused_for_now", turnPhone, after: open("status = 503, reason = 'ServiceUnavailable'"),
      "503 ServiceUnavailable. Apple has a temporary problem."),
    Case(
      "refused_for_now", "7", after: open("status = 403, reason = 'InvalidProviderToken'"),
      "Check APNS_KEY_ID, APNS_TEAM_ID and APNS_PRIVATE_KEY."),
    Case(
      "no_answer", "7", after: open("status = NULL, reason = 'no answer', attempts = 3"),
      "was tried 3 times, and Apple did not answer."),
    Case(
      "sealed_for_others", "7",
      after: open("channel = 'webpush', status = NULL, reason = 'SealedForOtherKeys'"),
      "See that SWITCHBOARD_COMPANION_KEYS has all keys"),
    Case(
      "refused", "7", after: dead("status = 410, reason = 'Unregistered'"),
      "410 Unregistered. No app has this token any more"),
    Case(
      "refused", "7", after: dead("channel = 'fcm', status = 400, reason = 'INVALID_ARGUMENT'"),
      "was refused by Google on"),
    Case(
      "withdrawn", "7", after: dead("status = NULL, reason = 'withdrawn'"), "no longer true",
      isCause: false),
    Case(
      "refused", "7", after: dead("status = 400, reason = 'BadDeviceToken'"),
      "Check APNS_USE_SANDBOX"),
    Case(
      "expired", "7", after: dead("status = NULL, reason = 'expired'"), "before it could be sent"),
    Case(
      "expired", "7",
      after: "UPDATE notifications SET expires_at = NOW(3); " + open("status = NULL"),
      "it is not sent"),
    Case(
      "too_many_attempts", "7",
      after: dead("status = NULL, reason = 'too many attempts', attempts = 20"),
      "after 20 attempts. Send it again: switchboard outbox retry "),
    Case("sender_ended", "7", after: dead("status = NULL, reason = 'no outcome'"), "five times"),
    Case(
      "not_a_token", "7", after: dead("status = NULL, reason = 'not a push token'"),
      "the token does not have the format"),
    Case(
      "discarded", "7", after: dead("status = 503, reason = 'discarded'"), "by an administrator"),
    Case("given_up", "7", after: dead("status = NULL, reason = 'other'"), "was given up on"),
  ]
}

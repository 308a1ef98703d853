extension Room {
  static let wallet = Room(
    retention: [
      RetentionRule(
        .after(.day), "DELETE FROM enrollment_states WHERE expires_at < ? LIMIT ?"),
      // A webhook about it is sent for up to three days.
      RetentionRule(
        .after(.day * 7),
        "DELETE FROM payments WHERE confirmed_at IS NULL AND expires_at < ? LIMIT ?"),
      RetentionRule(.afterAuditLifetime, "DELETE FROM payments WHERE confirmed_at < ? LIMIT ?"),
      // The index has the time of the last attempt after the state.
      RetentionRule(
        .byDatabaseClock,
        """
        DELETE FROM webhooks
        WHERE state IN ('delivered', 'dead') AND due_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY
          AND finished_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY LIMIT ?
        """),
    ],
    whenAuthenticatorsEnd: ["DELETE FROM enrollment_states WHERE account_id = ?"],
    whenAccountGoesToAnotherPhone: [
      // Deletes their cards too. No payment names one: a payer's address is proven.
      "DELETE FROM enrollments WHERE account_id = ?"
    ],
    whenAccountIsBanned: ["DELETE FROM enrollment_states WHERE account_id = ?"],
    seals: [
      "SELECT DISTINCT SUBSTRING_INDEX(client_secret, '.', 1) FROM banks WHERE client_secret IS NOT NULL",
      """
      SELECT DISTINCT SUBSTRING_INDEX(webhook_secret, '.', 1) FROM merchants WHERE webhook_secret IS NOT NULL
      """,
      """
      SELECT DISTINCT SUBSTRING_INDEX(old_webhook_secret, '.', 1) FROM merchants
      WHERE old_webhook_secret_until > UTC_TIMESTAMP(3)
      """,
    ],
    whenRestored: [
      // Each may have been confirmed since the backup, so no merchant is told that one expired.
      """
      UPDATE payments FORCE INDEX (payments_expiry)
      SET expires_at = LEAST(expires_at, UTC_TIMESTAMP(3)), expired_at = UTC_TIMESTAMP(3)
      WHERE confirmed_at IS NULL AND cancelled_at IS NULL AND expired_at IS NULL
      """,
      """
      UPDATE enrollment_states FORCE INDEX (enrollment_states_expiry) SET expires_at = UTC_TIMESTAMP(3)
      WHERE expires_at > UTC_TIMESTAMP(3)
      """,
    ],
    whenClockIsSetBack: [
      """
      UPDATE webhooks SET due_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
      WHERE state = 'open' AND due_at > UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
        AND (claim_id IS NOT NULL OR due_at > UTC_TIMESTAMP(3) + INTERVAL 4 HOUR)
      """
    ], accountData: [.enrollments, .cards, .payments])
}

extension Limit {
  package static let enrollments = Limit(
    name: "enrollment", allowed: 30, window: .seconds(3600), counts: "enrollments", per: "account")
  /// The calls of one account that begin, approve or cancel a payment.
  package static let payments = Limit(
    name: "payment", allowed: 120, window: .seconds(3600),
    counts: "payments begun, approved or cancelled", per: "account")
  /// The limit of a merchant for which an administrator has chosen no other number.
  package static let paymentRequests = Limit(
    name: "payment-request", allowed: 3600, window: .seconds(3600),
    counts: "requests, or the number that an administrator chose,", per: "merchant")
  /// The requests of one merchant for payments.
  static func requests(of merchant: MerchantCaller) -> Limit {
    paymentRequests.allowing(merchant.hourlyRequests)
  }
}

extension AuditEvent {
  static let bankConnected = AuditEvent("bank_connected")
  static let bankDisconnected = AuditEvent("bank_disconnected")
  static let bankEnrolled = AuditEvent("bank_enrolled")
  static let bankEnrollmentBegun = AuditEvent("bank_enrollment_begun")
  /// Written by the companion, which may not count limits.
  static let bankRefused = AuditEvent("bank_refused")
  static let callbackRefused = AuditEvent.refusal("bank_refused")
  static let cardDefault = AuditEvent("card_default")
  static let cardRemoved = AuditEvent("card_removed")
  static let enrollmentRemoved = AuditEvent("enrollment_removed")
  static let merchantAdded = AuditEvent("merchant_added")
  static let merchantChanged = AuditEvent("merchant_changed")
  static let merchantRevoked = AuditEvent("merchant_revoked")
  static let paymentBegun = AuditEvent("payment_begun")
  static let paymentCancelled = AuditEvent("payment_cancelled")
  static let paymentConfirmed = AuditEvent("payment_confirmed")
  static let paymentRefunded = AuditEvent("payment_refunded")
  static let paymentRequested = AuditEvent("payment_requested")
  static let paymentRefused = AuditEvent.refusal("payment_refused")
  static let webhookResent = AuditEvent("webhook_resent")
  static let webhookSecretRotated = AuditEvent("webhook_secret_rotated")
}

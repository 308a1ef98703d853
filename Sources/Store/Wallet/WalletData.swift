extension AccountData {
  static let enrollments = AccountData(
    "banks", [.text("bank"), .time("enrolledAt"), .number("cards")],
    """
    SELECT e.id, b.name, e.enrolled_at,
      (SELECT COUNT(*) FROM cards c WHERE c.enrollment_id = e.id AND c.active)
    FROM enrollments e JOIN banks b ON b.bsim_id = e.bsim_id
    WHERE e.account_id = ? AND e.removed_at IS NULL ORDER BY e.enrolled_at, b.bsim_id LIMIT ?
    """
  ) { transaction, id, account in
    try transaction.cards.lock(of: account)
    return try transaction.cards.removeEnrollment(id, of: account, by: nil)
  }

  static let cards = AccountData(
    "cards",
    [
      .text("cardType"), .text("lastFour"), .number("expiryMonth"), .number("expiryYear"),
      .text("bank"), .flag("isDefault"), .flag("active"), .time("addedAt"),
    ],
    """
    SELECT c.id, c.card_type, c.last_four, c.expiry_month, c.expiry_year, b.name, c.is_default,
      c.active, c.added_at
    FROM enrollments e JOIN cards c ON c.enrollment_id = e.id JOIN banks b ON b.bsim_id = e.bsim_id
    WHERE e.account_id = ? ORDER BY c.added_at DESC, c.id LIMIT ?
    """)

  static let payments = AccountData(
    "payments",
    [
      .text("merchant"), .text("amount"), .text("currency"), .text("orderId"), .text("cardType"),
      .text("lastFour"), .time("createdAt"), .time("confirmedAt"), .text("confirmedBy"),
      .time("cancelledAt"), .time("refundedAt"),
    ],
    """
    SELECT p.id, m.name,
      IF(p.amount = ROUND(p.amount, 2), CAST(ROUND(p.amount, 2) AS CHAR), CAST(p.amount AS CHAR)),
      p.currency, p.order_id, c.card_type, c.last_four, p.created_at, p.confirmed_at, p.confirmed_by,
      p.cancelled_at, p.refunded_at
    FROM payments p JOIN merchants m ON m.id = p.merchant_id LEFT JOIN cards c ON c.id = p.card_id
    WHERE p.account_id = ? ORDER BY p.created_at DESC, p.id LIMIT ?
    """)
}

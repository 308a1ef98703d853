package import Base
import MariaDB

/// The state of a payment.
package enum PaymentStatus: String, Sendable, CaseIterable {
  /// No payer has approved it.
  case pending
  /// A payer has chosen a card, and has not proven anything yet.
  case approved
  case confirmed, cancelled, expired
  /// The merchant said that it gave the money back.
  case refunded
}

/// A payment as its merchant and its payer see it.
package struct PaymentDetails: Sendable {
  /// `pay_` and 22 characters of base64url.
  package let id: String
  package let merchantID: String
  package let merchantName: String
  /// nil if no payer has approved it, or the payer's account was deleted.
  package let accountID: String?
  package let amount: Amount
  /// The merchant's own id of the order.
  package let orderID: String?
  package let description: String?
  /// JSON: an array of the items.
  package let items: [UInt8]?
  /// The page that the app opens afterward.
  package let returnURL: String?
  /// The card as people recognize it; nil if none is chosen, or it was deleted with the account.
  package let card: PaymentCard?
  /// The name of the card at this merchant; nil unless the payment is confirmed.
  package let cardToken: String?
  package let createdAt: Timestamp
  package let expiresAt: Timestamp
  package let approvedAt: Timestamp?
  package let confirmedAt: Timestamp?
  package let cancelledAt: Timestamp?
  /// `payer` or `merchant`
  package let cancelledBy: String?
  package let refundedAt: Timestamp?
  package let refundReason: String?
  /// When the merchant first verified the statement, or the webhook was delivered.
  package let receivedAt: Timestamp?
  /// When the expiry was recorded, by a program whose clock may be ahead.
  let expiredAt: Timestamp?
  /// Whether a webhook tells the merchant each outcome.
  package let merchantIsTold: Bool

  package func status(at now: Timestamp) -> PaymentStatus {
    if refundedAt != nil { return .refunded }
    if confirmedAt != nil { return .confirmed }
    if cancelledAt != nil { return .cancelled }
    if expiredAt != nil || expiresAt <= now { return .expired }
    return approvedAt == nil ? .pending : .approved
  }

  /// The columns of ``PaymentStatements/find(_:)`` in their order.
  init(row: borrowing Row) {
    id = row.text(0)
    merchantID = row.text(1)
    merchantName = row.text(2)
    accountID = row.optionalText(3)
    amount = Amount(decimal: row.text(4), currency: row.text(5))
    orderID = row.optionalText(6)
    description = row.optionalText(7)
    items = row.isNull(8) ? nil : row.bytes(8)
    returnURL = row.optionalText(9)
    card =
      row.isNull(10)
      ? nil : PaymentCard(id: row.text(10), lastFour: row.text(11), cardType: row.text(12))
    cardToken = row.optionalText(13)
    createdAt = row.timestamp(14)
    expiresAt = row.timestamp(15)
    approvedAt = row.optionalTimestamp(16)
    confirmedAt = row.optionalTimestamp(17)
    cancelledAt = row.optionalTimestamp(18)
    cancelledBy = row.optionalText(19)
    refundedAt = row.optionalTimestamp(20)
    refundReason = row.optionalText(21)
    receivedAt = row.optionalTimestamp(22)
    merchantIsTold = row.boolean(23)
    expiredAt = row.optionalTimestamp(24)
  }
}

/// The card of a payment, as it is shown.
package struct PaymentCard: Sendable {
  package let id: String
  package let lastFour: String
  /// VISA, MASTERCARD, AMEX, DISCOVER, DEBIT
  package let cardType: String
}

extension PaymentStatements {
  /// The payment with its merchant and card.
  func find(_ id: String) throws(DatabaseError) -> PaymentDetails? {
    try transaction.connection.row(
      """
      SELECT p.id, p.merchant_id, m.name, p.account_id, p.amount, p.currency, p.order_id, p.description,
        p.items, p.return_url, c.id, c.last_four, c.card_type, p.card_token, p.created_at, p.expires_at,
        p.approved_at, p.confirmed_at, p.cancelled_at, p.cancelled_by, p.refunded_at, p.refund_reason,
        p.received_at, m.webhook_url IS NOT NULL, p.expired_at
      FROM payments p JOIN merchants m ON m.id = p.merchant_id LEFT JOIN cards c ON c.id = p.card_id
      WHERE p.id = ?
      """,
      [.text(id)]
    ) { row in PaymentDetails(row: row) }
  }

  /// At most `limit` payments of a merchant, the newest first. Payments of one millisecond come in the
  /// same direction, because an index is read in one direction; otherwise all would be sorted.
  ///
  /// - Parameter last: a payment; the list begins after it. nil: with the newest.
  func list(
    ofMerchant merchant: String, after last: PaymentDetails?, limit: Int
  ) throws(DatabaseError) -> [PaymentDetails] {
    let end = last?.createdAt ?? transaction.now + .seconds(1)
    return try find(
      transaction.connection.rows(
        """
        SELECT id FROM payments
        WHERE merchant_id = ? AND (created_at < ? OR created_at = ? AND id < ?)
        ORDER BY created_at DESC, id DESC LIMIT ?
        """,
        [
          .text(merchant), .time(end), .time(end), .text(last?.id ?? ""), .integer(Int64(limit)),
        ]
      ) { row in row.text(0) })
  }

  /// At most `limit` payments that an account has approved, the newest first.
  func list(ofAccount account: String, limit: Int) throws(DatabaseError) -> [PaymentDetails] {
    try find(
      transaction.connection.rows(
        "SELECT id FROM payments WHERE account_id = ? ORDER BY created_at DESC, id LIMIT ?",
        [.text(account), .integer(Int64(limit))]
      ) { row in row.text(0) })
  }

  private func find(_ ids: [String]) throws(DatabaseError) -> [PaymentDetails] {
    var found: [PaymentDetails] = []
    for id in ids { if let payment = try find(id) { found.append(payment) } }
    return found
  }
}

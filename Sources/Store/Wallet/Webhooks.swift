import MariaDB

/// An outcome of a payment that its merchant is told.
package enum WebhookEvent: String, Sendable, CaseIterable {
  case confirmed = "payment.confirmed"
  case cancelled = "payment.cancelled"
  case expired = "payment.expired"
  case refunded = "payment.refunded"
}

/// Statements on `webhooks`.
struct WebhookStatements: ~Copyable {
  let transaction: Transaction

  /// Posts an outcome of a payment, once, if its merchant is told of outcomes. It is sent for up to three days.
  func post(_ event: WebhookEvent, of payment: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO webhooks (id, payment_id, merchant_id, event, expires_at)
      SELECT ?, p.id, p.merchant_id, ?, UTC_TIMESTAMP(3) + INTERVAL 3 DAY
      FROM payments p JOIN merchants m ON m.id = p.merchant_id
      WHERE p.id = ? AND m.webhook_url IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.payment_id = p.id AND w.event = ?)
      """,
      [
        .text(transaction.makeID()), .text(event.rawValue), .text(payment), .text(event.rawValue),
      ])
  }
}

extension Transaction {
  var webhooks: WebhookStatements { WebhookStatements(transaction: Transaction(sharing: self)) }
}

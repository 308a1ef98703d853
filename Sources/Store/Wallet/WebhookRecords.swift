package import Base
import MariaDB

/// A webhook as administrators see it.
package struct WebhookRecord: Sendable {
  /// The field `webhook-id`.
  package let id: String
  package let merchantName: String
  package let paymentID: String
  /// The word in the column `event`.
  package let event: String
  /// The word in the column `state`.
  package let state: String
  package let createdAt: Timestamp
  /// Next attempt, while it is open.
  package let dueAt: Timestamp
  package let attempts: Int64
  /// HTTP status of the last answer; nil if there was none.
  package let status: Int64?
  /// Why the last attempt failed.
  package let reason: String?

  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    merchantName = row.text(1)
    paymentID = row.text(2)
    event = row.text(3)
    state = row.text(4)
    createdAt = row.timestamp(5)
    dueAt = row.timestamp(6)
    attempts = row.integer(7)
    status = row.optionalInteger(8)
    reason = row.optionalText(9)
  }
}

/// The result of an administrator's command to send a webhook again.
package enum WebhookResending: Sendable, Equatable {
  case done
  /// No webhook has this id.
  case unknown
  /// Its merchant has no URL.
  case noURL
}

/// Webhooks as administrators see and repeat them.
extension Webhooks {
  /// At most `limit` webhooks of a merchant, the newest first.
  package func list(of merchant: String, limit: Int) throws -> FirstRows<WebhookRecord> {
    let found = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT w.id, m.name, w.payment_id, w.event, w.state, w.created_at, w.due_at, w.attempts, w.status, w.reason
        FROM merchants m JOIN webhooks w ON w.merchant_id = m.id
        WHERE m.id = ? ORDER BY w.created_at DESC, w.id DESC LIMIT ?
        """,
        [.text(merchant), .integer(Int64(limit) + 1)]
      ) { row in WebhookRecord(row: row) }
    }
    return FirstRows(found, limit: limit)
  }

  /// At most `limit` webhooks of all merchants, the newest first.
  package func list(limit: Int) throws -> FirstRows<WebhookRecord> {
    let found = try records.merchants.list().flatMap { try list(of: $0.id, limit: limit + 1).rows }
    return FirstRows(found.sorted { $0.createdAt > $1.createdAt }, limit: limit)
  }

  /// Makes a webhook due now, as if it was new: it is sent for up to three days.
  package func resend(_ id: String) throws -> WebhookResending {
    try records.transaction { transaction in
      let hasURL = try transaction.connection.row(
        """
        SELECT m.webhook_url IS NOT NULL FROM webhooks w JOIN merchants m ON m.id = w.merchant_id
        WHERE w.id = ?
        """,
        [.text(id)]
      ) { row in row.boolean(0) }
      guard let hasURL else { return .unknown }
      guard hasURL else { return .noURL }
      _ = try transaction.connection.execute(
        """
        UPDATE webhooks SET state = 'open', attempts = 0, due_at = UTC_TIMESTAMP(3),
          expires_at = UTC_TIMESTAMP(3) + INTERVAL 3 DAY, claim_id = NULL, status = NULL, reason = NULL,
          finished_at = NULL
        WHERE id = ?
        """,
        [.text(id)])
      try transaction.audit.write(.webhookResent, detail: id)
      return .done
    }
  }
}

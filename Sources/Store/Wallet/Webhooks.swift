package import Base
import MariaDB

/// An outcome of a payment that its merchant is told.
package enum WebhookEvent: String, Sendable, CaseIterable {
  case confirmed = "payment.confirmed"
  case cancelled = "payment.cancelled"
  case expired = "payment.expired"
  case refunded = "payment.refunded"
}

/// A webhook that is due.
package struct DueWebhook: Sendable {
  package let id: String
  package let merchantID: String
}

/// A webhook that one pass of the companion holds until its lease ends.
package struct ClaimedWebhook: Sendable {
  package let id: String
  package let event: WebhookEvent
  /// The time of the outcome.
  package let createdAt: Timestamp
  package let merchantName: String
  /// nil if the merchant is no longer told of outcomes.
  package let endpoint: WebhookEndpoint?
  package let merchantID: String
  package let payment: ToldPayment
  /// The claim of the pass.
  package let claimID: String
  /// Attempts, including this one.
  package let attempts: Int64
}

/// Where and how a merchant is told of outcomes.
package struct WebhookEndpoint: Sendable {
  package let url: ForeignURL
  /// The old secret is missing if it has ended.
  package let secrets: SealedWebhookSecrets
}

/// A payment as its merchant is told of its outcome.
package struct ToldPayment: Sendable {
  package let id: String
  package let orderID: String?
  package let amount: Amount
  package let confirmedAt: Timestamp?
  package let cancelledAt: Timestamp?
  /// `payer` or `merchant`
  package let cancelledBy: String?
  package let expiredAt: Timestamp?
  package let refundedAt: Timestamp?
  package let refundReason: String?
  /// The name of the card at this merchant; nil unless the payment is confirmed.
  package let cardToken: String?
}

package enum WebhookOutcome: Sendable {
  case delivered(status: Int)
  /// Retried later, until it expires.
  case failed(status: Int?, reason: String)
  /// Given up: a retry cannot help.
  case dead(status: Int?, reason: String)
}

/// The outcomes of payments that merchants are told, as the companion sends them. It uses the database's
/// clock.
package struct Webhooks: Sendable {
  let records: Records

  /// At most `limit` webhooks that are due, the longest waiting first.
  ///
  /// - Parameter merchants: ids of merchants whose webhooks are left out.
  package func due(besidesThoseOf merchants: [String] = [], limit: Int) throws -> [DueWebhook] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id, merchant_id FROM webhooks
        WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND expires_at > UTC_TIMESTAMP(3)
          AND FIND_IN_SET(merchant_id, ?) = 0
        ORDER BY due_at LIMIT ?
        """,
        [.text(merchants.joined(separator: ",")), .integer(Int64(limit))]
      ) { row in DueWebhook(id: row.text(0), merchantID: row.text(1)) }
    }
  }

  /// Claims a due webhook for a minute. The claim is committed before the work begins, and counts as an
  /// attempt.
  ///
  /// - Parameter claimID: a UUID, made for this claim alone.
  /// - Returns: nil if another pass has claimed it, or it is gone.
  package func claim(_ id: String, as claimID: String) throws -> ClaimedWebhook? {
    let claimed = try records.transaction { transaction in
      try transaction.connection.execute(
        """
        UPDATE webhooks
        SET claim_id = ?, attempts = attempts + 1, due_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
        WHERE id = ? AND state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND expires_at > UTC_TIMESTAMP(3)
        """,
        [.text(claimID), .text(id)])
    }
    guard claimed == 1 else { return nil }
    return try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT w.id, w.event, w.created_at, w.claim_id, w.attempts, m.id, m.name, m.webhook_url, m.webhook_secret,
          IF(m.old_webhook_secret_until > UTC_TIMESTAMP(3), m.old_webhook_secret, NULL), p.id, p.order_id, p.amount,
          p.currency, p.confirmed_at, p.cancelled_at, p.cancelled_by, p.expired_at, p.refunded_at, p.refund_reason,
          p.card_token
        FROM webhooks w JOIN merchants m ON m.id = w.merchant_id JOIN payments p ON p.id = w.payment_id
        WHERE w.id = ? AND w.claim_id = ?
        """,
        [.text(id), .text(claimID)]
      ) { row in ClaimedWebhook(row: row) }
    }
  }

  /// Records the outcome of a webhook, if the claim still holds. A delivered confirmation marks its payment
  /// as received.
  ///
  /// A failed webhook is due again after 5, 15, 45 … seconds, at most four hours.
  ///
  /// - Returns: false if another pass has the lease, or an administrator sends it again; then nothing is
  ///   written.
  package func record(_ outcome: WebhookOutcome, of claimed: ClaimedWebhook) throws -> Bool {
    try records.transaction { transaction in
      switch outcome {
      case .delivered(let status):
        let isReceipt = claimed.event == .confirmed
        // The payment before the webhook, like a refund: the other order would be a deadlock.
        if isReceipt { try transaction.payments.hold(claimed.payment.id) }
        guard try transaction.webhooks.close(claimed, as: "delivered", status, nil) else {
          return false
        }
        if isReceipt { try transaction.payments.markReceived(claimed.payment.id) }
        return true
      case .dead(let status, let reason):
        return try transaction.webhooks.close(claimed, as: "dead", status, reason)
      case .failed(let status, let reason):
        return try transaction.webhooks.postpone(claimed, status, reason)
      }
    }
  }

  /// Gives up webhooks that were not delivered in time.
  ///
  /// - Returns: the ids of their merchants, one for each webhook.
  package func expire() throws -> [String] {
    let expired = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id, merchant_id FROM webhooks
        WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND expires_at <= UTC_TIMESTAMP(3)
        ORDER BY due_at LIMIT 500
        """
      ) { row in DueWebhook(id: row.text(0), merchantID: row.text(1)) }
    }
    return try expired.filter { webhook in
      try records.transaction { transaction in
        try transaction.connection.execute(
          """
          UPDATE webhooks
          SET state = 'dead', finished_at = UTC_TIMESTAMP(3), reason = COALESCE(reason, 'expired before it was sent')
          WHERE id = ? AND state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND expires_at <= UTC_TIMESTAMP(3)
          """,
          [.text(webhook.id)]) == 1
      }
    }.map(\.merchantID)
  }
}

extension Records {
  package var webhooks: Webhooks { Webhooks(records: self) }
}

extension ClaimedWebhook {
  /// The columns of ``Webhooks/claim(_:as:)`` in their order.
  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    event = WebhookEvent(rawValue: row.text(1))!  // the words of the column
    createdAt = row.timestamp(2)
    claimID = row.text(3)
    attempts = row.integer(4)
    merchantID = row.text(5)
    merchantName = row.text(6)
    endpoint =
      row.isNull(7)
      ? nil
      : WebhookEndpoint(
        url: ForeignURL(row.text(7)),
        secrets: SealedWebhookSecrets(
          merchantID: merchantID, sealed: row.text(8), old: row.optionalText(9)))
    payment = ToldPayment(
      id: row.text(10), orderID: row.optionalText(11),
      amount: Amount(decimal: row.text(12), currency: row.text(13)),
      confirmedAt: row.optionalTimestamp(14), cancelledAt: row.optionalTimestamp(15),
      cancelledBy: row.optionalText(16), expiredAt: row.optionalTimestamp(17),
      refundedAt: row.optionalTimestamp(18), refundReason: row.optionalText(19),
      cardToken: row.optionalText(20))
  }
}

/// Statements on `webhooks`.
struct WebhookStatements: ~Copyable {
  let transaction: Transaction

  /// Posts an outcome of a payment, if its merchant is told of outcomes. It is sent for up to three days.
  /// The caller has just changed the payment's row, which happens once for each outcome.
  func post(_ event: WebhookEvent, of payment: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO webhooks (id, payment_id, merchant_id, event, expires_at)
      SELECT ?, p.id, p.merchant_id, ?, UTC_TIMESTAMP(3) + INTERVAL 3 DAY
      FROM payments p JOIN merchants m ON m.id = p.merchant_id
      WHERE p.id = ? AND m.webhook_url IS NOT NULL
      """,
      [.text(transaction.makeID()), .text(event.rawValue), .text(payment)])
  }

  fileprivate func postpone(
    _ claimed: ClaimedWebhook, _ status: Int?, _ reason: String
  ) throws(DatabaseError) -> Bool {
    var wait: Int64 = 5
    for _ in 0..<min(claimed.attempts - 1, 8) { wait *= 3 }
    return try transaction.connection.execute(
      """
      UPDATE webhooks
      SET due_at = LEAST(UTC_TIMESTAMP(3) + INTERVAL ? SECOND, expires_at), status = ?, reason = ?, claim_id = NULL
      WHERE id = ? AND claim_id = ? AND attempts = ? AND state = 'open'
      """,
      [
        .integer(min(14_400, wait)), .status(status), .text(reason.cut(to: 200)),
        .text(claimed.id), .text(claimed.claimID), .integer(claimed.attempts),
      ]) == 1
  }

  fileprivate func close(
    _ claimed: ClaimedWebhook, as state: String, _ status: Int?, _ reason: String?
  ) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE webhooks SET state = ?, status = ?, reason = ?, finished_at = UTC_TIMESTAMP(3)
      WHERE id = ? AND claim_id = ? AND attempts = ? AND state = 'open'
      """,
      [
        .text(state), .status(status), .text(reason?.cut(to: 200)), .text(claimed.id),
        .text(claimed.claimID), .integer(claimed.attempts),
      ]) == 1
  }
}

extension Transaction {
  var webhooks: WebhookStatements { WebhookStatements(transaction: Transaction(sharing: self)) }
}

extension Parameter {
  /// An HTTP status; nil if there was no answer.
  fileprivate static func status(_ status: Int?) -> Parameter {
    status.map { .integer(Int64($0)) } ?? .null
  }
}

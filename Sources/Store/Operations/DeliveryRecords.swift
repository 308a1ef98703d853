package import Base
import MariaDB

/// The state of one notification on its way to one device.
package struct DeliveryRecord: Sendable {
  package enum State: String, Sendable {
    case open, delivered, dead
  }

  package let id: String
  package let channel: Channel
  package let token: String
  /// When the notification was written.
  package let createdAt: Timestamp
  /// The time after which it is not sent.
  package let expiresAt: Timestamp
  package let state: State
  /// Next attempt, while it is open.
  package let dueAt: Timestamp
  package let attempts: Int64
  /// HTTP status of the last answer; nil: no answer.
  package let status: Int64?
  /// The word of the last answer, or our own word in lower case.
  package let reason: String?
  /// nil while it is open.
  package let finishedAt: Timestamp?

  /// The columns id, token, created_at, expires_at, state, due_at, attempts, status, reason, finished_at,
  /// channel, in that order from 0.
  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    token = row.text(1)
    createdAt = row.timestamp(2)
    expiresAt = row.timestamp(3)
    state = State(rawValue: row.text(4))!  // the column is an ENUM of these words
    dueAt = row.timestamp(5)
    attempts = row.integer(6)
    status = row.optionalInteger(7)
    reason = row.optionalText(8)
    finishedAt = row.optionalTimestamp(9)
    channel = Channel(row.text(10))
  }
}

/// Deliveries as administrators see them.
extension Deliveries {
  /// At most `limit` deliveries of notifications whose event keys begin with `prefix`, the newest first.
  func list(ofEvents prefix: String, limit: Int) throws -> [DeliveryRecord] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT d.id, d.token, n.created_at, n.expires_at, d.state, d.due_at, d.attempts, d.status,
          d.reason, d.finished_at, d.channel
        FROM notifications n JOIN deliveries d ON d.notification_id = n.id
        WHERE n.event_key BETWEEN ? AND CONCAT(?, '~') ORDER BY n.created_at DESC, d.token LIMIT ?
        """,
        [.text(prefix), .text(prefix), .integer(Int64(limit))]
      ) { row in DeliveryRecord(row: row) }
    }
  }

  /// At most `limit` deliveries of the notifications that went with mails of an account, the newest first.
  package func list(ofAccount account: String, limit: Int) throws -> [DeliveryRecord] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT d.id, d.token, n.created_at, n.expires_at, d.state, d.due_at, d.attempts, d.status,
          d.reason, d.finished_at, d.channel
        FROM outbox o JOIN notifications n ON n.event_key = CONCAT('mail ', o.id)
        JOIN deliveries d ON d.notification_id = n.id
        WHERE o.account_id = ? ORDER BY n.created_at DESC, d.token LIMIT ?
        """,
        [.text(account), .integer(Int64(limit))]
      ) { row in DeliveryRecord(row: row) }
    }
  }
}

package import Base
import MariaDB

/// The state of a message in the outbox: those words of the columns `state` that administrators ask
/// for.
package enum OutboxState: String, Sendable, CaseIterable {
  case open, dead, delivered
}

/// A mail or a notification to one device, as administrators see it: without its content.
package struct OutboxRecord: Sendable {
  package let id: String
  /// The word in the column `kind`.
  package let kind: String
  /// An e-mail address or a device token.
  package let recipient: String
  /// The word in the column `state`.
  package let state: String
  package let createdAt: Timestamp
  /// Next attempt, while it is open.
  package let dueAt: Timestamp
  /// The time after which it is not sent.
  package let expiresAt: Timestamp
  package let attempts: Int64
  /// The reason of the last attempt.
  package let reason: String?

  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    kind = row.text(1)
    recipient = row.text(2)
    state = row.text(3)
    createdAt = row.timestamp(4)
    dueAt = row.timestamp(5)
    expiresAt = row.timestamp(6)
    attempts = row.integer(7)
    reason = row.optionalText(8)
  }
}

/// The result of an administrator's command to send a message at once, or never.
package enum OutboxChange: Sendable, Equatable {
  case done
  /// No message has this id.
  case unknown
  /// The message was sent, given up or withheld, so there is nothing to do.
  case closed(state: String)
  /// A mail that was given up has lost its content.
  case wiped
  case expired
}

/// The outbox as administrators see and change it.
extension Mails {
  /// At most `limit` mails of a state, the latest due first.
  package func list(_ state: OutboxState, limit: Int) throws -> FirstRows<OutboxRecord> {
    let found = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id, kind, recipient, state, created_at, due_at, expires_at, attempts, reason
        FROM outbox WHERE state = ? ORDER BY due_at DESC LIMIT ?
        """,
        [.text(state.rawValue), .integer(Int64(limit) + 1)]
      ) { row in OutboxRecord(row: row) }
    }
    return FirstRows(found, limit: limit)
  }

  /// Makes a waiting mail due now. A mail that is being sent is not sent a second time.
  package func retry(_ id: String) throws -> OutboxChange {
    try settle(id, .messageRetried) { transaction, mail in
      if mail.state == "dead" { return .wiped }
      guard mail.state == "open" else { return .closed(state: mail.state) }
      guard !mail.isExpired else { return .expired }
      _ = try transaction.connection.execute(
        "UPDATE outbox SET due_at = UTC_TIMESTAMP(3) WHERE id = ? AND claim_id IS NULL",
        [.text(id)])
      return .done
    }
  }

  /// Gives up a waiting mail, and deletes its content.
  package func discard(_ id: String) throws -> OutboxChange {
    try settle(id, .messageDiscarded) { transaction, mail in
      guard mail.state == "open" else { return .closed(state: mail.state) }
      _ = try transaction.connection.execute(
        """
        UPDATE outbox SET state = 'dead', reason = 'discarded by an administrator', sealed = NULL,
          finished_at = UTC_TIMESTAMP(3), recipient = IF(kind = 'account_deleted', '', recipient)
        WHERE id = ?
        """,
        [.text(id)])
      return .done
    }
  }

  private func settle(
    _ id: String, _ event: AuditEvent,
    _ body: (borrowing Transaction, (state: String, isExpired: Bool)) throws -> OutboxChange
  ) throws -> OutboxChange {
    try records.transaction { transaction in
      let mail = try transaction.connection.row(
        "SELECT state, expires_at <= UTC_TIMESTAMP(3) FROM outbox WHERE id = ? FOR UPDATE",
        [.text(id)]
      ) { row in (state: row.text(0), isExpired: row.boolean(1)) }
      guard let mail else { return .unknown }
      let change = try body(transaction, mail)
      if change == .done { try transaction.audit.write(event, detail: "mail \(id)") }
      return change
    }
  }
}

extension Deliveries {
  /// At most `limit` deliveries of a state, the latest due first.
  ///
  /// Reads shard by shard: the index has the time after the shard.
  package func list(_ state: OutboxState, limit: Int) throws -> FirstRows<OutboxRecord> {
    let found = try records.read { transaction in
      let shards = try transaction.connection.rows("SELECT channel, shard FROM delivery_leases") {
        row in (channel: row.text(0), shard: row.integer(1))
      }
      return try shards.flatMap { channel, shard in
        try transaction.connection.rows(
          """
          SELECT d.id, n.kind, d.token, d.state, n.created_at, d.due_at, n.expires_at, d.attempts,
            CONCAT_WS(' ', d.status, d.reason)
          FROM deliveries d JOIN notifications n ON n.id = d.notification_id
          WHERE d.channel = ? AND d.shard = ? AND d.state = ? ORDER BY d.due_at DESC LIMIT ?
          """,
          [
            .text(channel), .integer(shard), .text(state.rawValue), .integer(Int64(limit) + 1),
          ]
        ) { row in OutboxRecord(row: row) }
      }
    }
    return FirstRows(found.sorted { $0.dueAt > $1.dueAt }, limit: limit)
  }

  /// Makes a delivery due now. A delivery that was given up starts again.
  package func retry(_ id: String) throws -> OutboxChange {
    try settle(id, .messageRetried) { transaction, delivery in
      guard delivery.state != "delivered" else { return .closed(state: delivery.state) }
      guard !delivery.isExpired else { return .expired }
      _ = try transaction.connection.execute(
        """
        UPDATE deliveries SET attempts = IF(state = 'dead', 0, attempts),
          losses = IF(state = 'dead', 0, losses), state = 'open', finished_at = NULL,
          due_at = UTC_TIMESTAMP(3)
        WHERE id = ?
        """,
        [.text(id)])
      return .done
    }
  }

  /// Gives up a waiting delivery.
  package func discard(_ id: String) throws -> OutboxChange {
    try settle(id, .messageDiscarded) { transaction, delivery in
      guard delivery.state == "open" else { return .closed(state: delivery.state) }
      _ = try transaction.connection.execute(
        """
        UPDATE deliveries SET state = 'dead', reason = 'discarded', finished_at = UTC_TIMESTAMP(3)
        WHERE id = ?
        """,
        [.text(id)])
      return .done
    }
  }

  private func settle(
    _ id: String, _ event: AuditEvent,
    _ body: (borrowing Transaction, (state: String, isExpired: Bool)) throws -> OutboxChange
  ) throws -> OutboxChange {
    try records.transaction { transaction in
      let delivery = try transaction.connection.row(
        """
        SELECT d.state, n.expires_at <= UTC_TIMESTAMP(3)
        FROM deliveries d JOIN notifications n ON n.id = d.notification_id WHERE d.id = ? FOR UPDATE
        """,
        [.text(id)]
      ) { row in (state: row.text(0), isExpired: row.boolean(1)) }
      guard let delivery else { return .unknown }
      let change = try body(transaction, delivery)
      if change == .done { try transaction.audit.write(event, detail: "notification \(id)") }
      return change
    }
  }
}

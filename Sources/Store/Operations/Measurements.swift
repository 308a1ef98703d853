package import Base
import MariaDB

/// Due work that no pass has begun.
package struct QueueLength: Sendable, Equatable {
  package let name: String
  /// Counted up to ``Measurements/mostCounted``.
  package let length: Int
  /// The time for which the oldest item has been due.
  package let oldest: Duration
}

/// The time for which the oldest open delivery of a channel has been due.
package struct DeliveryWait: Sendable, Equatable {
  package let channel: Channel
  package let oldest: Duration

  /// A longer wait is a problem: senders send what is due, or make it due later.
  static let longest = Duration.seconds(300)
}

/// The time for which the oldest row of a table has waited to be deleted; negative if it is not due
/// yet.
package struct PurgeLateness: Sendable, Equatable {
  package let table: String
  package let late: Duration
}

/// Numbers about the site that are cheap to read, however large it is.
package struct Measurements: Sendable {
  let records: Records

  package static let mostCounted = 10_000

  /// The queues of the outbox, the jobs, the deliveries, the polls and the webhooks.
  package func queues() throws -> [QueueLength] {
    try records.read { transaction in
      try Self.queues.map { name, statement in
        let waits = try transaction.connection.rows(
          statement, [.integer(Int64(Self.mostCounted))]
        ) { row in row.integer(0) }
        // The oldest delivery may not be among the counted ones.
        let oldest =
          try name == "deliveries"
          ? transaction.deliveries.waits().map(\.oldest).max() : waits.max().map { .seconds($0) }
        return QueueLength(
          name: name, length: waits.count, oldest: max(.zero, oldest ?? .zero))
      }
    }
  }

  /// The waits of all channels with open deliveries.
  package func deliveryWaits() throws -> [DeliveryWait] {
    try records.read { transaction in try transaction.deliveries.waits() }
  }

  private static let queues: [(String, StaticString)] = [
    (
      "deliveries",
      """
      SELECT TIMESTAMPDIFF(SECOND, d.due_at, UTC_TIMESTAMP(3))
      FROM delivery_leases l JOIN deliveries d ON d.channel = l.channel AND d.shard = l.shard
      WHERE d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3) LIMIT ?
      """
    ),
    (
      "jobs",
      """
      SELECT TIMESTAMPDIFF(SECOND, due_at, UTC_TIMESTAMP(3)) FROM jobs
      WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) ORDER BY due_at LIMIT ?
      """
    ),
    (
      "mails",
      """
      SELECT TIMESTAMPDIFF(SECOND, due_at, UTC_TIMESTAMP(3)) FROM outbox
      WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) ORDER BY due_at LIMIT ?
      """
    ),
    (
      "polls",
      """
      SELECT TIMESTAMPDIFF(SECOND, due_at, UTC_TIMESTAMP(3)) FROM ogs_users
      WHERE due_at <= UTC_TIMESTAMP(3) ORDER BY due_at LIMIT ?
      """
    ),
    (
      "webhooks",
      """
      SELECT TIMESTAMPDIFF(SECOND, due_at, UTC_TIMESTAMP(3)) FROM webhooks
      WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) ORDER BY due_at LIMIT ?
      """
    ),
  ]

  /// Whether all polls pause.
  package func arePollsPaused() throws -> Bool {
    try records.read { transaction in
      try transaction.connection.row(
        "SELECT COALESCE(paused_until > UTC_TIMESTAMP(3), FALSE) FROM ogs_pause WHERE id = 1"
      ) { row in row.boolean(0) }
    } ?? false
  }

  /// The end and the duration of the last whole pass on `host`; nil if there was none.
  package func lastPass(on host: String) throws -> (endedAt: Timestamp, duration: Duration)? {
    try records.read { transaction in
      try transaction.connection.row(
        "SELECT last_pass_at, pass_milliseconds FROM companion_status WHERE host = ?",
        [.text(host.cut(to: 64))]
      ) { row in (row.timestamp(0), .milliseconds(row.integer(1))) }
    }
  }

  /// The approximate number of rows in each table, by the statistics of InnoDB.
  package func tableSizes() throws -> [(table: String, rows: Int64)] {
    try records.read { transaction in
      try transaction.connection.rows("SELECT name, row_estimate FROM table_sizes ORDER BY name") {
        row in
        (row.text(0), row.optionalInteger(1) ?? 0)
      }
    }
  }

  /// The lateness of the purge in the tables that grow fastest; omits empty tables. Reads the first
  /// entry of one index of each. For deliveries it reads one shard of APNs: the others are similar.
  package func purgeLateness(auditLifetime: Duration) throws -> [PurgeLateness] {
    let day: Int64 = 86_400
    let tables: [(String, Int64)] = [
      ("audit_log", auditLifetime.components.seconds), ("deliveries", day), ("jobs", day),
      ("notifications", 31 * day), ("outbox", 30 * day), ("phone_challenges", day),
      ("rate_limits", day), ("sessions", 30 * day),
    ]
    let ages = try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT (SELECT TIMESTAMPDIFF(SECOND, MIN(at), UTC_TIMESTAMP(3)) FROM audit_log),
          (SELECT TIMESTAMPDIFF(SECOND, MIN(due_at), UTC_TIMESTAMP(3)) FROM deliveries
            WHERE channel = 'apns' AND shard = 0 AND state = 'delivered'),
          (SELECT TIMESTAMPDIFF(SECOND, MIN(finished_at), UTC_TIMESTAMP(3)) FROM jobs),
          (SELECT TIMESTAMPDIFF(SECOND, MIN(created_at), UTC_TIMESTAMP(3)) FROM notifications),
          (SELECT TIMESTAMPDIFF(SECOND, MIN(finished_at), UTC_TIMESTAMP(3)) FROM outbox),
          (SELECT TIMESTAMPDIFF(SECOND, MIN(expires_at), UTC_TIMESTAMP(3)) FROM phone_challenges),
          (SELECT TIMESTAMPDIFF(SECOND, MIN(window_started_at), UTC_TIMESTAMP(3)) FROM rate_limits),
          (SELECT TIMESTAMPDIFF(SECOND, MIN(expires_at), UTC_TIMESTAMP(3)) FROM sessions)
        """
      ) { row in tables.indices.map { row.optionalInteger($0) } }
    }
    return zip(tables, ages ?? []).compactMap { table, age in
      age.map { PurgeLateness(table: table.0, late: .seconds($0 - table.1)) }
    }
  }
}

extension Records {
  package var measurements: Measurements { Measurements(records: self) }
}

package import Base
import MariaDB

/// What a companion says of itself.
package struct CompanionStatus: Sendable, Equatable {
  package let host: String
  package let version: String
  /// By the database's clock.
  package let lastPassAt: Timestamp
  /// Not seen for five minutes, by the database's clock.
  package let isOverdue: Bool
  /// Names of the variables without which something is not sent.
  package let missing: [String]
}

extension Database {
  /// Says that a whole pass has ended.
  package func recordPass(host: String, version: String, missing: [String]) throws {
    try pool.write { connection in
      _ = try connection.execute(
        """
        INSERT INTO companion_status (host, version, last_pass_at, missing)
        VALUES (?, ?, UTC_TIMESTAMP(3), ?)
        ON DUPLICATE KEY UPDATE version = VALUES(version), last_pass_at = VALUES(last_pass_at),
          missing = VALUES(missing)
        """,
        [
          .text(host.cut(to: 64)), .text(version),
          .text(missing.joined(separator: " ").cut(to: 1000)),
        ])
    }
  }

  /// The companion that was seen last; nil where none ever was.
  package func companionStatus() throws -> CompanionStatus? {
    try pool.read { connection in try connection.companionStatus() }
  }

  /// Deletes what nobody needs any more, at most `slice` rows of each kind: mails delivered a day
  /// ago or given up 30 days ago, likewise notifications, errands a day after their end, expired codes,
  /// challenges, states of enrolments, registrations, pairing tokens and tickets, payments that nobody
  /// confirmed, sessions, pairings and API keys that ended 30 days ago, limits that began a day ago, audit rows
  /// and confirmed payments older than `auditLifetime`.
  ///
  /// - Returns: how many rows.
  package func purge(slice: Int, auditLifetime: Duration, at now: Timestamp) throws -> Int {
    let day = Duration.seconds(86_400)
    let older = { (age: Duration) in Parameter.time(now - age) }
    let limit = Parameter.integer(Int64(slice))
    let slices: [(StaticString, [Parameter])] = [
      (
        """
        DELETE FROM outbox WHERE state IN ('delivered', 'suppressed')
          AND finished_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY LIMIT ?
        """, [limit]
      ),
      (
        "DELETE FROM outbox WHERE finished_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY LIMIT ?", [limit]
      ),
      (
        """
        DELETE FROM deliveries WHERE shard IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
          AND state = 'delivered' AND due_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY
          AND finished_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY LIMIT ?
        """, [limit]
      ),
      (
        """
        DELETE FROM deliveries WHERE shard IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
          AND state = 'dead' AND due_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY
          AND finished_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY LIMIT ?
        """, [limit]
      ),
      (
        """
        DELETE FROM notifications WHERE created_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY
          AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.notification_id = notifications.id)
        LIMIT ?
        """, [limit]
      ),
      (
        "DELETE FROM errands WHERE finished_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY LIMIT ?", [limit]
      ),
      ("DELETE FROM api_keys WHERE revoked_at < ? LIMIT ?", [older(day * 30), limit]),
      ("DELETE FROM attestation_challenges WHERE expires_at < ? LIMIT ?", [older(day), limit]),
      ("DELETE FROM login_codes WHERE expires_at < ? LIMIT ?", [older(day), limit]),
      ("DELETE FROM biometric_challenges WHERE expires_at < ? LIMIT ?", [older(day), limit]),
      ("DELETE FROM passkey_challenges WHERE expires_at < ? LIMIT ?", [older(day), limit]),
      ("DELETE FROM enrollment_states WHERE expires_at < ? LIMIT ?", [older(day), limit]),
      (
        "DELETE FROM device_registrations WHERE credential_expires_at < ? LIMIT ?",
        [older(.zero), limit]
      ),
      (
        "DELETE FROM payments WHERE confirmed_at IS NULL AND expires_at < ? LIMIT ?",
        [older(day), limit]
      ),
      ("DELETE FROM payments WHERE confirmed_at < ? LIMIT ?", [older(auditLifetime), limit]),
      ("DELETE FROM sessions WHERE ended_at < ? LIMIT ?", [older(day * 30), limit]),
      ("DELETE FROM sessions WHERE expires_at < ? LIMIT ?", [older(day * 30), limit]),
      ("DELETE FROM pairing_tickets WHERE expires_at < ? LIMIT ?", [older(day), limit]),
      ("DELETE FROM pairing_tokens WHERE expires_at < ? LIMIT ?", [older(day), limit]),
      ("DELETE FROM pairings WHERE ended_at < ? LIMIT ?", [older(day * 30), limit]),
      ("DELETE FROM pairings WHERE expires_at < ? LIMIT ?", [older(day * 30), limit]),
      (
        "DELETE FROM rate_limits WHERE window_started_at < ? LIMIT ?", [older(day), limit]
      ),
      ("DELETE FROM audit_log WHERE at < ? LIMIT ?", [older(auditLifetime), limit]),
    ]
    var deleted = 0
    for (statement, parameters) in slices {
      deleted += try pool.transaction { connection in
        try connection.execute(statement, parameters)
      }
    }
    return deleted
  }
}

extension Connection {
  func companionStatus() throws(DatabaseError) -> CompanionStatus? {
    try row(
      """
      SELECT host, version, last_pass_at, last_pass_at < UTC_TIMESTAMP(3) - INTERVAL 5 MINUTE, missing
      FROM companion_status ORDER BY last_pass_at DESC LIMIT 1
      """
    ) { row in
      CompanionStatus(
        host: row.text(0), version: row.text(1),
        lastPassAt: Timestamp(milliseconds: row.milliseconds(2)), isOverdue: row.boolean(3),
        missing: row.text(4).split(separator: " ").map(String.init))
    }
  }
}

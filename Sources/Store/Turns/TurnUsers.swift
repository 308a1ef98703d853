package import Base
import MariaDB

/// The stored data of a user of the turns' apps.
package struct TurnDiagnostics: Sendable {
  /// The device registered last; nil if there is none.
  package let deviceToken: String?
  /// nil: never.
  package let lastNotifiedAt: Timestamp?
  /// The user's last poll, or else the companion's last pass; nil before both.
  package let lastCheckAt: Timestamp?
  /// In the order of online-go.com.
  package let games: [TurnGame]
  /// The current interval between two polls of this user; nil before the first registration.
  package let interval: Duration?
  /// Deliveries of the stored notifications: those that wait, that were sent, and that were given
  /// up or withdrawn.
  package let queued: Int64
  package let sent: Int64
  package let failed: Int64
}

/// Users of online-go.com, as their apps ask for them.
package struct TurnUsers: Sendable {
  let records: Records

  /// Counts a check that a user asks for.
  ///
  /// - Throws: ``RateLimited`` at more than 20 a minute.
  package func countCheck(of userID: Int64) throws {
    try records.transaction { transaction in
      _ = try transaction.limits.count(.turnChecks, of: String(userID))
    }
  }

  /// Deletes a user with devices, games, notifications and API keys. A poll under way then records
  /// nothing.
  ///
  /// - Returns: false if another call was first: the user has no key any more.
  package func delete(_ userID: Int64) throws -> Bool {
    try records.transaction { transaction in
      // First: a device that registers in the same instant comes before or after, not in between.
      _ = try transaction.connection.row(
        "SELECT TRUE FROM ogs_users WHERE id = ? FOR UPDATE", [.integer(userID)]
      ) { row in row.boolean(0) }
      let tokens = try transaction.turnRegistrations.tokens(of: userID)
      for token in tokens { try transaction.badges.markStale(token) }
      _ = try transaction.connection.execute(
        "DELETE FROM turn_settings WHERE ogs_user_id = ?", [.integer(userID)])
      _ = try transaction.connection.execute(
        "DELETE FROM turn_alerts WHERE ogs_user_id = ?", [.integer(userID)])
      // Locks the user before any insert, as a poll does.
      _ = try transaction.connection.execute(
        "DELETE FROM ogs_users WHERE id = ?", [.integer(userID)])
      try transaction.traces.eraseHosts(ofTokens: tokens)
      let keys = try transaction.connection.execute(
        "DELETE FROM api_keys WHERE ogs_user_id = ?", [.integer(userID)])
      guard keys > 0 else { return false }
      _ = try transaction.connection.execute(
        "DELETE FROM notifications WHERE event_key LIKE ?", [.text("turn \(userID) %")])
      try transaction.audit.write(.turnUserDeleted, detail: "OGS user \(userID)")
      return true
    }
  }

  /// Notes that the user's app asks: the user is polled at this interval again.
  package func noteRequest(of userID: Int64, interval: Duration) throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        UPDATE ogs_users
        SET asked_at = UTC_TIMESTAMP(3), interval_seconds = LEAST(interval_seconds, ?),
          due_at = IF(claim_id IS NULL AND failures = 0,
            LEAST(due_at, UTC_TIMESTAMP(3) + INTERVAL ? SECOND), due_at)
        WHERE id = ?
        """,
        [
          .integer(interval.components.seconds), .integer(interval.components.seconds),
          .integer(userID),
        ])
    }
  }

  package func diagnostics(of userID: Int64) throws -> TurnDiagnostics {
    try records.read { transaction in
      let devices = try transaction.connection.rows(
        """
        SELECT device_token, last_notified_at FROM ogs_registrations WHERE ogs_user_id = ?
        ORDER BY registered_at DESC, device_token
        """,
        [.integer(userID)]
      ) { row in (token: row.text(0), notifiedAt: row.optionalTimestamp(1)) }
      let user = try transaction.connection.row(
        "SELECT checked_at, interval_seconds FROM ogs_users WHERE id = ?", [.integer(userID)]
      ) { row in (checkedAt: row.optionalTimestamp(0), interval: Duration.seconds(row.integer(1))) }
      let counts = try transaction.connection.row(
        """
        SELECT COUNT(IF(d.state = 'open', 1, NULL)), COUNT(IF(d.state = 'delivered', 1, NULL)),
          COUNT(IF(d.state = 'dead', 1, NULL))
        FROM turn_notices t JOIN deliveries d ON d.notification_id = t.notification_id
        WHERE t.ogs_user_id = ?
        """,
        [.integer(userID)]
      ) { row in (row.integer(0), row.integer(1), row.integer(2)) }!  // an aggregate has one row
      let passedAt = try transaction.companions.companionStatus()?.lastPassAt
      return TurnDiagnostics(
        deviceToken: devices.first?.token,
        lastNotifiedAt: devices.compactMap(\.notifiedAt).max(),
        lastCheckAt: user?.checkedAt ?? passedAt,
        games: try transaction.games.find(of: userID).map(\.game), interval: user?.interval,
        queued: counts.0, sent: counts.1, failed: counts.2)
    }
  }
}

extension Records {
  package var turnUsers: TurnUsers { TurnUsers(records: self) }
}

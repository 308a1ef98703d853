package import Base
import MariaDB

/// What MariaDB knows of a user of the turns' apps.
package struct TurnDiagnostics: Sendable {
  /// The device registered last; nil where none is.
  package let deviceToken: String?
  /// nil: never.
  package let lastNotifiedAt: Timestamp?
  /// The user's last poll, or else the companion's last pass; nil before both.
  package let lastCheckAt: Timestamp?
  /// In the order of online-go.com.
  package let games: [TurnGame]
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

  /// Deletes a user with devices, games, notifications and API keys. A poll that is under way records
  /// nothing then.
  ///
  /// - Returns: false where another call was first: the user has no key any more.
  package func delete(_ userID: Int64) throws -> Bool {
    try records.transaction { transaction in
      // First, as a poll does: it locks the user before anything is added.
      _ = try transaction.connection.execute(
        "DELETE FROM ogs_users WHERE id = ?", [.integer(userID)])
      let keys = try transaction.connection.execute(
        "DELETE FROM api_keys WHERE ogs_user_id = ?", [.integer(userID)])
      guard keys > 0 else { return false }
      _ = try transaction.connection.execute(
        "DELETE FROM notifications WHERE event_key LIKE ?", [.text("turn \(userID) %")])
      try transaction.audit.write(.turnUserDeleted, detail: "OGS user \(userID)")
      return true
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
      let checkedAt = try transaction.connection.row(
        "SELECT checked_at FROM ogs_users WHERE id = ? AND checked_at IS NOT NULL",
        [.integer(userID)]
      ) { row in row.timestamp(0) }
      let passedAt = try transaction.upkeep.companionStatus()?.lastPassAt
      return TurnDiagnostics(
        deviceToken: devices.first?.token,
        lastNotifiedAt: devices.compactMap(\.notifiedAt).max(),
        lastCheckAt: checkedAt ?? passedAt,
        games: try transaction.games.find(of: userID).map(\.game))
    }
  }
}

extension Records {
  package var turnUsers: TurnUsers { TurnUsers(records: self) }
}

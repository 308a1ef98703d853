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

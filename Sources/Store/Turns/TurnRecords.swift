package import Base
import MariaDB

/// A user of online-go.com as administrators see it.
package struct TurnUserRecord: Sendable {
  package let id: Int64
  /// The next poll; during a poll, the end of its lease. By the database's clock.
  package let dueAt: Timestamp
  /// Whether the poll should have begun more than five minutes ago.
  package let isLate: Bool
  /// The last poll that succeeded; nil: none has.
  package let checkedAt: Timestamp?
  package let activeGames: Int64
  /// Polls that failed in a row.
  package let failures: Int64
  /// The reason why the last poll failed.
  package let failure: String?
  package let devices: Int64
}

/// A device that is registered for a user's turns.
package struct TurnRegistrationRecord: Sendable {
  package let userID: Int64
  package let token: String
  package let registeredAt: Timestamp
  /// When a notification was last delivered to it; nil: never.
  package let lastNotifiedAt: Timestamp?

  /// The columns ogs_user_id, device_token, registered_at, last_notified_at, in that order from 0.
  fileprivate init(row: borrowing Row) {
    userID = row.integer(0)
    token = row.text(1)
    registeredAt = row.timestamp(2)
    lastNotifiedAt = row.optionalTimestamp(3)
  }
}

/// A user's game, and the last move that the user was told of.
package struct TurnGameRecord: Sendable {
  package let game: TurnGame
  /// Unix milliseconds: the ``TurnGame/lastMove`` that the user was last told of; 0: none.
  package let notifiedMove: Int64
  /// Whether the user has muted it, or it is live and the user wants no notifications about such
  /// games.
  package let isSilent: Bool
}

/// Users of online-go.com as administrators see them.
extension TurnUsers {
  /// At most `limit` users with ids above `id`, in the order of ids.
  package func list(after id: Int64, limit: Int) throws -> FirstRows<TurnUserRecord> {
    FirstRows(try list(in: id + 1...Int64.max, limit: limit + 1), limit: limit)
  }

  package func find(_ id: Int64) throws -> TurnUserRecord? {
    try list(in: id...id, limit: 1).first
  }

  private func list(in ids: ClosedRange<Int64>, limit: Int) throws -> [TurnUserRecord] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id, due_at, due_at < UTC_TIMESTAMP(3) - INTERVAL 5 MINUTE, checked_at, active_games,
          failures, failure,
          (SELECT COUNT(*) FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
        FROM ogs_users FORCE INDEX (PRIMARY) WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?
        """,
        [.integer(ids.lowerBound), .integer(ids.upperBound), .integer(Int64(limit))]
      ) { row in
        TurnUserRecord(
          id: row.integer(0), dueAt: row.timestamp(1), isLate: row.boolean(2),
          checkedAt: row.optionalTimestamp(3), activeGames: row.integer(4),
          failures: row.integer(5), failure: row.optionalText(6), devices: row.integer(7))
      }
    }
  }

  /// The end of the pause of all polls, by the database's clock; nil: polls do not pause.
  package func pauseEnd() throws -> Timestamp? {
    try records.read { transaction in
      try transaction.connection.row(
        "SELECT paused_until FROM ogs_pause WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3)"
      ) { row in row.timestamp(0) }
    }
  }

  /// At most `limit` users who play the game, as their last polls saw it.
  package func players(of game: Int64, limit: Int) throws -> [Int64] {
    try records.read { transaction in
      try transaction.connection.rows(
        "SELECT ogs_user_id FROM ogs_games WHERE game_id = ? ORDER BY ogs_user_id LIMIT ?",
        [.integer(game), .integer(Int64(limit))]
      ) { row in row.integer(0) }
    }
  }

  /// The user's games in the order of online-go.com.
  package func games(of userID: Int64) throws -> [TurnGameRecord] {
    try records.read { transaction in
      try transaction.games.find(of: userID).map {
        TurnGameRecord(game: $0.game, notifiedMove: $0.notifiedMove, isSilent: $0.isSilent)
      }
    }
  }

  /// At most `limit` deliveries of notifications of the user's turns, the newest first.
  package func deliveries(to userID: Int64, limit: Int) throws -> [DeliveryRecord] {
    try records.deliveries.list(ofEvents: "turn \(userID) ", limit: limit)
  }

  /// The limits that reject the user's apps now.
  package func limitsUsedUp(by userID: Int64) throws -> [CountedLimit] {
    try records.countedLimits.usedUp([.turnRegistrations, .turnChecks], of: String(userID))
  }
}

/// Registrations as administrators see them.
extension TurnRegistrations {
  /// At most `limit` devices of a user.
  package func list(of userID: Int64, limit: Int) throws -> [TurnRegistrationRecord] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT ogs_user_id, device_token, registered_at, last_notified_at FROM ogs_registrations
        WHERE ogs_user_id = ? ORDER BY device_token LIMIT ?
        """,
        [.integer(userID), .integer(Int64(limit))]
      ) { row in TurnRegistrationRecord(row: row) }
    }
  }

  /// At most `limit` registrations of tokens that begin with `prefix`, which has only hexadecimal digits.
  package func find(beginning prefix: String, limit: Int) throws -> [TurnRegistrationRecord] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT ogs_user_id, device_token, registered_at, last_notified_at FROM ogs_registrations
        WHERE device_token BETWEEN ? AND CONCAT(?, '~') ORDER BY device_token, ogs_user_id LIMIT ?
        """,
        [.text(prefix), .text(prefix), .integer(Int64(limit))]
      ) { row in TurnRegistrationRecord(row: row) }
    }
  }
}

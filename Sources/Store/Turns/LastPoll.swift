import Base
import MariaDB

/// The result of the last poll of a user, as it is stored.
package struct LastPoll: Sendable {
  /// nil: the poll failed, or is older than requested.
  package let turns: Turns?
  /// The reason why it failed, if it failed.
  package let failure: String?
}

extension TurnUsers {
  /// The result of the last poll of a user, within the last `age` by the database's clock.
  ///
  /// - Returns: nil if no device is registered for the user.
  package func lastPoll(of userID: Int64, within age: Duration) throws -> LastPoll? {
    try records.read { transaction in
      let user = try transaction.connection.row(
        """
        SELECT checked_at BETWEEN UTC_TIMESTAMP(3) - INTERVAL ? SECOND AND UTC_TIMESTAMP(3), failure
        FROM ogs_users WHERE id = ?
        """,
        [.integer(age.components.seconds), .integer(userID)]
      ) { row in
        (isYoung: row.optionalBoolean(0) == true, failure: row.optionalText(1))
      }
      guard let user else { return nil }
      guard user.isYoung, user.failure == nil else {
        return LastPoll(turns: nil, failure: user.failure)
      }
      let stored = try transaction.games.find(of: userID)
      let marks = Dictionary(uniqueKeysWithValues: stored.map { ($0.game.id, $0.notifiedMove) })
      let turns = Turns(in: stored.map(\.game), of: userID) { marks[$0] ?? 0 }
      return LastPoll(turns: turns, failure: nil)
    }
  }
}

extension PollPace {
  /// The interval between two polls of a user whose games do not move.
  package var longestInterval: Duration { interval * 4 }
}

import Base
import MariaDB

extension Polls {
  /// Records the result of a poll in one transaction: the games, the marks, the notification of new
  /// turns to all of the user's devices, and the time of the next poll.
  ///
  /// - Parameter prefix: prefix of the texts of notifications.
  /// - Returns: nil if the lease has passed to another poll; then nothing is written.
  package func recordGames(
    _ seen: SeenGames, entityTag: String?, of user: ClaimedUser, pace: PollPace,
    prefix: String
  ) throws -> Turns? {
    try records.transaction { transaction in
      let statements = transaction.polls
      let activeGames = seen.games.count
      guard try statements.succeed(user, activeGames: activeGames, entityTag: entityTag) else {
        return nil
      }
      let stored = try transaction.games.find(of: user.id)
      let marks = Dictionary(uniqueKeysWithValues: stored.map { ($0.game.id, $0.notifiedMove) })
      let turns = Turns(in: seen.games, of: user.id) { marks[$0] ?? 0 }
      let settings = try transaction.turnSettings.find(of: user.id)
      // Also true if no device is left.
      let isQuiet = try transaction.turnRegistrations.quietHours(of: user.id).allSatisfy {
        settings.silence(at: transaction.now, on: $0) != nil
      }
      let wishes = TurnWishes(settings, of: seen, at: transaction.now, isQuiet: isQuiet)
      let told = wishes.told(of: turns.new)
      if told.count < turns.new.count { try statements.forgetAnswer(of: user) }
      let changes = try transaction.games.replace(
        stored, with: seen, told: told, silent: wishes.silent, of: user.id)
      let notices = TurnNotices(transaction, of: user, settings, prefix: prefix)
      try notices.update(told: told, urgent: wishes.urgent)
      try notices.tell(.ended, of: wishes.ended(changes.gone))
      try notices.warn(of: wishes.endingClocks(of: turns, stored: stored))
      try statements.schedule(
        user, hasMoved: changes.haveMoved, isLive: wishes.hasLiveGame(in: turns), pace: pace)
      return turns
    }
  }

  /// Records that online-go.com reports no change (HTTP 304).
  package func recordUnchanged(_ user: ClaimedUser, pace: PollPace, prefix: String) throws {
    // Read before the transaction: its first statement locks the user, so that its reads see current rows.
    let activeGames = try records.read { transaction in
      try transaction.games.find(of: user.id).count
    }
    try records.transaction { transaction in
      let statements = transaction.polls
      guard
        try statements.succeed(user, activeGames: activeGames, entityTag: user.entityTag)
      else { return }
      let settings = try transaction.turnSettings.find(of: user.id)
      try TurnNotices(transaction, of: user, settings, prefix: prefix).update(
        told: [], urgent: [])
      try statements.schedule(user, hasMoved: false, isLive: false, pace: pace)
    }
  }
}

extension PollStatements {
  /// - Returns: false if the lease has passed to another poll.
  fileprivate func succeed(
    _ user: ClaimedUser, activeGames: Int, entityTag: String?
  ) throws(DatabaseError) -> Bool {
    let isHeld =
      try transaction.connection.execute(
        """
        UPDATE ogs_users
        SET checked_at = UTC_TIMESTAMP(3), active_games = ?, entity_tag = ?, failures = 0, failure = NULL
        WHERE id = ? AND claim_id = ?
        """,
        [
          .integer(Int64(activeGames)), .text(entityTag?.cut(to: 200)), .integer(user.id),
          .text(user.claimID),
        ]) == 1
    if isHeld { try endRefusals() }
    return isHeld
  }

  /// Makes the next poll ask for the whole answer: new turns may be told then, even if nothing has
  /// changed.
  fileprivate func forgetAnswer(of user: ClaimedUser) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE ogs_users SET entity_tag = NULL WHERE id = ? AND claim_id = ?",
      [.integer(user.id), .text(user.claimID)])
  }

  /// Makes the user due again after an interval: that of live games; or else a tenth of the time
  /// since the last move or request, at least the configured interval and at most four times that.
  fileprivate func schedule(
    _ user: ClaimedUser, hasMoved: Bool, isLive: Bool, pace: PollPace
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE ogs_users
      SET claim_id = NULL, moved_at = IF(?, UTC_TIMESTAMP(3), moved_at),
        interval_seconds = IF(?, ?, LEAST(?, GREATEST(?,
          TIMESTAMPDIFF(SECOND, GREATEST(moved_at, COALESCE(asked_at, moved_at)),
            UTC_TIMESTAMP(3)) DIV 10))),
        due_at = UTC_TIMESTAMP(3) + INTERVAL interval_seconds SECOND
      WHERE id = ? AND claim_id = ?
      """,
      [
        .boolean(hasMoved), .boolean(isLive), .integer(pace.liveSeconds),
        .integer(pace.longestSeconds), .integer(pace.seconds), .integer(user.id),
        .text(user.claimID),
      ])
  }
}

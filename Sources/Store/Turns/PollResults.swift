import Base
import Cryptography
import MariaDB

extension Polls {
  /// Records what a poll has seen, all of it in one transaction: the games, the marks, the
  /// notification of new turns to all of the user's devices, and when the user is due again.
  ///
  /// - Parameter message: makes the notification of the turns that are new.
  /// - Returns: nil where the lease has passed to another poll; nothing is written then.
  package func recordGames(
    _ seen: SeenGames, entityTag: String?, of user: ClaimedUser, pace: PollPace,
    message: (_ new: [TurnGame]) -> TurnMessage
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
      let addresses =
        turns.new.isEmpty ? [] : try transaction.turnRegistrations.addresses(of: user.id)
      let told = addresses.isEmpty ? [] : turns.new
      if !told.isEmpty {
        try statements.notify(user, of: told, by: message(told), to: addresses)
      }
      let hasMoved = try transaction.games.replace(stored, with: seen, told: told, of: user.id)
      try statements.schedule(user, hasMoved: hasMoved, pace: pace)
      return turns
    }
  }

  /// Records that online-go.com has nothing new to tell (HTTP 304).
  package func recordUnchanged(_ user: ClaimedUser, pace: PollPace) throws {
    try records.transaction { transaction in
      let statements = transaction.polls
      let activeGames = try transaction.games.find(of: user.id).count
      guard
        try statements.succeed(user, activeGames: activeGames, entityTag: user.entityTag)
      else { return }
      try statements.schedule(user, hasMoved: false, pace: pace)
    }
  }
}

extension PollStatements {
  /// - Returns: false where the lease has passed to another poll.
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

  /// Makes the user due again after the interval: the configured one, or a tenth of the time in which
  /// nothing moved, at most ten times the configured.
  fileprivate func schedule(
    _ user: ClaimedUser, hasMoved: Bool, pace: PollPace
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE ogs_users
      SET claim_id = NULL, moved_at = IF(?, UTC_TIMESTAMP(3), moved_at),
        interval_seconds = LEAST(? * 10, GREATEST(?,
          TIMESTAMPDIFF(SECOND, moved_at, UTC_TIMESTAMP(3)) DIV 10)),
        due_at = UTC_TIMESTAMP(3) + INTERVAL interval_seconds SECOND
      WHERE id = ? AND claim_id = ?
      """,
      [
        .boolean(hasMoved), .integer(pace.seconds), .integer(pace.seconds), .integer(user.id),
        .text(user.claimID),
      ])
  }

  /// Puts the notification into the outbox. The same turns of the same registration are the same
  /// event, and make no second notification.
  fileprivate func notify(
    _ user: ClaimedUser, of turns: [TurnGame], by message: TurnMessage, to addresses: [PushAddress]
  ) throws(DatabaseError) {
    let marks = turns.map { "\($0.id):\($0.lastMove)" }.sorted().joined(separator: " ")
    let event = hexEncoded(Array(sha256(marks).prefix(16)))
    let isNew = try transaction.notifications.post(
      NewNotification(
        kind: .turn, eventKey: "turn \(user.id) \(user.createdAt.milliseconds) \(event)",
        collapseID: message.collapseID, payload: message.payload, lifetime: message.lifetime,
        to: addresses))
    if isNew { try transaction.turnRegistrations.markNotified(of: user.id) }
  }
}

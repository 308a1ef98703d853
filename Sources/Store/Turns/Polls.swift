import Base
import Cryptography
import MariaDB

/// How often a user of online-go.com is polled.
package struct PollPace: Sendable {
  /// While games move; it stretches to ten times that.
  package let interval: Duration

  package init(interval: Duration) {
    self.interval = interval
  }

  fileprivate var seconds: Int64 { interval.components.seconds }
}

/// A user that one poll holds until its lease ends.
package struct ClaimedUser: Sendable {
  package let id: Int64
  /// Of the last answer, where it had one.
  package let entityTag: String?
  fileprivate let createdAt: Timestamp
  let claimID: String
}

/// What comes of claiming one user.
package enum UserClaim: Sendable {
  case claimed(ClaimedUser)
  /// Another poll is under way.
  case busy
  /// online-go.com has refused polls, of this user or of several, and is left alone for a while.
  case paused
  /// No device is registered for this user.
  case unregistered
}

/// What online-go.com tells of a user's games.
package struct SeenGames: Sendable {
  /// In its order.
  package let games: [TurnGame]
  /// Games that could not be read: what is known of them stays.
  package let unreadable: Set<Int64>
  /// Whether there is no game but those.
  package let isWhole: Bool

  package init(games: [TurnGame], unreadable: Set<Int64>, isWhole: Bool) {
    self.games = games
    self.unreadable = unreadable
    self.isWhole = isWhole
  }
}

/// The turns of a user, as a poll has seen them; all in the order of online-go.com.
package struct Turns: Sendable {
  package let notYours: [TurnGame]
  /// Not told before.
  package let new: [TurnGame]
  package let old: [TurnGame]

  /// - Parameter mark: the last move of a game that the user was told of; 0: none.
  package init(in games: [TurnGame], of userID: Int64, mark: (_ gameID: Int64) -> Int64) {
    let yours = games.filter { $0.isTurn(of: userID) }
    notYours = games.filter { !$0.isTurn(of: userID) }
    new = yours.filter { $0.lastMove > mark($0.id) }
    old = yours.filter { $0.lastMove <= mark($0.id) }
  }
}

/// A notification of turns, as it is sent.
package struct TurnMessage: Sendable {
  /// At most 64 bytes.
  package let collapseID: String
  /// JSON, at most 4096 bytes.
  package let payload: [UInt8]
  package let lifetime: Duration

  package init(collapseID: String, payload: [UInt8], lifetime: Duration) {
    self.collapseID = collapseID
    self.payload = payload
    self.lifetime = lifetime
  }
}

extension Database {
  /// Forgets users without a device, when they are due.
  ///
  /// - Returns: how many.
  package func forgetUnregisteredUsers() throws -> Int {
    try pool.transaction { connection in
      try connection.execute(
        """
        DELETE FROM ogs_users WHERE due_at <= UTC_TIMESTAMP(3)
          AND NOT EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
        LIMIT 500
        """)
    }
  }

  /// Claims up to `limit` users that are due, longest due first, for two minutes. The claim is
  /// committed before the fetch.
  ///
  /// - Parameter claimID: a UUID, made for this claim alone.
  /// - Returns: none while all polls are paused.
  package func claimUsers(limit: Int, as claimID: String) throws -> [ClaimedUser] {
    let claimed = try pool.transaction { connection in
      try connection.execute(
        """
        UPDATE ogs_users SET claim_id = ?, due_at = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
        WHERE due_at <= UTC_TIMESTAMP(3)
          AND EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
          AND NOT EXISTS (SELECT 1 FROM ogs_pause WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3))
        ORDER BY due_at LIMIT ?
        """,
        [.text(claimID), .integer(Int64(limit))])
    }
    guard claimed > 0 else { return [] }
    return try pool.read { connection in
      try connection.rows(
        """
        SELECT id, entity_tag, created_at, claim_id FROM ogs_users WHERE claim_id = ?
        ORDER BY id
        """,
        [.text(claimID)]
      ) { row in ClaimedUser(row: row) }
    }
  }

  /// Claims one user for a minute, due or not.
  ///
  /// - Parameter claimID: a UUID, made for this claim alone.
  package func claimUser(_ userID: Int64, as claimID: String) throws -> UserClaim {
    try pool.transaction { connection in
      // First, so that what is read after it is as this found it: a user who is not claimed stays locked.
      let claimed = try connection.execute(
        """
        UPDATE ogs_users SET claim_id = ?, due_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
        WHERE id = ? AND (due_at <= UTC_TIMESTAMP(3) OR claim_id IS NULL AND failures = 0)
          AND EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
          AND NOT EXISTS (SELECT 1 FROM ogs_pause WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3))
        """,
        [.text(claimID), .integer(userID)])
      let user = try connection.row(
        """
        SELECT id, entity_tag, created_at, claim_id FROM ogs_users
        WHERE id = ? AND EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
        """,
        [.integer(userID)]
      ) { row in (isHeld: !row.isNull(3), user: row.isNull(3) ? nil : ClaimedUser(row: row)) }
      if claimed == 1, let user = user?.user { return .claimed(user) }
      let isPaused = try connection.row(
        "SELECT 1 FROM ogs_pause WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3)"
      ) { _ in true }
      if isPaused == true { return .paused }
      guard let user else { return .unregistered }
      return user.isHeld ? .busy : .paused
    }
  }

  /// Gives claimed users back, due as they were.
  package func release(_ users: [ClaimedUser]) throws {
    try pool.transaction { connection in
      for user in users {
        _ = try connection.execute(
          """
          UPDATE ogs_users SET claim_id = NULL, due_at = UTC_TIMESTAMP(3)
          WHERE id = ? AND claim_id = ?
          """,
          [.integer(user.id), .text(user.claimID)])
      }
    }
  }

  /// Records what a poll has seen, all of it in one transaction: the games, the marks, the
  /// notification of new turns to all of the user's devices, and when the user is due again.
  ///
  /// - Parameter message: makes the notification of the turns that are new.
  /// - Returns: nil where the lease has passed to another poll; nothing is written then.
  package func record(
    _ seen: SeenGames, entityTag: String?, of user: ClaimedUser, pace: PollPace, at now: Timestamp,
    message: (_ new: [TurnGame]) -> TurnMessage
  ) throws -> Turns? {
    try pool.transaction { connection in
      guard
        try connection.succeed(user, activeGames: seen.games.count, entityTag: entityTag)
      else { return nil }
      let stored = try connection.games(of: user.id)
      let marks = Dictionary(uniqueKeysWithValues: stored.map { ($0.game.id, $0.notifiedMove) })
      let turns = Turns(in: seen.games, of: user.id) { marks[$0] ?? 0 }
      let tokens = turns.new.isEmpty ? [] : try connection.deviceTokens(of: user.id)
      let told = tokens.isEmpty ? [] : turns.new
      if !told.isEmpty {
        try connection.notify(user, of: told, by: message(told), on: tokens, at: now)
      }
      let hasMoved = try connection.replace(stored, with: seen, told: told, of: user.id)
      try connection.schedule(user, hasMoved: hasMoved, pace: pace)
      return turns
    }
  }

  /// Records that online-go.com has nothing new to tell (HTTP 304).
  package func recordUnchanged(_ user: ClaimedUser, pace: PollPace) throws {
    try pool.transaction { connection in
      let activeGames = try connection.games(of: user.id).count
      guard
        try connection.succeed(user, activeGames: activeGames, entityTag: user.entityTag)
      else { return }
      try connection.schedule(user, hasMoved: false, pace: pace)
    }
  }
}

extension ClaimedUser {
  fileprivate init(row: borrowing Row) {
    id = row.integer(0)
    entityTag = row.optionalText(1)
    createdAt = Timestamp(milliseconds: row.milliseconds(2))
    claimID = row.text(3)
  }
}

extension Connection {
  /// - Returns: false where the claim is no longer one's own.
  fileprivate func succeed(
    _ user: ClaimedUser, activeGames: Int, entityTag: String?
  ) throws(DatabaseError) -> Bool {
    let isHeld =
      try execute(
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

  /// Due again after the interval: the configured one, or a tenth of the time in which nothing
  /// moved, at most ten times the configured.
  fileprivate func schedule(
    _ user: ClaimedUser, hasMoved: Bool, pace: PollPace
  ) throws(DatabaseError) {
    _ = try execute(
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

  fileprivate func deviceTokens(of userID: Int64) throws(DatabaseError) -> [String] {
    try rows(
      "SELECT device_token FROM ogs_registrations WHERE ogs_user_id = ? ORDER BY device_token",
      [.integer(userID)]
    ) { row in row.text(0) }
  }

  /// Puts the notification into the outbox: the same turns of the same registration again are the
  /// same event, and make no second one.
  fileprivate func notify(
    _ user: ClaimedUser, of turns: [TurnGame], by message: TurnMessage, on tokens: [String],
    at now: Timestamp
  ) throws(DatabaseError) {
    let marks = turns.map { "\($0.id):\($0.lastMove)" }.sorted().joined(separator: " ")
    let event = hexEncoded(Array(sha256(marks).prefix(16)))
    let isNew = try post(
      NewNotification(
        kind: .turn, eventKey: "turn \(user.id) \(user.createdAt.milliseconds) \(event)",
        collapseID: message.collapseID, payload: message.payload, lifetime: message.lifetime,
        tokens: tokens), at: now)
    guard isNew else { return }
    _ = try execute(
      "UPDATE ogs_registrations SET last_notified_at = UTC_TIMESTAMP(3) WHERE ogs_user_id = ?",
      [.integer(user.id)])
  }

  /// Makes the stored games what has been seen: changed ones are written, those that are gone go,
  /// unless they may only have been unreadable.
  ///
  /// - Returns: whether a game came, went or moved.
  fileprivate func replace(
    _ stored: [StoredGame], with seen: SeenGames, told: [TurnGame], of userID: Int64
  ) throws(DatabaseError) -> Bool {
    let known = Dictionary(uniqueKeysWithValues: stored.map { ($0.game.id, $0) })
    let toldIDs = Set(told.map(\.id))
    var hasMoved = false
    var changed = JSONWriter(capacity: 256)
    var changes = 0
    changed.array { array in
      for (position, game) in seen.games.enumerated() {
        let before = known[game.id]
        let isTold = toldIDs.contains(game.id)
        if before?.game == game && before?.position == Int64(position) && !isTold { continue }
        changes += 1
        hasMoved =
          hasMoved || before?.game.lastMove != game.lastMove
          || before?.game.currentPlayer != game.currentPlayer
        array.game(
          game, position: position,
          notifiedMove: isTold ? game.lastMove : before?.notifiedMove ?? 0)
      }
    }
    if changes > 0 { try writeGames(changed.bytes, of: userID) }
    guard seen.isWhole else { return hasMoved }
    let kept = Set(seen.games.map(\.id)).union(seen.unreadable)
    for id in known.keys where !kept.contains(id) {
      hasMoved = true
      _ = try execute(
        "DELETE FROM ogs_games WHERE ogs_user_id = ? AND game_id = ?",
        [.integer(userID), .integer(id)])
    }
    return hasMoved
  }

  fileprivate func writeGames(
    _ games: [UInt8], of userID: Int64
  ) throws(DatabaseError) {
    _ = try execute(
      """
      INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player,
        is_running, notified_move)
      SELECT ?, seen.* FROM JSON_TABLE(?, '$[*]' COLUMNS (
        game_id BIGINT UNSIGNED PATH '$.id', position INT UNSIGNED PATH '$.position',
        name VARCHAR(500) CHARACTER SET utf8mb4 PATH '$.name', last_move BIGINT PATH '$.last_move',
        current_player BIGINT UNSIGNED PATH '$.current_player', is_running INT PATH '$.is_running',
        notified_move BIGINT PATH '$.notified_move')) AS seen
      ON DUPLICATE KEY UPDATE position = VALUES(position), name = VALUES(name),
        last_move = VALUES(last_move), current_player = VALUES(current_player),
        is_running = VALUES(is_running), notified_move = VALUES(notified_move)
      """,
      [.integer(userID), .text(String(decoding: games, as: UTF8.self))])
  }
}

extension JSONWriter {
  fileprivate mutating func game(_ game: TurnGame, position: Int, notifiedMove: Int64) {
    object { json in
      json.member("id", game.id)
      json.member("position", Int64(position))
      json.member("name", game.name)
      json.member("last_move", game.lastMove)
      json.member("current_player", game.currentPlayer)
      json.member("is_running", game.isRunning ? 1 : 0 as Int64)
      json.member("notified_move", notifiedMove)
    }
  }
}

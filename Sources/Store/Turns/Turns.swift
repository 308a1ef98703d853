package import Base
import Cryptography
import MariaDB

/// A new API key, and what is kept of it.
package struct NewAPIKey: Sendable {
  /// SHA-256 of the key.
  package let hash: [UInt8]
  /// Its first 8 characters.
  package let prefix: String
  /// Whose the key is, at online-go.com.
  package let userID: Int64
  /// 1 to 200 characters.
  package let description: String

  package init(hash: [UInt8], prefix: String, userID: Int64, description: String) {
    self.hash = hash
    self.prefix = prefix
    self.userID = userID
    self.description = description
  }
}

/// A device token as the turns' apps send it: hex of 64 to 400 digits, in lower case; what an app
/// printed around it (spaces, angle brackets) is left out.
package struct DeviceToken: Sendable, Equatable {
  package let text: String

  package init?(_ given: String) {
    let text = Self.normalized(given)
    let isHex = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
      default: false
      }
    }
    guard isHex, (64...400).contains(text.utf8.count) else { return nil }
    self.text = text
  }

  /// `given` lower-cased, without spaces and angle brackets, whether it is a token then or not.
  package static func normalized(_ given: String) -> String {
    given.filter { $0 != " " && $0 != "<" && $0 != ">" }.lowercased()
  }
}

/// A game as online-go.com last told of it.
package struct TurnGame: Sendable, Equatable {
  /// Unicode scalars of ``name`` that are kept.
  package static let longestName = 500

  package let id: Int64
  package let name: String
  /// Unix milliseconds.
  package let lastMove: Int64
  /// 0: nobody.
  package let currentPlayer: Int64
  /// In phase play and not paused.
  package let isRunning: Bool

  package init(
    id: Int64, name: String, lastMove: Int64, currentPlayer: Int64, isRunning: Bool
  ) {
    self.id = id
    self.name = name.cut(to: Self.longestName)
    self.lastMove = lastMove
    self.currentPlayer = currentPlayer
    self.isRunning = isRunning
  }

  package func isTurn(of userID: Int64) -> Bool { isRunning && currentPlayer == userID }
}

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

extension Database {
  /// Counts a try of the master key, exactly under concurrency; a right one is given back.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)``: 10 wrong ones a minute from one address; then
  ///   the right one is refused too, or guessing would go on.
  package func countMasterKeyTry(
    isRight: Bool, from origin: Origin, at now: Timestamp
  ) throws {
    try pool.transaction { connection in
      try connection.count(.masterKeyTries, of: origin.address, at: now)
      if isRight {
        _ = try connection.execute(
          "UPDATE rate_limits SET hits = hits - 1 WHERE name = ? AND subject = ? AND hits > 0",
          [.text(Limit.masterKeyTries.name), .text(origin.address)])
      } else {
        try connection.audit(.masterKeyRefused, from: origin, at: now)
      }
    }
  }

  /// Stores a key and revokes the one before it with the same user and description.
  package func issue(_ key: NewAPIKey, from origin: Origin, at now: Timestamp) throws {
    try pool.transaction { connection in
      _ = try connection.execute(
        """
        UPDATE api_keys SET revoked_at = ?
        WHERE ogs_user_id = ? AND description = ? AND revoked_at IS NULL
        """,
        [.time(now), .integer(key.userID), .text(key.description)])
      _ = try connection.execute(
        """
        INSERT INTO api_keys (key_hash, key_prefix, ogs_user_id, description, created_at)
        VALUES (?, ?, ?, ?, ?)
        """,
        [
          .bytes(key.hash), .text(key.prefix), .integer(key.userID), .text(key.description),
          .time(now),
        ])
      try connection.audit(
        .apiKeyIssued, detail: "\(key.prefix)… for OGS user \(key.userID)", from: origin, at: now)
    }
  }

  /// The user of the key with this SHA-256; nil where there is none, or it is revoked.
  package func user(ofAPIKey hash: [UInt8]) throws -> Int64? {
    try pool.read { connection in
      try connection.row(
        "SELECT ogs_user_id FROM api_keys WHERE key_hash = ? AND revoked_at IS NULL",
        [.bytes(hash)]
      ) { row in row.integer(0) }
    }
  }

  /// Registers a device for a user's turns. A device that is new is due for a poll at once, unless
  /// online-go.com has refused the last one.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)``: 60 an hour for one user.
  package func register(
    _ token: DeviceToken, of userID: Int64, from origin: Origin, at now: Timestamp
  ) throws {
    try pool.transaction { connection in
      try connection.count(.turnRegistrations, of: String(userID), at: now)
      _ = try connection.execute(
        "INSERT IGNORE INTO ogs_users (id) VALUES (?)", [.integer(userID)])
      let isNew =
        try connection.execute(
          """
          INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at) VALUES (?, ?, ?)
          ON DUPLICATE KEY UPDATE registered_at = VALUES(registered_at)
          """,
          [.integer(userID), .text(token.text), .time(now)]) == 1
      guard isNew else { return }
      _ = try connection.execute(
        """
        UPDATE ogs_users SET due_at = LEAST(due_at, UTC_TIMESTAMP(3))
        WHERE id = ? AND claim_id IS NULL AND failures = 0
        """,
        [.integer(userID)])
      try connection.audit(
        .turnsRegistered, detail: "OGS user \(userID)", from: origin, at: now)
    }
  }

  /// Takes a device from a user's turns, if it is registered for them.
  package func unregister(
    _ token: DeviceToken, of userID: Int64, from origin: Origin, at now: Timestamp
  ) throws {
    try pool.transaction { connection in
      let deleted = try connection.execute(
        "DELETE FROM ogs_registrations WHERE ogs_user_id = ? AND device_token = ?",
        [.integer(userID), .text(token.text)])
      guard deleted == 1 else { return }
      try connection.audit(
        .turnsUnregistered, detail: "OGS user \(userID)", from: origin, at: now)
    }
  }

  /// Counts a check that a user asks for.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)``: 20 a minute.
  package func countCheck(of userID: Int64, at now: Timestamp) throws {
    _ = try pool.transaction { connection in
      try connection.count(.turnChecks, of: String(userID), at: now)
    }
  }

  /// The users that a device is registered for, in the order of registration, if `userID` is among
  /// them; else none.
  package func users(ofDevice token: DeviceToken, askedBy userID: Int64) throws -> [Int64] {
    let users = try pool.read { connection in
      try connection.rows(
        """
        SELECT ogs_user_id FROM ogs_registrations WHERE device_token = ?
        ORDER BY registered_at, ogs_user_id
        """,
        [.text(token.text)]
      ) { row in row.integer(0) }
    }
    return users.contains(userID) ? users : []
  }

  package func diagnostics(ofTurnsOf userID: Int64) throws -> TurnDiagnostics {
    try pool.read { connection in
      let devices = try connection.rows(
        """
        SELECT device_token, last_notified_at FROM ogs_registrations WHERE ogs_user_id = ?
        ORDER BY registered_at DESC, device_token
        """,
        [.integer(userID)]
      ) { row in
        (token: row.text(0), notifiedAt: row.optionalMilliseconds(1))
      }
      let checkedAt = try connection.row(
        "SELECT checked_at FROM ogs_users WHERE id = ? AND checked_at IS NOT NULL",
        [.integer(userID)]
      ) { row in row.milliseconds(0) }
      let passedAt = try connection.row("SELECT MAX(last_pass_at) FROM companion_status") { row in
        row.optionalMilliseconds(0)
      }
      return TurnDiagnostics(
        deviceToken: devices.first?.token,
        lastNotifiedAt: devices.compactMap(\.notifiedAt).max().map(Timestamp.init(milliseconds:)),
        lastCheckAt: (checkedAt ?? passedAt ?? nil).map(Timestamp.init(milliseconds:)),
        games: try connection.games(of: userID).map(\.game))
    }
  }
}

/// A game as it is stored: with its place in the order of online-go.com and the mark.
struct StoredGame {
  let game: TurnGame
  let position: Int64
  /// Unix milliseconds: the ``TurnGame/lastMove`` that the user was last told of; 0: never.
  let notifiedMove: Int64
}

extension Connection {
  func games(of userID: Int64) throws(DatabaseError) -> [StoredGame] {
    try rows(
      """
      SELECT game_id, name, last_move, current_player, is_running, position, notified_move
      FROM ogs_games WHERE ogs_user_id = ? ORDER BY position
      """,
      [.integer(userID)]
    ) { row in
      StoredGame(
        game: TurnGame(
          id: row.integer(0), name: row.text(1), lastMove: row.integer(2),
          currentPlayer: row.integer(3), isRunning: row.boolean(4)),
        position: row.integer(5), notifiedMove: row.integer(6))
    }
  }
}

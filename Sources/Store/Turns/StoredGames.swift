import Base
import MariaDB

/// A game as it is stored: with its position in the order of online-go.com, and the marks.
struct StoredGame {
  let game: TurnGame
  let position: Int64
  /// Unix milliseconds: the ``TurnGame/lastMove`` that the user was last told of; 0: none.
  let notifiedMove: Int64
  /// The same for the warning about the clock.
  let clockMove: Int64
  /// Whether the user wants no notifications about it.
  let isSilent: Bool
}

/// Statements on `ogs_games`.
struct GameStatements: ~Copyable {
  let transaction: Transaction

  func find(of userID: Int64) throws(DatabaseError) -> [StoredGame] {
    try transaction.connection.rows(
      """
      SELECT game_id, name, last_move, current_player, is_running, position, notified_move,
        clock_move, is_silent
      FROM ogs_games WHERE ogs_user_id = ? ORDER BY position
      """,
      [.integer(userID)]
    ) { row in
      StoredGame(
        game: TurnGame(
          id: row.integer(0), name: row.text(1), lastMove: row.integer(2),
          currentPlayer: row.integer(3), isRunning: row.boolean(4)),
        position: row.integer(5), notifiedMove: row.integer(6), clockMove: row.integer(7),
        isSilent: row.boolean(8))
    }
  }

  /// Replaces the stored games with the seen ones. Only changed games are written. Games that are no
  /// longer seen are deleted, unless they may only have been unreadable.
  ///
  /// - Parameter silent: ids of the games that the user wants no notifications about.
  /// - Returns: whether a game came, went or moved, and the games that went.
  func replace(
    _ stored: [StoredGame], with seen: SeenGames, told: [TurnGame], silent: Set<Int64>,
    of userID: Int64
  ) throws(DatabaseError) -> (haveMoved: Bool, gone: [StoredGame]) {
    let known = Dictionary(uniqueKeysWithValues: stored.map { ($0.game.id, $0) })
    let changes = GameChanges(
      from: known, to: seen.games, toldIDs: Set(told.map(\.id)), silentIDs: silent)
    if let rows = changes.rows { try write(rows, of: userID) }
    guard seen.isWhole else { return (changes.haveMoved, []) }
    let kept = Set(seen.games.map(\.id)).union(seen.unreadable)
    let gone = stored.filter { !kept.contains($0.game.id) }
    for game in gone { try delete(game.game.id, of: userID) }
    return (changes.haveMoved || !gone.isEmpty, gone)
  }

  /// Remembers that the user was warned about the clock for this move.
  func markClock(_ game: TurnGame, of userID: Int64) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE ogs_games SET clock_move = ? WHERE ogs_user_id = ? AND game_id = ?",
      [.integer(game.lastMove), .integer(userID), .integer(game.id)])
  }

  private func delete(_ id: Int64, of userID: Int64) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "DELETE FROM ogs_games WHERE ogs_user_id = ? AND game_id = ?",
      [.integer(userID), .integer(id)])
  }

  private func write(_ rows: [UInt8], of userID: Int64) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player,
        is_running, notified_move, is_silent)
      SELECT ?, seen.* FROM JSON_TABLE(?, '$[*]' COLUMNS (
        game_id BIGINT UNSIGNED PATH '$.id', position INT UNSIGNED PATH '$.position',
        name VARCHAR(500) CHARACTER SET utf8mb4 PATH '$.name', last_move BIGINT PATH '$.last_move',
        current_player BIGINT UNSIGNED PATH '$.current_player', is_running INT PATH '$.is_running',
        notified_move BIGINT PATH '$.notified_move', is_silent INT PATH '$.is_silent')) AS seen
      ON DUPLICATE KEY UPDATE position = VALUES(position), name = VALUES(name),
        last_move = VALUES(last_move), current_player = VALUES(current_player),
        is_running = VALUES(is_running), notified_move = VALUES(notified_move),
        is_silent = VALUES(is_silent)
      """,
      [.integer(userID), .text(String(decoding: rows, as: UTF8.self))])
  }
}

extension Transaction {
  var games: GameStatements { GameStatements(transaction: Transaction(sharing: self)) }
}

/// The seen games that differ from the stored ones.
private struct GameChanges {
  /// JSON: an array of games; nil if none differs.
  private(set) var rows: [UInt8]?
  /// Whether a game is new, or has moved.
  private(set) var haveMoved = false

  init(
    from known: [Int64: StoredGame], to games: [TurnGame], toldIDs: Set<Int64>,
    silentIDs: Set<Int64>
  ) {
    var json = JSONWriter(capacity: 256)
    var count = 0
    json.array { array in
      for (position, game) in games.enumerated() {
        let before = known[game.id]
        let isTold = toldIDs.contains(game.id)
        let isSilent = silentIDs.contains(game.id)
        if before?.game == game && before?.position == Int64(position) && !isTold
          && before?.isSilent == isSilent
        {
          continue
        }
        count += 1
        if before?.game.lastMove != game.lastMove
          || before?.game.currentPlayer != game.currentPlayer
        {
          haveMoved = true
        }
        array.game(
          game, position: position,
          notifiedMove: isTold ? game.lastMove : before?.notifiedMove ?? 0, isSilent: isSilent)
      }
    }
    if count > 0 { rows = json.bytes }
  }
}

extension JSONWriter {
  fileprivate mutating func game(
    _ game: TurnGame, position: Int, notifiedMove: Int64, isSilent: Bool
  ) {
    object { json in
      json.member("id", game.id)
      json.member("position", Int64(position))
      json.member("name", game.name)
      json.member("last_move", game.lastMove)
      json.member("current_player", game.currentPlayer)
      json.member("is_running", game.isRunning ? 1 : 0 as Int64)
      json.member("notified_move", notifiedMove)
      json.member("is_silent", isSilent ? 1 : 0 as Int64)
    }
  }
}

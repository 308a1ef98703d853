import Base
import Store

/// Maximum length of a name in bytes: ``TurnGame/longestName`` scalars, each as two escapes.
private let longestText = TurnGame.longestName * 12

/// Maximum number of active games, more than any user plays. Further games are left out.
private let mostGames = 2000

extension SeenGames {
  /// Reads the active games of `userID` from an answer of `/api/v1/players/{id}/full`. Leaves out
  /// finished games. Lists games with missing members as unreadable, and reads the others.
  ///
  /// - Throws: ``JSONReader/Failure``; `malformed` also if the answer has no list of games.
  init(ofPlayer body: [UInt8], for userID: Int64) throws {
    var list: GameList?
    var reader = JSONReader(body, .lenient)
    let isObject = try reader.optionalObject { name, value in
      switch name {
      case "active_games": list = try GameList(&value, for: userID)
      default: try value.skip()
      }
    }
    guard isObject else { throw JSONReader.Failure.malformed }
    try reader.end()
    guard let list else { throw JSONReader.Failure.malformed }
    self.init(
      games: list.games, unreadable: list.unreadable, isWhole: list.isWhole, live: list.live,
      clockEnds: list.clockEnds)
  }
}

/// Value of `active_games`.
private struct GameList {
  var games: [TurnGame] = []
  var unreadable: Set<Int64> = []
  var isWhole = true
  var live: Set<Int64> = []
  var clockEnds: [Int64: Int64] = [:]
  private var ids: Set<Int64> = []

  /// - Returns: nil if the value is not an array.
  init?(_ value: inout JSONReader, for userID: Int64) throws {
    var elements = GameList()
    let isArray = try value.optionalArray { element in
      elements.append(try GameFields(&element), for: userID)
    }
    guard isArray else { return nil }
    self = elements
  }

  private init() {}

  private mutating func append(_ fields: GameFields, for userID: Int64) {
    guard let id = fields.id, id > 0, games.count < mostGames else {
      isWhole = false
      return
    }
    guard ids.insert(id).inserted, fields.phase != "finished" else { return }
    guard let game = fields.game(id: id, for: userID) else {
      unreadable.insert(id)
      return
    }
    games.append(game)
    if fields.isLive { live.insert(id) }
    if let end = fields.clockEnd { clockEnds[id] = end }
  }
}

/// Members of a game that tell whose turn it is. A missing member, or one of another type, is nil.
private struct GameFields {
  private(set) var id: Int64?
  private(set) var phase: String?
  private var name: String?
  private var gameName: String?
  private var title: String?
  private var currentPlayer: Int64?
  private var lastMove: Timestamp?
  private var expiration: Timestamp?
  private var hasNotBegun = false
  /// Seconds per move.
  private var timePerMove: Int64?
  private var isPaused = false
  /// Whether a pause belongs to the phase of stone removal.
  private var isRemoving = false
  /// Players who have accepted the stones that are removed.
  private var accepted: Set<Int64> = []
  private var players: Set<Int64> = []

  init(_ value: inout JSONReader) throws {
    var fields = Self()
    _ = try value.optionalObject { name, game in
      switch name {
      case "id": fields.id = try game.optionalInteger()
      case "name": fields.name = try game.optionalString(atMost: longestText)
      case "time_per_move": fields.timePerMove = try game.optionalInteger()
      case "json": try fields.readDetails(&game)
      default: try game.skip()
      }
    }
    self = fields
  }

  private init() {}

  private mutating func readDetails(_ value: inout JSONReader) throws {
    var fields = self
    _ = try value.optionalObject { name, json in
      switch name {
      case "phase": fields.phase = try json.optionalString(atMost: 64)
      case "game_name": fields.gameName = try json.optionalString(atMost: longestText)
      case "pause_control": try fields.readPauseControl(&json)
      case "clock": try fields.readClock(&json)
      case "players": try fields.readPlayers(&json)
      default: try json.skip()
      }
    }
    self = fields
  }

  private mutating func readClock(_ value: inout JSONReader) throws {
    var fields = self
    _ = try value.optionalObject { name, clock in
      switch name {
      case "current_player": fields.currentPlayer = try clock.optionalInteger()
      case "last_move": fields.lastMove = try clock.optionalTimestamp()
      case "title": fields.title = try clock.optionalString(atMost: longestText)
      case "expiration": fields.expiration = try clock.optionalTimestamp()
      case "start_mode": fields.hasNotBegun = try clock.isTrue()
      case "pause": try fields.readPause(&clock)
      default: try clock.skip()
      }
    }
    self = fields
  }

  private mutating func readPause(_ value: inout JSONReader) throws {
    var fields = self
    _ = try value.optionalObject { name, pause in
      switch name {
      case "paused": if try pause.isTrue() { fields.isPaused = true }
      case "pause_control": try fields.readPauseControl(&pause)
      default: try pause.skip()
      }
    }
    self = fields
  }

  /// Reads pauses. Any member means a pause, with any value, as on the site itself.
  private mutating func readPauseControl(_ value: inout JSONReader) throws {
    var fields = self
    _ = try value.optionalObject { name, control in
      if name == "stone-removal" { fields.isRemoving = true } else { fields.isPaused = true }
      try control.skip()
    }
    self = fields
  }

  /// Reads the players. Each is a member named by its color.
  private mutating func readPlayers(_ value: inout JSONReader) throws {
    var fields = self
    _ = try value.optionalObject { _, player in
      var id: Int64?
      var hasAccepted = false
      _ = try player.optionalObject { name, member in
        switch name {
        case "id": id = try member.optionalInteger()
        case "accepted": hasAccepted = try member.isTrue()
        default: try member.skip()
        }
      }
      guard let id else { return }
      fields.players.insert(id)
      if hasAccepted { fields.accepted.insert(id) }
    }
    self = fields
  }

  /// Whether the site calls the game live: less than an hour per move.
  var isLive: Bool { timePerMove.map { $0 < 3600 } ?? false }

  /// End of the clock in Unix milliseconds; nil before the first move, when the clock shows the
  /// remaining time.
  var clockEnd: Int64? { hasNotBegun ? nil : expiration?.milliseconds }

  /// - Returns: nil if the members do not tell whose turn it is.
  func game(id: Int64, for userID: Int64) -> TurnGame? {
    guard let phase, let lastMove else { return nil }
    let player = phase == "stone removal" ? awaitedByRemoval(userID) : currentPlayer ?? 0
    let named = [name, gameName, title].compactMap { $0 }.first { !$0.isEmpty }
    return TurnGame(
      id: id, name: named?.withoutControls ?? "Game \(id)", lastMove: lastMove.milliseconds,
      currentPlayer: max(player, 0),
      isRunning: !isPaused && (phase == "stone removal" || phase == "play" && !isRemoving))
  }

  /// Player who must accept the removal, whatever the clock says: the user first, then the
  /// opponent.
  private func awaitedByRemoval(_ userID: Int64) -> Int64 {
    let awaited = players.subtracting(accepted)
    return awaited.contains(userID) ? userID : awaited.min() ?? 0
  }
}

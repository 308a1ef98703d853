import Base
import Store

/// Bytes of a name that are read: room for ``TurnGame/longestName`` scalars, each as two escapes.
private let longestText = TurnGame.longestName * 12

/// More active games than anybody plays. Further games are left out.
private let mostGames = 2000

extension SeenGames {
  /// What the answer of `/api/v1/players/{id}/full` tells `userID` of the active games. Finished games are left
  /// out. A game without what we need is unreadable; the others count.
  ///
  /// - Throws: ``JSONReader/Failure``; `malformed` also where it does not tell of any games at all.
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

/// The value of `active_games`.
private struct GameList {
  var games: [TurnGame] = []
  var unreadable: Set<Int64> = []
  var isWhole = true
  var live: Set<Int64> = []
  var clockEnds: [Int64: Int64] = [:]
  private var ids: Set<Int64> = []

  /// - Returns: nil where it is no array.
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

/// The members of a game that say whose turn it is; whatever is absent or of another type is nil.
private struct GameFields {
  private(set) var id: Int64?
  private(set) var phase: String?
  private var name: String?
  private var gameName: String?
  private var title: String?
  private var currentPlayer: Int64?
  private var lastMove: Int64?
  private var expiration: Int64?
  private var hasNotBegun = false
  /// Seconds
  private var timePerMove: Int64?
  private var isPaused = false
  /// By the removal of stones, which is a phase of its own.
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
      case "last_move": fields.lastMove = try clock.optionalInteger()
      case "title": fields.title = try clock.optionalString(atMost: longestText)
      case "expiration": fields.expiration = try clock.optionalInteger()
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

  /// Any member is a pause, whatever its value, as on the site itself.
  private mutating func readPauseControl(_ value: inout JSONReader) throws {
    var fields = self
    _ = try value.optionalObject { name, control in
      if name == "stone-removal" { fields.isRemoving = true } else { fields.isPaused = true }
      try control.skip()
    }
    self = fields
  }

  /// Each under its color.
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

  /// The site calls games live that give less than an hour for a move.
  var isLive: Bool { timePerMove.map { $0 < 3600 } ?? false }

  /// Unix milliseconds; before the first move the clock tells how much is left.
  var clockEnd: Int64? { hasNotBegun ? nil : expiration }

  /// - Returns: nil where the members do not say whose turn it is.
  func game(id: Int64, for userID: Int64) -> TurnGame? {
    guard let phase, let lastMove else { return nil }
    let player = phase == "stone removal" ? awaitedByRemoval(userID) : currentPlayer ?? 0
    let named = [name, gameName, title].compactMap { $0 }.first { !$0.isEmpty }
    return TurnGame(
      id: id, name: named?.withoutControls ?? "Game \(id)", lastMove: lastMove,
      currentPlayer: max(player, 0),
      isRunning: !isPaused && (phase == "stone removal" || phase == "play" && !isRemoving))
  }

  /// Both must accept, whichever player the clock names: the user first, then the other one.
  private func awaitedByRemoval(_ userID: Int64) -> Int64 {
    let awaited = players.subtracting(accepted)
    return awaited.contains(userID) ? userID : awaited.min() ?? 0
  }
}

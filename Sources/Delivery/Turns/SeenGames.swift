import Base
import Store

/// Bytes of a name that are read: room for ``TurnGame/longestName`` scalars, each as two escapes.
private let longestText = TurnGame.longestName * 12

/// More active games than anybody plays. Further games are left out.
private let mostGames = 2000

extension SeenGames {
  /// What the answer of `/api/v1/players/{id}/full` tells of the active games. Finished games are left
  /// out. A game without what we need is unreadable; the others count.
  ///
  /// - Throws: ``JSONReader/Failure``; `malformed` also where it does not tell of any games at all.
  init(ofPlayer body: [UInt8]) throws {
    var list: GameList?
    var reader = JSONReader(body, .lenient)
    let isObject = try reader.optionalObject { name, value in
      switch name {
      case "active_games": list = try GameList(&value)
      default: try value.skip()
      }
    }
    guard isObject else { throw JSONReader.Failure.malformed }
    try reader.end()
    guard let list else { throw JSONReader.Failure.malformed }
    self.init(games: list.games, unreadable: list.unreadable, isWhole: list.isWhole)
  }
}

/// The value of `active_games`.
private struct GameList {
  var games: [TurnGame] = []
  var unreadable: Set<Int64> = []
  var isWhole = true
  private var ids: Set<Int64> = []

  /// - Returns: nil where it is no array.
  init?(_ value: inout JSONReader) throws {
    var elements = GameList()
    let isArray = try value.optionalArray { element in
      elements.append(try GameFields(&element))
    }
    guard isArray else { return nil }
    self = elements
  }

  private init() {}

  private mutating func append(_ fields: GameFields) {
    guard let id = fields.id, id > 0, games.count < mostGames else {
      isWhole = false
      return
    }
    guard ids.insert(id).inserted, fields.phase != "finished" else { return }
    if let game = fields.game(id: id) { games.append(game) } else { unreadable.insert(id) }
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
  private var isPaused = false

  init(_ value: inout JSONReader) throws {
    var fields = Self()
    _ = try value.optionalObject { name, game in
      switch name {
      case "id": fields.id = try game.optionalInteger()
      case "name": fields.name = try game.optionalString(atMost: longestText)
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
    var hasKey = false
    _ = try value.optionalObject { _, control in
      hasKey = true
      try control.skip()
    }
    isPaused = isPaused || hasKey
  }

  /// - Returns: nil where the members do not say whose turn it is.
  func game(id: Int64) -> TurnGame? {
    guard let phase, let lastMove else { return nil }
    let player = currentPlayer ?? 0
    let named = [name, gameName, title].compactMap { $0 }.first { !$0.isEmpty }
    return TurnGame(
      id: id, name: named?.withoutControls ?? "Game \(id)", lastMove: lastMove,
      currentPlayer: max(player, 0),
      isRunning: phase == "play" && !isPaused)
  }
}

import Store

/// Names are read up to here: room for ``TurnGame/longestName`` scalars, each as two escapes.
private let longestText = TurnGame.longestName * 12

/// More active games than anybody plays: what follows is left out.
private let mostGames = 2000

extension SeenGames {
  /// What the answer of `/api/v1/players/{id}/full` tells of the active games. Finished ones are
  /// none. A game without what we need is unreadable; the others count.
  ///
  /// - Throws: ``JSONError``; ``JSONError/malformed`` also where it does not tell of any games at
  ///   all.
  init(ofPlayer body: [UInt8]) throws(JSONError) {
    var list: GameList?
    try body.withUnsafeBufferPointer { bytes throws(JSONError) in
      var scanner = JSONScanner(bytes)
      let isObject = try scanner.object { player, name throws(JSONError) in
        switch name {
        case "active_games": list = try GameList(&player)
        default: try player.skip()
        }
      }
      guard isObject else { throw .malformed }
      try scanner.end()
    }
    guard let list else { throw .malformed }
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
  init?(_ scanner: inout JSONScanner) throws(JSONError) {
    var elements = GameList()
    let isArray = try scanner.array { element throws(JSONError) in
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

  init(_ scanner: inout JSONScanner) throws(JSONError) {
    var fields = Self()
    _ = try scanner.object { game, name throws(JSONError) in
      switch name {
      case "id": fields.id = try game.integer()
      case "name": fields.name = try game.string(longest: longestText)
      case "json": try fields.readDetails(&game)
      default: try game.skip()
      }
    }
    self = fields
  }

  private init() {}

  private mutating func readDetails(_ scanner: inout JSONScanner) throws(JSONError) {
    var fields = self
    _ = try scanner.object { json, name throws(JSONError) in
      switch name {
      case "phase": fields.phase = try json.string(longest: 64)
      case "game_name": fields.gameName = try json.string(longest: longestText)
      case "pause_control": try fields.readPauseControl(&json)
      case "clock": try fields.readClock(&json)
      default: try json.skip()
      }
    }
    self = fields
  }

  private mutating func readClock(_ scanner: inout JSONScanner) throws(JSONError) {
    var fields = self
    _ = try scanner.object { clock, name throws(JSONError) in
      switch name {
      case "current_player": fields.currentPlayer = try clock.integer()
      case "last_move": fields.lastMove = try clock.integer()
      case "title": fields.title = try clock.string(longest: longestText)
      case "pause": try fields.readPause(&clock)
      default: try clock.skip()
      }
    }
    self = fields
  }

  private mutating func readPause(_ scanner: inout JSONScanner) throws(JSONError) {
    var fields = self
    _ = try scanner.object { pause, name throws(JSONError) in
      switch name {
      case "paused": if try pause.isTrue() { fields.isPaused = true }
      case "pause_control": try fields.readPauseControl(&pause)
      default: try pause.skip()
      }
    }
    self = fields
  }

  /// Any key is a pause, whatever its value, as on the site itself.
  private mutating func readPauseControl(_ scanner: inout JSONScanner) throws(JSONError) {
    var hasKey = false
    _ = try scanner.object { control, _ throws(JSONError) in
      hasKey = true
      try control.skip()
    }
    isPaused = isPaused || hasKey
  }

  /// - Returns: nil where it cannot be said whether it is anybody's turn.
  func game(id: Int64) -> TurnGame? {
    guard let phase, let lastMove else { return nil }
    let player = currentPlayer ?? 0
    let named = [name, gameName, title].compactMap { $0 }.first { !$0.isEmpty }
    return TurnGame(
      id: id, name: named ?? "Game \(id)", lastMove: lastMove, currentPlayer: max(player, 0),
      isRunning: phase == "play" && !isPaused)
  }
}

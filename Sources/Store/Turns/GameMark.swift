import Base

/// A game, and the move that a notification tells.
struct GameMark: Hashable, Sendable {
  let id: Int64
  /// Unix milliseconds
  let lastMove: Int64

  init(_ game: TurnGame) { self.init(id: game.id, lastMove: game.lastMove) }

  private init(id: Int64, lastMove: Int64) {
    self.id = id
    self.lastMove = lastMove
  }

  /// - Parameter json: the column `games`.
  static func list(_ json: String) -> Set<GameMark> {
    var marks: Set<GameMark> = []
    var reader = JSONReader(Array(json.utf8))
    // Written by this program, and checked by the table; unreadable text counts as no games.
    try? reader.array { pair in
      var numbers: [Int64] = []
      try pair.array { number in numbers.append(try number.integer()) }
      if numbers.count == 2 { marks.insert(GameMark(id: numbers[0], lastMove: numbers[1])) }
    }
    return marks
  }

  static func json(_ marks: [GameMark]) -> [UInt8] {
    JSONWriter.array { array in
      for mark in marks {
        array.array { pair in
          pair.integer(mark.id)
          pair.integer(mark.lastMove)
        }
      }
    }
  }
}

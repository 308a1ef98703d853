import Base

/// A game as online-go.com last reported it.
package struct TurnGame: Sendable, Equatable {
  /// The longest ``name`` that is stored, in Unicode scalars.
  package static let longestName = 500

  package let id: Int64
  package let name: String
  /// Unix milliseconds.
  package let lastMove: Int64
  /// The player who must act; while stones are removed, the user until they accept. 0: no player.
  package let currentPlayer: Int64
  /// In play or removing stones, and not paused.
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

/// The games of a user, as online-go.com reports them.
package struct SeenGames: Sendable {
  /// In the order of online-go.com.
  package let games: [TurnGame]
  /// Games that could not be read: their stored data stay.
  package let unreadable: Set<Int64>
  /// Whether the user has no other game.
  package let isWhole: Bool
  /// Games with less than an hour for a move.
  package let live: Set<Int64>
  /// Unix milliseconds at which the clock of the player who must act runs out, by game.
  package let clockEnds: [Int64: Int64]

  package init(
    games: [TurnGame], unreadable: Set<Int64>, isWhole: Bool, live: Set<Int64> = [],
    clockEnds: [Int64: Int64] = [:]
  ) {
    self.games = games
    self.unreadable = unreadable
    self.isWhole = isWhole
    self.live = live
    self.clockEnds = clockEnds
  }
}

/// The turns of a user, as a poll has seen them; all in the order of online-go.com.
package struct Turns: Sendable {
  package let notYours: [TurnGame]
  /// Turns that the user was not told of.
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

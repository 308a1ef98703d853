import Base

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

/// What online-go.com tells of a user's games.
package struct SeenGames: Sendable {
  /// In its order.
  package let games: [TurnGame]
  /// Games that could not be read: what is known of them stays.
  package let unreadable: Set<Int64>
  /// Whether the user has no other game.
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
  /// JSON, at most 4096 bytes, as Apple takes it.
  package let payload: [UInt8]
  package let lifetime: Duration

  package init(collapseID: String, payload: [UInt8], lifetime: Duration) {
    self.collapseID = collapseID
    self.payload = payload
    self.lifetime = lifetime
  }
}

import Base
import Cryptography

/// An event that a player is told of.
enum TurnEvent {
  /// It is the user's turn in these games, in the order of online-go.com; at least one. `isUrgent`: one of them has
  /// less than an hour for the move.
  case turns([TurnGame], isUrgent: Bool)
  /// Less than an hour is left for the user's move.
  case clock(TurnGame)
  case ended(TurnGame)
}

/// A notification that a device shows, and whose event has ended.
struct RemovedAlert {
  let collapseID: String
  /// Unix milliseconds: the newest move of the notification. A newer notification with the same
  /// collapse id stays.
  let lastMove: Int64
}

extension NotificationContent {
  /// The limit of a game's name, in bytes of JSON. The text and the data hold the name, and together
  /// they must fit into a message of every channel.
  private static let longestName = 1_750

  /// The notification of an event to a user.
  ///
  /// A device shows only the newest notification with the same collapse id. So the id names one
  /// game, or several games with their moves, and no notification hides a game that still waits.
  ///
  /// - Parameters:
  ///   - badge: the number of games that wait for the users of the device.
  ///   - prefix: prefix of the text, such as `[dev] `.
  init(of event: TurnEvent, to user: Int64, badge: Int64, in language: Language, prefix: String) {
    let texts = TurnTexts(in: language)
    switch event {
    case .turns(let games, let isUrgent):
      precondition(!games.isEmpty, "there is something to tell")
      let isOne = games.count == 1
      let several: TurnTexts.Named = { _ in texts.turns(games.count) }
      self.init(
        category: "turn", isUrgent: isUrgent, prefix, isOne ? texts.turn : several, about: games,
        to: user, badge: badge,
        collapseID: isOne ? "turn-\(user)-\(games[0].id)" : "turns-\(user)-\(games.marks)")
    case .clock(let game):
      self.init(
        category: "clock", isUrgent: true, prefix, texts.clock, about: [game], to: user,
        badge: badge, collapseID: "clock-\(user)-\(game.id)")
    case .ended(let game):
      self.init(
        category: "game_ended", isUrgent: false, prefix, texts.ended, about: [game], to: user,
        badge: badge, collapseID: "ended-\(user)-\(game.id)")
    }
  }

  private init(
    category: String, isUrgent: Bool, _ prefix: String, _ text: TurnTexts.Named,
    about games: [TurnGame], to user: Int64, badge: Int64, collapseID: String
  ) {
    let game = games[0]
    var name = game.name
    while JSONWriter.array(of: [name]).count > Self.longestName { name.unicodeScalars.removeLast() }
    self.init(
      body: prefix + text(name), badge: badge, sound: "default",
      thread: games.count == 1 ? "game-\(game.id)" : "games", category: category,
      isUrgent: isUrgent,
      data: JSONWriter.object { json in
        json.member("web_url", "https://online-go.com/game/\(game.id)")
        json.member("app_url", "ogs://game/\(game.id)")
        json.member("game_id", game.id)
        json.member("user_id", String(user))
        json.member("action", "open_game")
        json.member("game_name", name)
        json.member("last_move", games.map(\.lastMove).max() ?? 0)
      }, collapseID: collapseID)
  }

  /// Only the number on the app's icon.
  static func badge(_ badge: Int64) -> NotificationContent {
    NotificationContent(badge: badge, collapseID: "badge")
  }

  /// A notification that wakes the app, which removes the alerts.
  static func removal(of alerts: [RemovedAlert], badge: Int64) -> NotificationContent {
    let ids = alerts.map { "\($0.collapseID):\($0.lastMove)" }.joined(separator: " ")
    return NotificationContent(
      badge: badge,
      data: JSONWriter.object { json in
        json.member("action", "remove_notifications")
        json.member(
          "notifications",
          array: { array in
            for alert in alerts {
              array.object { json in
                json.member("id", alert.collapseID)
                json.member("last_move", alert.lastMove)
              }
            }
          })
      }, collapseID: "removal-\(hexEncoded([UInt8](sha256(ids).prefix(16))))")
  }
}

extension [TurnGame] {
  /// Hash of the games and their moves, 32 characters.
  fileprivate var marks: String {
    let moves = map { "\($0.id):\($0.lastMove)" }.sorted().joined(separator: " ")
    return hexEncoded([UInt8](sha256(moves).prefix(16)))
  }
}

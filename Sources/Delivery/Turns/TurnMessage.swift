import Base
import Cryptography
import Store

extension TurnMessage {
  /// Apple's limit, in bytes.
  private static let largestPayload = 4096
  private static let day = Duration.seconds(86_400)

  /// The notification of an event.
  ///
  /// A device shows only the newest of those that share a collapse id. So it names a single game; and several games with
  /// their moves: none hides a game that still waits.
  ///
  /// - Parameters:
  ///   - userID: nil for a badge alone, which is of all users of the device.
  ///   - badge: how many games wait for the users of the device.
  ///   - prefix: stands before the text, such as `[dev] `.
  init(of event: Event, to userID: Int64?, badge: Int64, prefix: String) {
    let user = userID ?? 0
    switch event {
    case .turns(let games):
      precondition(!games.isEmpty, "there is something to tell")
      let isOne = games.count == 1
      self.init(
        collapseID: isOne ? "turn-\(user)-\(games[0].id)" : "turns-\(user)-\(games.marks)",
        about: games[0],
        text: isOne
          ? { "It's your turn in: \($0)" } : { _ in "It's your turn in \(games.count) games" },
        user: user, badge: badge, prefix: prefix)
    case .clock(let game):
      self.init(
        collapseID: "clock-\(user)-\(game.id)", about: game,
        text: { "Less than an hour left in: \($0)" }, user: user, badge: badge, prefix: prefix)
    case .ended(let game):
      self.init(
        collapseID: "ended-\(user)-\(game.id)", about: game, text: { "Game over: \($0)" },
        user: user,
        badge: badge, prefix: prefix)
    case .badge:
      self.init(
        collapseID: "badge",
        payload: JSONWriter.object { json in
          json.member("aps", object: { aps in aps.member("badge", badge) })
        }, lifetime: Self.day)
    }
  }

  /// With as much of the game's name as fits, cut between Unicode scalars.
  private init(
    collapseID: String, about game: TurnGame, text: (_ name: String) -> String, user: Int64,
    badge: Int64, prefix: String
  ) {
    let scalars = game.name.unicodeScalars
    var most = scalars.count
    while true {
      let name = String(scalars.prefix(most))
      let payload = Self.payload(
        of: game, named: name, text: prefix + text(name), user: user, badge: badge)
      if payload.count <= Self.largestPayload {
        self.init(collapseID: collapseID, payload: payload, lifetime: Self.day)
        return
      }
      // The payload holds the name at most twice, and a scalar takes at most six bytes each time.
      most -= max(1, (payload.count - Self.largestPayload) / 12)
    }
  }

  private static func payload(
    of game: TurnGame, named name: String, text: String, user: Int64, badge: Int64
  ) -> [UInt8] {
    JSONWriter.object { json in
      json.member(
        "aps",
        object: { aps in
          aps.member("alert", text)
          aps.member("badge", badge)
          aps.member("sound", "default")
        })
      json.member("web_url", "https://online-go.com/game/\(game.id)")
      json.member("app_url", "ogs://game/\(game.id)")
      json.member("game_id", game.id)
      json.member("user_id", String(user))
      json.member("action", "open_game")
      json.member("game_name", name)
    }
  }
}

extension [TurnGame] {
  /// Names these games and their moves, in 32 characters.
  fileprivate var marks: String {
    let moves = map { "\($0.id):\($0.lastMove)" }.sorted().joined(separator: " ")
    return hexEncoded([UInt8](sha256(moves).prefix(16)))
  }
}

import Base
import Cryptography
import Store

extension TurnMessage {
  /// Maximum size in bytes. The limit for browsers is lower than those of Apple and Google.
  private static let largestPayload = WebPushKeys.maximumContentSize
  private static let day = Duration.seconds(86_400)

  /// Text of an alert, and how devices handle it.
  private struct Alert {
    /// Name of the app's group of actions.
    let category: String
    /// A device groups alerts by thread.
    let thread: String
    /// Whether the alert breaks through a Focus.
    let isUrgent: Bool
    let text: TurnTexts.Named
  }

  /// The notification of an event.
  ///
  /// A device shows only the newest notification with the same collapse id. So the id names one
  /// game, or several games with their moves, and no notification hides a game that still waits.
  ///
  /// - Parameter prefix: prefix of the text, such as `[dev] `.
  init(of event: Event, to reader: Reader, prefix: String) {
    let user = reader.userID ?? 0
    let texts = TurnTexts(in: reader.language)
    switch event {
    case .turns(let games, let isUrgent):
      precondition(!games.isEmpty, "there is something to tell")
      let isOne = games.count == 1
      let several: TurnTexts.Named = { _ in texts.turns(games.count) }
      self.init(
        collapseID: isOne ? "turn-\(user)-\(games[0].id)" : "turns-\(user)-\(games.marks)",
        about: games,
        Alert(
          category: "turn", thread: isOne ? "game-\(games[0].id)" : "games", isUrgent: isUrgent,
          text: isOne ? texts.turn : several),
        to: reader, prefix: prefix)
    case .clock(let game):
      self.init(
        collapseID: "clock-\(user)-\(game.id)", about: [game],
        Alert(
          category: "clock", thread: "game-\(game.id)", isUrgent: true, text: texts.clock),
        to: reader, prefix: prefix)
    case .ended(let game):
      self.init(
        collapseID: "ended-\(user)-\(game.id)", about: [game],
        Alert(
          category: "game_ended", thread: "game-\(game.id)", isUrgent: false, text: texts.ended),
        to: reader, prefix: prefix)
    case .badge:
      self.init(
        collapseID: "badge",
        payload: JSONWriter.object { json in
          json.member("aps", object: { aps in aps.member("badge", reader.badge) })
        }, lifetime: Self.day)
    case .removal(let alerts): self.init(removing: alerts, badge: reader.badge)
    }
  }

  /// A notification that wakes the app, which removes the alerts.
  private init(removing alerts: [RemovedAlert], badge: Int64) {
    let ids = alerts.map { "\($0.collapseID):\($0.lastMove)" }.joined(separator: " ")
    self.init(
      collapseID: "removal-\(hexEncoded([UInt8](sha256(ids).prefix(16))))",
      payload: JSONWriter.object { json in
        json.member(
          "aps",
          object: { aps in
            aps.member("content-available", 1 as Int64)
            aps.member("badge", badge)
          })
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
      }, lifetime: Self.day)
  }

  /// Shortens the name of the first game until the payload fits, cutting between Unicode scalars.
  private init(
    collapseID: String, about games: [TurnGame], _ alert: Alert, to reader: Reader, prefix: String
  ) {
    let scalars = games[0].name.unicodeScalars
    var most = scalars.count
    while true {
      let payload = Self.payload(
        of: games, named: String(scalars.prefix(most)), alert, to: reader, prefix: prefix)
      if payload.count <= Self.largestPayload {
        self.init(collapseID: collapseID, payload: payload, lifetime: Self.day)
        return
      }
      // The payload holds the name at most twice, and a scalar takes at most six bytes each time.
      most -= max(1, (payload.count - Self.largestPayload) / 12)
    }
  }

  private static func payload(
    of games: [TurnGame], named name: String, _ alert: Alert, to reader: Reader, prefix: String
  ) -> [UInt8] {
    let game = games[0]
    return JSONWriter.object { json in
      json.member(
        "aps",
        object: { aps in
          aps.member("alert", prefix + alert.text(name))
          aps.member("badge", reader.badge)
          aps.member("sound", "default")
          aps.member("thread-id", alert.thread)
          aps.member("category", alert.category)
          if alert.isUrgent { aps.member("interruption-level", "time-sensitive") }
        })
      json.member("web_url", "https://online-go.com/game/\(game.id)")
      json.member("app_url", "ogs://game/\(game.id)")
      json.member("game_id", game.id)
      json.member("user_id", String(reader.userID ?? 0))
      json.member("action", "open_game")
      json.member("game_name", name)
      json.member("last_move", games.map(\.lastMove).max() ?? 0)
    }
  }
}

extension [TurnGame] {
  /// Hash of the games and their moves, 32 characters.
  fileprivate var marks: String {
    let moves = map { "\($0.id):\($0.lastMove)" }.sorted().joined(separator: " ")
    return hexEncoded([UInt8](sha256(moves).prefix(16)))
  }
}

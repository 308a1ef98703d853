import Base
import Store

extension TurnMessage {
  /// Apple's limit, in bytes.
  private static let largestPayload = 4096

  /// One notification of all the turns that are new. The first of them supplies the name and the links.
  ///
  /// - Parameter prefix: stands before the text, such as `[dev] `.
  init(of turns: [TurnGame], to userID: Int64, prefix: String) {
    precondition(!turns.isEmpty, "there is something to tell")
    self.init(
      collapseID: "turns-\(userID)", payload: Self.payload(of: turns, prefix: prefix),
      lifetime: .seconds(86_400))
  }

  /// The payload with as much of the game's name as fits, cut between Unicode scalars.
  private static func payload(of turns: [TurnGame], prefix: String) -> [UInt8] {
    let scalars = turns[0].name.unicodeScalars
    var most = scalars.count
    while true {
      let name = String(scalars.prefix(most))
      let payload = payload(of: turns, named: name, prefix: prefix)
      if payload.count <= largestPayload { return payload }
      // The payload holds the name at most twice, and a scalar takes at most six bytes each time.
      most -= max(1, (payload.count - largestPayload) / 12)
    }
  }

  private static func payload(
    of turns: [TurnGame], named name: String, prefix: String
  ) -> [UInt8] {
    let text =
      turns.count == 1
      ? "It's your turn in: \(name)" : "It's your turn in \(turns.count) games"
    return JSONWriter.object { json in
      json.member(
        "aps",
        object: { aps in
          aps.member("alert", prefix + text)
          aps.member("badge", Int64(turns.count))
          aps.member("sound", "default")
        })
      json.member("web_url", "https://online-go.com/game/\(turns[0].id)")
      json.member("app_url", "ogs://game/\(turns[0].id)")
      json.member("game_id", turns[0].id)
      json.member("action", "open_game")
      json.member("game_name", name)
    }
  }
}

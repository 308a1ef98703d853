import Base
import Foundation
import Support
import Testing

/// A player of online-go.com with an API key.
struct Player: Sendable {
  let userID: Int64
  let key: String

  var header: String { "X-API-Key: \(key)" }
}

extension Site {
  /// Issues a key, like the administrator.
  func issueKey(for userID: Int64) throws -> Player {
    let masterKey = try String(contentsOfFile: "\(state)/secrets/master-api-key", encoding: .utf8)
    let answer = post(
      "/generate-api-key", #"{"user_id":"\#(userID)","master_key":"\#(masterKey.trimmed)"}"#)
    try #require(answer.status == 200, "\(answer.body)")
    return Player(userID: userID, key: try answer.string("api_key"))
  }

  /// Writes a game of `player` again, which counts as a move.
  func write(_ game: String, as id: Int, of player: Player) throws {
    let folder = "\(state)/ogs/\(player.userID)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try game.write(toFile: "\(folder)/\(id)", atomically: true, encoding: .utf8)
  }

  /// Polls `player` twice, so that the result of the first poll is sent.
  func pollTwice(_ player: Player) throws {
    for _ in 1...2 {
      let polled = "SELECT checked_at FROM ogs_users WHERE id = \(player.userID)"
      let before = try sql(polled)
      _ = try sql("UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3)")
      try wait(for: "a poll of \(player.userID)") { try sql(polled) != before }
    }
  }

  /// The pushes that APNs has accepted, in order.
  func pushes() throws -> [Push] {
    try String(contentsOfFile: "\(state)/apns/received.jsonl", encoding: .utf8).split(
      separator: "\n"
    )
    .map { try JSONDecoder().decode(Push.self, from: Data($0.utf8)) }
  }

  /// The result of a query by the administrator's account: one line per row.
  func administrator(_ query: String) throws -> String {
    let outcome = Self.run([
      "mariadb", "--defaults-file=\(state)/administrator.cnf", "--batch", "--skip-column-names",
      "--execute=\(query)", "switchboard",
    ])
    try #require(outcome.status == 0, "\(outcome.output)")
    return outcome.output.trimmed
  }
}

struct Push: Decodable {
  let token: String
  let topic: String
  /// A device shows only one notification per collapse id.
  let collapseID: String
  let payload: String
  let status: Int
}

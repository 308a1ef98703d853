import Foundation
import Store
import Support
import Testing

@testable import Delivery

@Suite struct TurnMessageTests {
  private func game(_ id: Int64, _ name: String) -> TurnGame {
    TurnGame(id: id, name: name, lastMove: 1, currentPlayer: 7, isRunning: true)
  }

  private func object(_ bytes: [UInt8]) throws -> NSDictionary {
    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary)
  }

  @Test(arguments: [
    ("one_game_environment_dev", 1, "[dev] "), ("one_game_environment_none", 1, ""),
    ("three_games_environment_staging", 3, "[staging] "),
  ])
  func thePayloadIsThatOfTheContract(name: String, count: Int, prefix: String) throws {
    let all = try object(Array(try fixture("turns/push_payloads.json").utf8))
    let games = [game(79_504_463, "test game"), game(2, "b"), game(3, "c")].prefix(count)
    let message = TurnMessage(of: Array(games), to: 1_783_478, prefix: prefix)
    #expect(try object(message.payload) == all[name] as? NSDictionary)
    #expect(message.collapseID == "turns-1783478")
  }

  @Test(arguments: ["x", "é", "🎉", "\u{1}", "\"", "👨‍👩‍👧‍👦"])
  func aLongNameIsCutSoThatThePayloadFits(scalar: String) throws {
    let name = String(repeating: scalar, count: 5000)
    for prefix in ["", "[" + String(repeating: "p", count: 40) + "] "] {
      let message = TurnMessage(of: [game(.max, name)], to: .max, prefix: prefix)
      #expect(message.payload.count <= 4096)
      let payload = try object(message.payload)
      let cut = try #require(payload["game_name"] as? String)
      #expect(cut.unicodeScalars.count >= 300)
      #expect(name.unicodeScalars.starts(with: cut.unicodeScalars))
      let aps = try #require(payload["aps"] as? [String: Any])
      #expect(aps["alert"] as? String == "\(prefix)It's your turn in: \(cut)")
    }
    #expect(TurnMessage(of: [game(.max, name)], to: .max, prefix: "").collapseID.utf8.count <= 64)
  }

  @Test func manyGamesMakeOneMessage() throws {
    let games = (1...500).map { game($0, String(repeating: "🎉", count: 500)) }
    let message = TurnMessage(of: games, to: 7, prefix: "")
    #expect(message.payload.count <= 4096)
    let aps = try #require(try object(message.payload)["aps"] as? [String: Any])
    #expect(aps["alert"] as? String == "It's your turn in 500 games")
    #expect(aps["badge"] as? Int == 500)
  }
}

import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The parts of online-go.com's answers that are read.
@Suite struct SeenGamesTests {
  private func seen(_ body: String, of user: Int64 = 7) throws -> SeenGames {
    try SeenGames(ofPlayer: Array(body.utf8), for: user)
  }

  /// Ids of the new turns of `user`.
  private func turns(_ body: String, of user: Int64) throws -> [Int64] {
    Turns(in: try seen(body, of: user).games, of: user) { _ in 0 }.new.map(\.id)
  }

  /// A recorded game as the one active game.
  private func recorded(_ name: String) throws -> String {
    let file = try JSONSerialization.jsonObject(with: Data(try fixture("ogs/\(name).json").utf8))
    let game = try #require((file as? [String: Any])?["gamedata"] as? [String: Any])
    let id = try #require(game["game_id"] as? Int)
    let player: [String: Any] = ["active_games": [["id": id, "name": "n", "json": game]]]
    return String(decoding: try JSONSerialization.data(withJSONObject: player), as: UTF8.self)
  }

  @Test(arguments: [
    ("gamedata-25291907-play", 910_007, [25_291_907], 1),
    ("gamedata-25291907-play", 910_008, [], 1),
    ("gamedata-26268404-play", 910_012, [26_268_404], 1),
    ("gamedata-26268404-play", 910_013, [], 1),
    ("gamedata-25758368-finished", 910_009, [], 0),
    ("gamedata-27053412-stone-removal", 910_001, [], 1),
    ("gamedata-27053412-stone-removal", 910_015, [], 1),
  ])
  func aRecordedGameIsATurnOnlyInPlay(name: String, user: Int64, expected: [Int64], active: Int)
    throws
  {
    #expect(try turns(recorded(name), of: user) == expected)
    #expect(try seen(recorded(name)).games.count == active)
  }

  @Test(arguments: [
    ("1", true), ("3599", true), ("3600", false), ("86400", false), ("null", false),
  ])
  func aGameOfLessThanAnHourForAMoveIsLive(time: String, isLive: Bool) throws {
    let game =
      #"{"id":5,"time_per_move":\#(time),"json":{"phase":"play","clock":{"current_player":7,"last_move":1}}}"#
    let seen = try seen(#"{"active_games":[\#(game)]}"#)
    #expect(seen.live == (isLive ? [5] : []))
  }

  @Test func gamesAreReadInTheOrderOfTheAnswer() throws {
    #expect(try turns(fixture("ogs/players_full_one_turn.json"), of: 1_783_478) == [79_504_463])
    let three = try fixture("ogs/players_full_three_turns.json")
    #expect(try turns(three, of: 1_783_478) == [79_504_463, 79_505_111, 79_505_222])
    #expect(try seen(three).games.map(\.id).first == 79_504_999)
    #expect(try seen(three).games[2].name == #"친선 대국 "quoted" & <b>bold</b> 🎉"#)
    #expect(try seen(three).games[1].lastMove == 1_758_474_319_701)
    #expect(try seen(fixture("ogs/players_full_no_games.json")).games == [])
  }

  @Test(arguments: [
    (#""pause_control":null"#, true), (#""pause_control":{}"#, true),
    (#""pause_control":{"weekend":true}"#, false), (#""pause_control":{"system":true}"#, false),
    (#""pause_control":{"vacation-7":true}"#, false),
    (#""pause_control":{"stone-removal":true}"#, false),
    (#""pause_control":{"paused":{"pausing_player_id":8,"pauses_left":4}}"#, false),
    (#""pause_control":{"moderator_paused":{"moderator_id":1}}"#, false),
    (#""paused_since":1757000000000"#, true),
    (#""rengo":true,"rengo_teams":{"black":[{"id":7}]}"#, true),
  ])
  func anyKeyOfPauseControlIsAPause(member: String, isTurn: Bool) throws {
    #expect(try turns(full([FakeGame(more: ",\(member)")]), of: 7) == (isTurn ? [1] : []))
  }

  @Test(arguments: [
    (#""pause":{"paused":true}"#, false), (#""pause":{"paused":false,"pause_control":{}}"#, true),
    (#""pause":{"pause_control":{"weekend":true}}"#, false), (#""paused_since":1"#, true),
    (#""start_mode":true,"expiration":30000"#, true),
  ])
  func aPauseInTheClockIsSeen(member: String, isTurn: Bool) throws {
    #expect(try turns(full([FakeGame(clock: ",\(member)")]), of: 7) == (isTurn ? [1] : []))
  }

  @Test(arguments: [
    ("1758474319701", 1_758_474_319_701), ("1758474319701.999", 1_758_474_319_701),
    ("1.758474319701e12", 1_758_474_319_701), ("253402300799999", 253_402_300_799_999), ("0", 0),
    ("9007199254740993", nil), ("9223372036854775807", nil), ("-5", nil),
  ])
  func aMoveIsOfTheYears1970To9999(text: String, value: Int64?) throws {
    #expect(try seen(full([FakeGame(lastMove: text)])).games.first?.lastMove == value)
  }

  @Test(arguments: [9_007_199_254_740_993, Int.max])
  func idsKeepTheir64Bits(id: Int) throws {
    #expect(try seen(full([FakeGame(id: id)])).games.first?.id == Int64(id))
  }

  @Test(arguments: [
    #"{"id":2}"#, #"{"id":2,"json":null}"#, #"{"id":2,"json":{"phase":"play"}}"#,
    #"{"id":2,"json":{"phase":"play","clock":[]}}"#,
    #"{"id":2,"json":{"phase":7,"clock":{"last_move":1,"current_player":7}}}"#,
    #"{"id":2,"json":{"phase":"play","clock":{"current_player":7,"last_move":"soon"}}}"#,
    #"{"id":2,"json":{"phase":"play","clock":{"current_player":7,"last_move":1e99}}}"#,
  ])
  func anUnreadableGameDoesNotStopTheOthers(broken: String) throws {
    let seen = try seen(full([FakeGame(id: 1).json, broken, FakeGame(id: 3).json]))
    #expect(seen.games.map(\.id) == [1, 3])
    #expect(seen.unreadable == [2])
    #expect(seen.isWhole)
  }

  @Test(arguments: [
    "null", "3", #""x""#, "[]", "{}", #"{"id":"1"}"#, #"{"id":-1}"#, #"{"id":9223372036854775808}"#,
  ])
  func aGameWithoutAnIDMakesTheListIncomplete(broken: String) throws {
    let seen = try seen(full([broken, FakeGame(id: 3).json]))
    #expect(seen.games.map(\.id) == [3])
    #expect(!seen.isWhole)
  }

  @Test func withoutAPlayerItIsNobodysTurn() throws {
    for player in ["null", "0", "-7", #""7""#, "7.5e99"] {
      let seen = try seen(full([FakeGame(player: player)]))
      #expect(seen.games.first?.currentPlayer == 0, "\(player)")
    }
  }

  @Test(arguments: [
    (#"a\u00e9\"\\\/"#, "a\u{e9}\"\\/"), (#"\ud83c\udf89"#, "🎉"), (#"\ud83c"#, "\u{fffd}"),
    (#"\ud83cx"#, "\u{fffd}x"), (#"\udc00"#, "\u{fffd}"), ("🎉", "🎉"), ("<b>&", "<b>&"),
    (#"a\nb\u202ec"#, "a\u{fffd}b\u{fffd}c"),
  ])
  func aNameIsAnyText(written: String, name: String) throws {
    #expect(try seen(full([FakeGame(name: written)])).games.first?.name == name)
  }

  @Test func aGameWithoutANameTakesAnotherName() throws {
    let named = FakeGame(name: "", more: #","game_name":"other""#)
    #expect(try seen(full([named])).games.first?.name == "other")
    let titled = FakeGame(name: "", clock: #","title":"title""#)
    #expect(try seen(full([titled])).games.first?.name == "title")
    #expect(try seen(full([FakeGame(name: "")])).games.first?.name == "Game 1")
  }

  @Test(arguments: [
    "", "null", "[]", "{", "{}", #"{"active_games":null}"#, #"{"active_games":{}}"#,
    #"{"active_games":[}"#, #"{"active_games":[]} x"#, #"{"active_games":[],}"#,
    #"{"active_games":[] "a":1}"#, #"{"active_games":[{"id":1]}]}"#, #"{"active_games":["a}"#,
    #"{"active_games":[{"id":1}{"id":2}]}"#, #"{"a":@,"active_games":[]}"#, #"{"active_games"}"#,
    #"{active_games:[]}"#, #"{"active_games":[]"#, "<html></html>",
    #"{"x":[1}2],"active_games":[]}"#,
  ])
  func otherAnswersAreMalformed(body: String) {
    #expect(throws: JSONReader.Failure.malformed) { try seen(body) }
  }

  @Test func theDepthIsLimited() throws {
    func nested(_ depth: Int) -> String {
      let (open, close) = (
        String(repeating: "[", count: depth), String(repeating: "]", count: depth)
      )
      return #"{"x":\#(open)\#(close),"active_games":[]}"#
    }
    #expect(try seen(nested(63)).games == [])
    #expect(throws: JSONReader.Failure.tooDeep) { try seen(nested(64)) }
    #expect(throws: JSONReader.Failure.tooDeep) { try seen(nested(100_000)) }
    #expect(throws: JSONReader.Failure.tooDeep) {
      try seen(String(repeating: "{\"a\":", count: 1_000_000))
    }
  }

  /// Cut or changed bytes of a real answer do not crash the reader.
  @Test func noBytesCrashTheReader() throws {
    let body = Array(try fixture("ogs/players_full_one_turn.json").utf8)
    for end in stride(from: 0, to: body.count - 2, by: 7) {
      #expect(throws: JSONReader.Failure.malformed) {
        try SeenGames(ofPlayer: Array(body[..<end]), for: 7)
      }
    }
    var random = SystemRandomNumberGenerator()
    for _ in 0..<3000 {
      var changed = body
      for _ in 0..<4 { changed[Int.random(in: 0..<body.count, using: &random)] = random.next() }
      _ = try? SeenGames(ofPlayer: changed, for: 7)
    }
  }

  @Test func aGameListedTwiceCountsOnce() throws {
    let seen = try seen(full([FakeGame(id: 1, lastMove: "5"), FakeGame(id: 1, lastMove: "9")]))
    #expect(seen.games.map(\.lastMove) == [5])
  }
}

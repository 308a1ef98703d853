import Base
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
    let message = TurnMessage(
      of: .turns(Array(games), isUrgent: false),
      to: TurnMessage.Reader(1_783_478, badge: Int64(count)), prefix: prefix)
    var expected = try #require(all[name] as? [String: Any])
    let aps = try #require(expected["aps"] as? [String: Any])
    let thread = count == 1 ? "game-79504463" : "games"
    expected["aps"] = aps.merging(["thread-id": thread, "category": "turn"]) { $1 }
    let more: [String: Any] = ["user_id": "1783478", "last_move": 1]
    #expect(
      try object(message.payload) == expected.merging(more) { $1 } as NSDictionary)
  }

  @Test(arguments: ["x", "é", "🎉", "\u{1}", "\"", "👨‍👩‍👧‍👦"])
  func aLongNameIsCutSoThatThePayloadFits(scalar: String) throws {
    let name = String(repeating: scalar, count: 5000)
    for prefix in ["", "[" + String(repeating: "p", count: 40) + "] "] {
      let message = TurnMessage(
        of: .turns([game(.max, name)], isUrgent: true),
        to: TurnMessage.Reader(.max, badge: .max), prefix: prefix)
      #expect(message.payload.count <= 3993)
      let payload = try object(message.payload)
      let cut = try #require(payload["game_name"] as? String)
      #expect(cut.unicodeScalars.count >= 290)
      #expect(name.unicodeScalars.starts(with: cut.unicodeScalars))
      let aps = try #require(payload["aps"] as? [String: Any])
      #expect(aps["alert"] as? String == "\(prefix)It's your turn in: \(cut)")
      #expect(message.collapseID.utf8.count <= 64)
    }
  }

  @Test func manyGamesMakeOneMessage() throws {
    let games = (1...500).map { game($0, String(repeating: "🎉", count: 500)) }
    let message = TurnMessage(
      of: .turns(games, isUrgent: false), to: TurnMessage.Reader(7, badge: 501), prefix: "")
    #expect(message.payload.count <= 3993)
    let aps = try #require(try object(message.payload)["aps"] as? [String: Any])
    #expect(aps["alert"] as? String == "It's your turn in 500 games")
    #expect(aps["badge"] as? Int == 501)
    #expect(message.collapseID.utf8.count <= 64)
  }

  /// A device shows only the newest notification with a collapse id.
  @Test func noNotificationHidesAnotherGame() {
    func collapseID(_ event: TurnMessage.Event, to user: Int64 = 7) -> String {
      TurnMessage(of: event, to: TurnMessage.Reader(user, badge: 1), prefix: "").collapseID
    }
    let moved = TurnGame(id: 1, name: "a", lastMove: 2, currentPlayer: 7, isRunning: true)
    let one = game(1, "a")
    let ids = [
      collapseID(turns([one])), collapseID(turns([game(2, "b")])),
      collapseID(turns([one]), to: 8),
      collapseID(turns([one, game(2, "b")])), collapseID(turns([one, game(3, "c")])),
      collapseID(turns([moved, game(2, "b")])), collapseID(.clock(one)), collapseID(.ended(one)),
      collapseID(.badge),
      collapseID(.removal([TurnMessage.RemovedAlert(collapseID: "turn-7-1", lastMove: 1)])),
      collapseID(.removal([TurnMessage.RemovedAlert(collapseID: "turn-7-1", lastMove: 2)])),
    ]
    #expect(Set(ids).count == ids.count)
    // The next turn of the same game replaces the earlier one.
    #expect(collapseID(turns([moved])) == ids[0])
  }

  private func turns(_ games: [TurnGame]) -> TurnMessage.Event { .turns(games, isUrgent: false) }

  @Test func aBadgeAloneShowsAndSoundsNothing() throws {
    let message = TurnMessage(
      of: .badge, to: TurnMessage.Reader(nil, badge: 0), prefix: "[dev] ")
    #expect(String(decoding: message.payload, as: UTF8.self) == #"{"aps":{"badge":0}}"#)
  }

  @Test(arguments: [("clock", "Less than an hour left in: a"), ("ended", "Game over: a")])
  func otherEventsHaveTheirWords(kind: String, text: String) throws {
    let event: TurnMessage.Event = kind == "clock" ? .clock(game(1, "a")) : .ended(game(1, "a"))
    let message = TurnMessage(
      of: event, to: TurnMessage.Reader(7, badge: 3), prefix: "[dev] ")
    let aps = try #require(try object(message.payload)["aps"] as? [String: Any])
    #expect(aps["alert"] as? String == "[dev] " + text)
    #expect(aps["badge"] as? Int == 3)
  }

  @Test(arguments: [
    (Language.german, "Sie sind am Zug: a", "Sie sind in 2 Partien am Zug"),
    (.french, "C’est à vous de jouer : a", "C’est à vous de jouer dans 2 parties"),
    (.spanish, "Es su turno en: a", "Es su turno en 2 partidas"),
    (.persian, "نوبت شماست: \u{2068}a\u{2069}", "در 2 بازی نوبت شماست"),
  ])
  func textsAreInTheLanguageOfTheDevice(language: Language, one: String, two: String) throws {
    let reader = TurnMessage.Reader(7, badge: 1, language: language)
    for (games, text) in [([game(1, "a")], one), ([game(1, "a"), game(2, "b")], two)] {
      let message = TurnMessage(of: turns(games), to: reader, prefix: "[dev] ")
      let aps = try #require(try object(message.payload)["aps"] as? [String: Any])
      #expect(aps["alert"] as? String == "[dev] " + text)
    }
  }

  @Test(
    arguments: [
      (TurnMessage.Event.turns([], isUrgent: false), nil), (.turns([], isUrgent: true), "turn"),
      (.clock(TurnGame(id: 1, name: "a", lastMove: 1, currentPlayer: 7, isRunning: true)), "clock"),
    ] as [(TurnMessage.Event, String?)])
  func onlyAShortClockIsTimeSensitive(given: TurnMessage.Event, category: String?) throws {
    let event =
      if case .turns(_, let isUrgent) = given {
        TurnMessage.Event.turns([game(1, "a")], isUrgent: isUrgent)
      } else {
        given
      }
    let message = TurnMessage(of: event, to: TurnMessage.Reader(7, badge: 1), prefix: "")
    let aps = try #require(try object(message.payload)["aps"] as? [String: Any])
    #expect(aps["interruption-level"] as? String == category.map { _ in "time-sensitive" })
    #expect(aps["category"] as? String == category ?? "turn")
    #expect(aps["thread-id"] as? String == "game-1")
  }

  @Test func aRemovalNamesTheNotifications() throws {
    let alerts = (1...30).map {
      TurnMessage.RemovedAlert(
        collapseID: String(repeating: "c", count: 64), lastMove: .max - Int64($0))
    }
    let message = TurnMessage(
      of: .removal(alerts), to: TurnMessage.Reader(nil, badge: 2), prefix: "[dev] ")
    #expect(message.payload.count <= 3993)
    #expect(message.collapseID.utf8.count <= 64)
    let payload = try object(message.payload)
    #expect(payload["aps"] as? NSDictionary == ["content-available": 1, "badge": 2])
    #expect(payload["action"] as? String == "remove_notifications")
    let named = try #require(payload["notifications"] as? [[String: Any]])
    #expect(named.count == 30)
    #expect(named[0]["id"] as? String == alerts[0].collapseID)
    #expect(named[0]["last_move"] as? Int64 == alerts[0].lastMove)
  }
}

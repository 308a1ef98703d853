import Base
import Foundation
import Support
import Testing

@testable import Delivery
@testable import Store

@Suite struct TurnMessageTests {
  private func game(_ id: Int64, _ name: String) -> TurnGame {
    TurnGame(id: id, name: name, lastMove: 1, currentPlayer: 7, isRunning: true)
  }

  private func object(_ bytes: [UInt8]) throws -> NSDictionary {
    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary)
  }

  private func message(
    of event: TurnEvent, to user: Int64 = 7, badge: Int64 = 1, in language: Language = .english,
    prefix: String = ""
  ) -> NotificationContent {
    NotificationContent(of: event, to: user, badge: badge, in: language, prefix: prefix)
  }

  @Test(arguments: [
    ("one_game_environment_dev", 1, "[dev] "), ("one_game_environment_none", 1, ""),
    ("three_games_environment_staging", 3, "[staging] "),
  ])
  func thePayloadIsThatOfTheContract(name: String, count: Int, prefix: String) throws {
    let all = try object(Array(try fixture("turns/push_payloads.json").utf8))
    let games = [game(79_504_463, "test game"), game(2, "b"), game(3, "c")].prefix(count)
    let message = message(
      of: turns(Array(games)), to: 1_783_478, badge: Int64(count), prefix: prefix)
    var expected = try #require(all[name] as? [String: Any])
    let aps = try #require(expected["aps"] as? [String: Any])
    let thread = count == 1 ? "game-79504463" : "games"
    expected["aps"] = aps.merging(["thread-id": thread, "category": "turn"]) { $1 }
    let more: [String: Any] = ["user_id": "1783478", "last_move": 1]
    #expect(
      try object(message.apnsPayload) == expected.merging(more) { $1 } as NSDictionary)
  }

  @Test(arguments: ["x", "é", "🎉", "\u{1}", "\"", "👨‍👩‍👧‍👦"])
  func aLongNameIsCutSoThatThePayloadFits(scalar: String) throws {
    let name = String(repeating: scalar, count: 5000)
    for prefix in ["", "[" + String(repeating: "p", count: 40) + "] "] {
      let message = message(
        of: .turns([game(.max, name)], isUrgent: true), to: .max, badge: .max, prefix: prefix)
      #expect(message.apnsPayload.count <= 3993)
      let payload = try object(message.apnsPayload)
      let cut = try #require(payload["game_name"] as? String)
      #expect(cut.unicodeScalars.count >= 290)
      #expect(name.unicodeScalars.starts(with: cut.unicodeScalars))
      let aps = try #require(payload["aps"] as? [String: Any])
      #expect(aps["alert"] as? String == "\(prefix)It's your turn in: \(cut)")
      #expect(message.collapseID!.utf8.count <= 64)
      for language in Language.allCases {
        let warning = self.message(
          of: .clock(game(.max, name)), to: .max, badge: .max, in: language, prefix: prefix)
        #expect(warning.apnsPayload.count <= 3993)
      }
    }
  }

  @Test func manyGamesMakeOneMessage() throws {
    let games = (1...500).map { game($0, String(repeating: "🎉", count: 500)) }
    let message = message(of: turns(games), badge: 501)
    #expect(message.apnsPayload.count <= 3993)
    let aps = try #require(try object(message.apnsPayload)["aps"] as? [String: Any])
    #expect(aps["alert"] as? String == "It's your turn in 500 games")
    #expect(aps["badge"] as? Int == 501)
    #expect(message.collapseID!.utf8.count <= 64)
  }

  /// A device shows only the newest notification with a collapse id.
  @Test func noNotificationHidesAnotherGame() {
    func collapseID(_ event: TurnEvent, to user: Int64 = 7) -> String? {
      message(of: event, to: user).collapseID
    }
    func collapseID(removing move: Int64) -> String? {
      NotificationContent.removal(
        of: [RemovedAlert(collapseID: "turn-7-1", lastMove: move)], badge: 1
      ).collapseID
    }
    let moved = TurnGame(id: 1, name: "a", lastMove: 2, currentPlayer: 7, isRunning: true)
    let one = game(1, "a")
    let ids = [
      collapseID(turns([one])), collapseID(turns([game(2, "b")])),
      collapseID(turns([one]), to: 8),
      collapseID(turns([one, game(2, "b")])), collapseID(turns([one, game(3, "c")])),
      collapseID(turns([moved, game(2, "b")])), collapseID(.clock(one)), collapseID(.ended(one)),
      NotificationContent.badge(1).collapseID, collapseID(removing: 1), collapseID(removing: 2),
    ]
    #expect(Set(ids).count == ids.count)
    // The next turn of the same game replaces the earlier one.
    #expect(collapseID(turns([moved])) == ids[0])
  }

  private func turns(_ games: [TurnGame]) -> TurnEvent { .turns(games, isUrgent: false) }

  @Test func aBadgeAloneShowsAndSoundsNothing() throws {
    let payload = NotificationContent.badge(0).apnsPayload
    #expect(String(decoding: payload, as: UTF8.self) == #"{"aps":{"badge":0}}"#)
  }

  @Test(arguments: [("clock", "Less than an hour left in: a"), ("ended", "Game over: a")])
  func otherEventsHaveTheirWords(kind: String, text: String) throws {
    let event: TurnEvent = kind == "clock" ? .clock(game(1, "a")) : .ended(game(1, "a"))
    let message = message(of: event, badge: 3, prefix: "[dev] ")
    let aps = try #require(try object(message.apnsPayload)["aps"] as? [String: Any])
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
    for (games, text) in [([game(1, "a")], one), ([game(1, "a"), game(2, "b")], two)] {
      let message = message(of: turns(games), in: language, prefix: "[dev] ")
      let aps = try #require(try object(message.apnsPayload)["aps"] as? [String: Any])
      #expect(aps["alert"] as? String == "[dev] " + text)
    }
  }

  @Test(
    arguments: [
      (TurnEvent.turns([], isUrgent: false), nil), (.turns([], isUrgent: true), "turn"),
      (.clock(TurnGame(id: 1, name: "a", lastMove: 1, currentPlayer: 7, isRunning: true)), "clock"),
    ] as [(TurnEvent, String?)])
  func onlyAShortClockIsTimeSensitive(given: TurnEvent, category: String?) throws {
    let event =
      if case .turns(_, let isUrgent) = given {
        TurnEvent.turns([game(1, "a")], isUrgent: isUrgent)
      } else {
        given
      }
    let aps = try #require(try object(message(of: event).apnsPayload)["aps"] as? [String: Any])
    #expect(aps["interruption-level"] as? String == category.map { _ in "time-sensitive" })
    #expect(aps["category"] as? String == category ?? "turn")
    #expect(aps["thread-id"] as? String == "game-1")
  }

  @Test func aRemovalNamesTheNotifications() throws {
    let alerts = (1...30).map {
      RemovedAlert(
        collapseID: String(repeating: "c", count: 64), lastMove: .max - Int64($0))
    }
    let message = NotificationContent.removal(of: alerts, badge: 2)
    #expect(message.apnsPayload.count <= 3993)
    #expect(message.collapseID!.utf8.count <= 64)
    let payload = try object(message.apnsPayload)
    #expect(payload["aps"] as? NSDictionary == ["content-available": 1, "badge": 2])
    #expect(payload["action"] as? String == "remove_notifications")
    let named = try #require(payload["notifications"] as? [[String: Any]])
    #expect(named.count == 30)
    #expect(named[0]["id"] as? String == alerts[0].collapseID)
    #expect(named[0]["last_move"] as? Int64 == alerts[0].lastMove)
  }
}

import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Notifications and rows of a poll.
@Suite(.serialized) struct PollTests {
  @Test func aTurnIsToldOnceToEachDeviceAfterOneFetch() throws {
    try withPolling { polling throws in
      try polling.register(devices: 2)
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.poll()
      #expect(polling.alerts == ["It's your turn in: game"])
      #expect(polling.site.count(7) == 1)
      #expect(
        polling.sql("SELECT token FROM deliveries ORDER BY token").split(separator: "\n").map(
          String.init)
          == Array(TestPolling.tokens.prefix(2)))
      #expect(polling.sql("SELECT COUNT(last_notified_at) FROM ogs_registrations") == "0")
      try polling.deliver()
      #expect(
        polling.sql(
          """
          SELECT COUNT(*) FROM ogs_registrations
          WHERE last_notified_at > UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE
          """) == "2")
      for _ in 0..<3 { try polling.poll() }
      #expect(polling.alerts.count == 1)
      #expect(polling.site.count(7) == 4)
      #expect(polling.site.agents == ["Switchboard/1.1.0 (+admin@example.org)"])
    }
  }

  @Test func eachGameHasItsOwnMark() throws {
    try withPolling { polling throws in
      try polling.register()
      let games = [
        FakeGame(id: 1, name: "one", lastMove: "5000"), FakeGame(id: 2, name: "two", player: "8"),
      ]
      polling.site.answer(7, .body(full(games)))
      try polling.poll()
      try polling.deliver()
      // A move in another game is new, even if it is earlier than the announced move.
      let second = FakeGame(id: 2, name: "two", lastMove: "3000")
      polling.site.answer(7, .body(full([games[0], second])))
      try polling.poll()
      #expect(polling.alerts == ["It's your turn in: one", "It's your turn in: two"])
      // The same move is not new; a later move is new.
      try polling.deliver()
      try polling.poll()
      let third = FakeGame(id: 2, name: "two", lastMove: "3001")
      polling.site.answer(7, .body(full([games[0], third])))
      try polling.poll()
      #expect(polling.alerts.count == 3)
      let undone = FakeGame(id: 2, name: "two", lastMove: "2000")
      polling.site.answer(7, .body(full([games[0], undone])))
      try polling.poll()
      #expect(polling.alerts.count == 3)
    }
  }

  @Test func severalTurnsMakeOneNotification() throws {
    try withPolling { polling throws in
      try polling.register(1_783_478)
      polling.site.answer(1_783_478, .body(try fixture("ogs/players_full_three_turns.json")))
      try polling.poll(polling.companion(prefix: "[dev] "))
      #expect(polling.alerts == ["[dev] It's your turn in 3 games"])
      #expect(
        polling.sql("SELECT JSON_VALUE(data, '$.game_id') FROM notifications") == "79504463")
      #expect(polling.sql("SELECT collapse_id LIKE 'turns-1783478-%' FROM notifications") == "1")
      #expect(
        polling.sql("SELECT name FROM ogs_games WHERE game_id = 79505111")
          == #"친선 대국 "quoted" & <b>bold</b> 🎉"#)
    }
  }

  @Test func aPausedGameIsToldWhenThePauseEnds() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame(more: #","pause_control":{"weekend":true}"#)])))
      try polling.poll()
      #expect(polling.alerts == [])
      polling.site.answer(
        7, .body(full([FakeGame(more: #","pause_control":{},"paused_since":9"#)])))
      try polling.poll()
      #expect(polling.alerts.count == 1)
    }
  }

  @Test func goneAndFinishedGamesAreDeleted() throws {
    try withPolling { polling throws in
      try polling.register()
      let games = (1...3).map { FakeGame(id: $0) }
      polling.site.answer(7, .body(full(games)))
      try polling.poll()
      var finished = games[1]
      finished.phase = #""finished""#
      polling.site.answer(7, .body(full([games[0], finished])))
      try polling.poll()
      #expect(polling.sql("SELECT game_id FROM ogs_games") == "1")
      #expect(polling.sql("SELECT active_games FROM ogs_users") == "1")
    }
  }

  @Test(arguments: [#"{"id":1,"json":null}"#, "null"])
  func anUnreadableGameKeepsItsMark(broken: String) throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame(id: 1)])))
      try polling.poll()
      try polling.deliver()
      polling.site.answer(7, .body(full([broken, FakeGame(id: 2, name: "other").json])))
      try polling.poll()
      polling.site.answer(7, .body(full([FakeGame(id: 1), FakeGame(id: 2, name: "other")])))
      try polling.poll()
      #expect(polling.alerts == ["It's your turn in: game", "It's your turn in: other"])
    }
  }

  /// A restored backup may lack the marks, but the outbox still has the event.
  @Test func theSameEventMakesNoSecondNotification() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.poll()
      _ = polling.sql("DELETE FROM ogs_games")
      try polling.poll()
      #expect(polling.alerts.count == 1)
      #expect(polling.sql("SELECT notified_move FROM ogs_games") == "1000")
    }
  }

  @Test func aNewRegistrationIsToldEveryTurnAgain() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.poll()
      try polling.deliver()
      _ = polling.sql("DELETE FROM ogs_registrations")
      try polling.poll()
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_users") == "0")
      #expect(polling.site.count(7) == 1)
      try polling.register()
      try polling.poll()
      #expect(polling.alerts.count == 2)
    }
  }

  @Test func aUserWhoUnregistersDuringAPollIsNotMarked() throws {
    try withPolling { polling throws in
      try polling.register()
      let polls = polling.polls
      let user = try #require(
        try polls.claim(limit: 1, as: "01890a5d-ac96-774b-bcce-b302099a9001").first)
      _ = polling.sql("DELETE FROM ogs_registrations")
      let seen = try SeenGames(ofPlayer: Array(full([FakeGame()]).utf8), for: 7)
      _ = try polls.recordGames(
        seen, entityTag: nil, of: user, pace: PollPace(interval: .seconds(30)),
        prefix: "")
      #expect(polling.alerts == [])
      #expect(polling.sql("SELECT notified_move FROM ogs_games") == "0")
    }
  }
}

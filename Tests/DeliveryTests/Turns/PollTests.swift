import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// What a poll tells, stores and schedules.
@Suite(.serialized) struct PollTests {
  @Test func aTurnIsToldOnceToEachDeviceByOneFetch() throws {
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
      #expect(
        polling.sql(
          """
          SELECT COUNT(*) FROM ogs_registrations
          WHERE last_notified_at > UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE
          """) == "2")
      for _ in 0..<3 { try polling.poll() }
      #expect(polling.alerts.count == 1)
      #expect(polling.site.count(7) == 4)
      #expect(polling.site.agents == ["Switchboard/1.0.0 (+admin@example.org)"])
    }
  }

  @Test func theMarkIsTheGamesOwn() throws {
    try withPolling { polling throws in
      try polling.register()
      let games = [
        FakeGame(id: 1, name: "one", lastMove: "5000"), FakeGame(id: 2, name: "two", player: "8"),
      ]
      polling.site.answer(7, .body(full(games)))
      try polling.poll()
      // An earlier move than the one told of, in another game, is news.
      let second = FakeGame(id: 2, name: "two", lastMove: "3000")
      polling.site.answer(7, .body(full([games[0], second])))
      try polling.poll()
      #expect(polling.alerts == ["It's your turn in: one", "It's your turn in: two"])
      // The same move is not; a newer one is.
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

  @Test func severalTurnsAreOneNotification() throws {
    try withPolling { polling throws in
      try polling.register(1_783_478)
      polling.site.answer(1_783_478, .body(try fixture("ogs/players_full_three_turns.json")))
      try polling.poll(polling.companion(prefix: "[dev] "))
      #expect(polling.alerts == ["[dev] It's your turn in 3 games"])
      #expect(
        polling.sql("SELECT JSON_VALUE(payload, '$.game_id') FROM notifications") == "79504463")
      #expect(polling.sql("SELECT collapse_id FROM notifications") == "turns-1783478")
      #expect(
        polling.sql("SELECT name FROM ogs_games WHERE game_id = 79505111")
          == #"친선 대국 "quoted" & <b>bold</b> 🎉"#)
    }
  }

  @Test func aPauseIsSilentAndItsEndIsTold() throws {
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

  @Test func whatIsGoneOrFinishedIsForgotten() throws {
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
  func aGameThatCannotBeReadKeepsItsMark(broken: String) throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame(id: 1)])))
      try polling.poll()
      polling.site.answer(7, .body(full([broken, FakeGame(id: 2, name: "other").json])))
      try polling.poll()
      polling.site.answer(7, .body(full([FakeGame(id: 1), FakeGame(id: 2, name: "other")])))
      try polling.poll()
      #expect(polling.alerts == ["It's your turn in: game", "It's your turn in: other"])
    }
  }

  /// The marks were lost, as by a restored backup: the outbox still knows the event.
  @Test func theSameEventIsNoSecondNotification() throws {
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

  @Test func aNewRegistrationHearsOfEveryTurnAgain() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.poll()
      _ = polling.sql("DELETE FROM ogs_registrations")
      try polling.poll()
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_users") == "0")
      #expect(polling.site.count(7) == 1)
      try polling.register()
      try polling.poll()
      #expect(polling.alerts.count == 2)
    }
  }

  @Test func whoeverUnregistersDuringThePollIsNotMarked() throws {
    try withPolling { polling throws in
      try polling.register()
      let database = polling.companion().database
      let user = try #require(
        try database.claimUsers(limit: 1, as: "01890a5d-ac96-774b-bcce-b302099a9001").first)
      _ = polling.sql("DELETE FROM ogs_registrations")
      let seen = try SeenGames(ofPlayer: Array(full([FakeGame()]).utf8))
      _ = try database.record(
        seen, entityTag: nil, of: user, pace: PollPace(interval: .seconds(30)), at: .now()
      ) { TurnMessage(of: $0, to: 7, prefix: "") }
      #expect(polling.alerts == [])
      #expect(polling.sql("SELECT notified_move FROM ogs_games") == "0")
    }
  }

  @Test func theIntervalStretchesToTenTimesWhileNothingMoves() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      var began = try polling.poll()
      #expect(polling.isDue(in: 30...30, since: began))
      for (idle, expected) in [(60, 30), (299, 30), (1000, 100), (2999, 299), (90_000, 300)] {
        _ = polling.sql(
          "UPDATE ogs_users SET moved_at = UTC_TIMESTAMP(3) - INTERVAL \(idle) SECOND")
        began = try polling.poll()
        #expect(polling.isDue(in: expected...expected + 1, since: began), "\(idle)")
      }
      polling.site.answer(7, .body(full([FakeGame(player: "8", lastMove: "2000")])))
      began = try polling.poll()
      #expect(polling.isDue(in: 30...30, since: began))
    }
  }

  @Test func whoIsNotDueIsNotPolled() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame]())))
      let companion = polling.companion()
      for _ in 0..<3 { try companion.poll(atMost: .seconds(60)) }
      #expect(polling.site.count(7) == 1)
    }
  }

  @Test func theRateRules() throws {
    try withPolling { polling throws in
      for user in 1...6 { try polling.register(Int64(user)) }
      polling.site.answerOthers(.body(full([FakeGame]())))
      let start = ContinuousClock.now
      try polling.poll(polling.companion(rate: 20))
      #expect(polling.site.total == 6)
      #expect(ContinuousClock.now - start >= .milliseconds(250))
    }
  }

  @Test func onePollUsesOneConnectionPackedAndTagged() throws {
    try withPolling { polling throws in
      for user in 1...20 { try polling.register(Int64(user)) }
      polling.site.answerOthers(.packed(full([FakeGame(player: "1")])))
      polling.site.answer(2, .tagged(full([FakeGame(player: "2")]), tag: #""v1""#))
      try polling.poll()
      #expect(polling.site.total == 20)
      #expect(polling.site.connections == 1)
      #expect(polling.alerts.count == 2)
      #expect(polling.sql("SELECT entity_tag FROM ogs_users WHERE id = 2") == #""v1""#)
      _ = polling.sql("UPDATE ogs_users SET checked_at = NULL")
      try polling.poll()
      #expect(polling.alerts.count == 2)
      #expect(
        polling.sql("SELECT COUNT(*) FROM ogs_users WHERE failures = 0 AND checked_at > 0") == "20")
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_games WHERE ogs_user_id = 2") == "1")
    }
  }

  @Test func twoCompanionsNeverPollOneUserAtOnce() throws {
    try withPolling { polling throws in
      for user in 1...40 { try polling.register(Int64(user)) }
      polling.site.answerOthers(.body(full([FakeGame(player: "9")])))
      let done = DispatchSemaphore(value: 0)
      for _ in 0..<4 {
        let companion = polling.companion()
        Thread.detachNewThread {
          do { try companion.poll(atMost: .seconds(60)) } catch { Issue.record(error) }
          done.signal()
        }
      }
      for _ in 0..<4 { done.wait() }
      #expect(polling.site.total == 40)
      #expect((1...40).allSatisfy { polling.site.count(Int64($0)) == 1 })
      #expect(!polling.site.hasOverlapped)
    }
  }

  @Test func aPollWhoseLeaseEndedWritesNothing() throws {
    try withPolling { polling throws in
      try polling.register()
      let database = polling.companion().database
      let (first, second) = (
        "01890a5d-ac96-774b-bcce-b302099a9001", "01890a5d-ac96-774b-bcce-b302099a9002"
      )
      let lost = try #require(try database.claimUsers(limit: 1, as: first).first)
      #expect(try database.claimUsers(limit: 1, as: second).isEmpty)
      _ = polling.sql("UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3)")
      _ = try #require(try database.claimUsers(limit: 1, as: second).first)
      let before = polling.sql("SELECT * FROM ogs_users")
      let seen = try SeenGames(ofPlayer: Array(full([FakeGame()]).utf8))
      let pace = PollPace(interval: .seconds(30))
      let turns = try database.record(seen, entityTag: nil, of: lost, pace: pace, at: .now()) {
        TurnMessage(of: $0, to: 7, prefix: "")
      }
      #expect(turns == nil)
      guard case .lost = try database.record(.gone, of: lost, pace: pace) else {
        Issue.record("a failure was recorded")
        return
      }
      #expect(polling.sql("SELECT * FROM ogs_users") == before)
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_games") == "0")
      #expect(polling.alerts == [])
    }
  }

  @Test func aPassPollsAndSaysSo() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.companion().pass()
      #expect(polling.alerts.count == 1)
      #expect(polling.sql("SELECT missing FROM companion_status") == "SWITCHBOARD_MAIL_COMMAND")
    }
  }
}

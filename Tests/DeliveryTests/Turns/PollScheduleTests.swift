import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The times of polls, and the companions that poll.
@Suite(.serialized) struct PollScheduleTests {
  @Test func theIntervalGrowsFourfoldWhileNothingMoves() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      var began = try polling.poll()
      #expect(polling.isDue(in: 30...30, since: began))
      for (idle, expected) in [(60, 30), (299, 30), (1000, 100), (1199, 119), (90_000, 120)] {
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

  @Test func usersWhoAreNotDueAreNotPolled() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame]())))
      let companion = polling.companion()
      for _ in 0..<3 { try companion.pollDueUsers() }
      #expect(polling.site.count(7) == 1)
    }
  }

  @Test func theRateIsNotExceeded() throws {
    try withPolling { polling throws in
      for user in 1...6 { try polling.register(Int64(user)) }
      polling.site.answerOthers(.body(full([FakeGame]())))
      let clock = TestClock()
      let start = clock.now
      try polling.poll(polling.companion(rate: 20, clock: clock.limits))
      #expect(polling.site.total == 6)
      #expect(clock.now - start >= .milliseconds(250))
    }
  }

  @Test func onePollUsesOneConnectionWithGzipAndEntityTags() throws {
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
      let companions = (0..<4).map { _ in polling.companion() }
      try inParallel(4) { number in try companions[number].pollDueUsers() }
      #expect(polling.site.total == 40)
      #expect((1...40).allSatisfy { polling.site.count(Int64($0)) == 1 })
      #expect(!polling.site.hasOverlapped)
    }
  }

  @Test func aPollWhoseLeaseEndedWritesNothing() throws {
    try withPolling { polling throws in
      try polling.register()
      let polls = polling.polls
      let (first, second) = (
        "01890a5d-ac96-774b-bcce-b302099a9001", "01890a5d-ac96-774b-bcce-b302099a9002"
      )
      let lost = try #require(try polls.claim(limit: 1, as: first).first)
      #expect(try polls.claim(limit: 1, as: second).isEmpty)
      _ = polling.sql("UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3)")
      _ = try #require(try polls.claim(limit: 1, as: second).first)
      let before = polling.sql("SELECT * FROM ogs_users")
      let seen = try SeenGames(ofPlayer: Array(full([FakeGame()]).utf8), for: 7)
      let pace = PollPace(interval: .seconds(30))
      let turns = try polls.recordGames(
        seen, entityTag: nil, of: lost, pace: pace, prefix: "")
      #expect(turns == nil)
      guard case .lost = try polls.recordFailure(.gone, of: lost, pace: pace) else {
        Issue.record("a failure was recorded")
        return
      }
      #expect(polling.sql("SELECT * FROM ogs_users") == before)
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_games") == "0")
      #expect(polling.alerts == [])
    }
  }

  @Test func aPassPollsAndRecordsWhatIsMissing() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.companion().pass()
      #expect(polling.alerts.count == 1)
      #expect(polling.sql("SELECT missing FROM companion_status") == "SWITCHBOARD_MAIL_COMMAND")
    }
  }
}

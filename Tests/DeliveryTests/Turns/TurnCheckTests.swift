import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The job of `/check/:user_id`.
@Suite(.serialized) struct TurnCheckTests {
  private static let failure = #"{"error":"Failed to fetch turn status"}"#

  private func check(_ polling: TestPolling, _ user: Int64 = 7) throws -> String? {
    let jobs = polling.responder.jobs
    let id = try jobs.post(.turnCheck, JSONWriter.object { $0.member("user_id", user) })
    try polling.companion().jobs.only(.others).run()
    guard case .done(let result) = try jobs.outcome(of: id) else { return nil }
    return String(decoding: result, as: UTF8.self)
  }

  @Test func aCheckDoesWhatAPollDoes() throws {
    try withPolling { polling throws in
      try polling.register(1_783_478)
      polling.site.answer(1_783_478, .body(try fixture("ogs/players_full_one_turn.json")))
      let first = #"{"not_your_turn":[79504999],"your_turn_new":[79504463],"your_turn_old":[]}"#
      #expect(try check(polling, 1_783_478) == first)
      #expect(polling.alerts == ["It's your turn in: test game"])
      let again = #"{"not_your_turn":[79504999],"your_turn_new":[],"your_turn_old":[79504463]}"#
      #expect(try check(polling, 1_783_478) == again)
      try polling.poll()
      #expect(polling.alerts.count == 1)
    }
  }

  @Test func aPausedGameIsNotATurn() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame(more: #","pause_control":{"system":true}"#)])))
      #expect(
        try check(polling) == #"{"not_your_turn":[1],"your_turn_new":[],"your_turn_old":[]}"#)
    }
  }

  @Test func withoutADeviceACheckMarksNothing() throws {
    try withPolling { polling throws in
      polling.site.answer(7, .body(full([FakeGame()])))
      let all = #"{"not_your_turn":[],"your_turn_new":[1],"your_turn_old":[]}"#
      for _ in 0..<2 { #expect(try check(polling) == all) }
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_users") == "0")
      try polling.register()
      try polling.poll()
      #expect(polling.alerts.count == 1)
    }
  }

  /// The companion does not trust the responder's counts.
  @Test func theCompanionCountsChecksItself() throws {
    try withPolling { polling throws in
      polling.site.answer(7, .body(full([FakeGame()])))
      let answers = try (1...42).map { _ in try check(polling) }
      #expect(answers.suffix(2) == [Self.failure, Self.failure])
      #expect(answers.dropLast(2).allSatisfy { $0 != Self.failure })
      #expect(polling.site.count(7) == 40)
      #expect(try check(polling, 8) == Self.failure, "nobody has this id")
      #expect(polling.site.count(8) == 1)
    }
  }

  @Test func aFetchThatFailsIsAnErrorAndBacksOff() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .status(500))
      let began = polling.clock()
      #expect(try check(polling) == Self.failure)
      #expect(polling.isDue(in: 10...10, since: began))
      // A check also respects the back-off.
      #expect(try check(polling) == Self.failure)
      #expect(polling.site.count(7) == 1)
    }
  }

  @Test func aCheckKeepsThePauseOfAll() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      _ = polling.sql("UPDATE ogs_pause SET paused_until = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE")
      #expect(try check(polling) == Self.failure)
      #expect(polling.site.total == 0)
    }
  }

  @Test func aCheckWaitsForARunningPoll() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      let claim = "01890a5d-ac96-774b-bcce-b302099a9001"
      let user = try #require(try polling.polls.claim(limit: 1, as: claim).first)
      #expect(try check(polling) == Self.failure)
      #expect(polling.site.total == 0)
      try polling.polls.release([user])
      #expect(
        try check(polling) == #"{"not_your_turn":[],"your_turn_new":[1],"your_turn_old":[]}"#)
    }
  }

  @Test func withoutAContactNothingIsAsked() throws {
    try withPolling { polling throws in
      try polling.register()
      let companion = polling.delivery.companion(mailer: nil, polling: nil)
      let jobs = polling.responder.jobs
      let id = try jobs.post(.turnCheck, Array(#"{"user_id":7}"#.utf8))
      try companion.pass()
      guard case .done(let result) = try jobs.outcome(of: id) else {
        Issue.record("no outcome")
        return
      }
      #expect(String(decoding: result, as: UTF8.self) == Self.failure)
      #expect(polling.site.total == 0)
    }
  }
}

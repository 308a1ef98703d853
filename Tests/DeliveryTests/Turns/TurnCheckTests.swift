import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The errand of `/check/:user_id`.
@Suite(.serialized) struct TurnCheckTests {
  private static let failure = #"{"error":"Failed to fetch turn status"}"#

  private func check(_ polling: TestPolling, _ user: Int64 = 7) throws -> String? {
    let responder = Database(accountSettings(of: "responder", in: polling.delivery.root))
    let id = try responder.post(
      .turnCheck, JSONWriter.object { $0.member("user_id", user) },
      from: Origin(requestID: "r", address: "192.0.2.1"), at: .now())
    try polling.companion().runErrands()
    guard case .done(let result) = try responder.outcome(ofErrand: id) else { return nil }
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

  @Test func aPausedGameIsNobodysTurn() throws {
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

  @Test func aFetchThatFailsIsAnErrorAndBacksOff() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .status(500))
      let began = polling.clock()
      #expect(try check(polling) == Self.failure)
      #expect(polling.isDue(in: 10...10, since: began))
      // The back-off binds a check too.
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

  @Test func aCheckWaitsForThePollThatIsUnderWay() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      let database = polling.companion().database
      let claim = "01890a5d-ac96-774b-bcce-b302099a9001"
      let user = try #require(try database.claimUsers(limit: 1, as: claim).first)
      #expect(try check(polling) == Self.failure)
      #expect(polling.site.total == 0)
      try database.release([user])
      #expect(
        try check(polling) == #"{"not_your_turn":[],"your_turn_new":[1],"your_turn_old":[]}"#)
    }
  }

  @Test func withoutAContactNothingIsAsked() throws {
    try withPolling { polling throws in
      try polling.register()
      let companion = polling.delivery.companion(mailer: nil, polling: nil)
      let responder = Database(accountSettings(of: "responder", in: polling.delivery.root))
      let id = try responder.post(
        .turnCheck, Array(#"{"user_id":7}"#.utf8), from: Origin(requestID: "r", address: "a"),
        at: .now())
      try companion.pass()
      guard case .done(let result) = try responder.outcome(ofErrand: id) else {
        Issue.record("no outcome")
        return
      }
      #expect(String(decoding: result, as: UTF8.self) == Self.failure)
      #expect(polling.site.total == 0)
    }
  }
}

import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The number on the app's icon is the number of waiting games.
@Suite(.serialized) struct BadgeTests {
  private func games(_ turns: Int, others: Int = 0, user: Int = 7, move: Int = 1000) -> [FakeGame] {
    (1...turns + others + 1).dropLast().map { number in
      FakeGame(
        id: user * 100 + number, player: number <= turns ? "\(user)" : "8",
        lastMove: "\(move)")
    }
  }

  private func show(_ polling: TestPolling, _ games: [FakeGame], to user: Int64 = 7) throws {
    polling.site.answer(user, .body(full(games, of: user)))
    try polling.poll()
    try polling.deliver()
  }

  private func badge(_ polling: TestPolling, of token: String = TestPolling.tokens[0]) -> String {
    polling.sql("SELECT badge FROM ogs_devices WHERE device_token = '\(token)'")
  }

  private func aMinutePasses(_ polling: TestPolling) {
    _ = polling.sql("UPDATE ogs_devices SET badge_at = badge_at - INTERVAL 61 SECOND")
  }

  @Test func oldGamesCountToo() throws {
    try withPolling { polling throws in
      try polling.register()
      try show(polling, games(2))
      #expect(badge(polling) == "2")
      try show(polling, games(3))
      #expect(polling.alerts.last == "It's your turn in: game")
      #expect(badge(polling) == "3")
      #expect(polling.badges == [])
    }
  }

  @Test func itFallsWithoutASoundAtMostOnceAMinute() throws {
    try withPolling { polling throws in
      try polling.register()
      try show(polling, games(3))
      try show(polling, games(2, others: 1, move: 1000))
      #expect(polling.badges == ["2"])
      #expect(badge(polling) == "2")
      // Less than a minute has passed.
      try show(polling, games(1, others: 2))
      #expect(polling.badges == ["2"])
      // The badge is sent although the games are unchanged.
      aMinutePasses(polling)
      try show(polling, games(1, others: 2))
      #expect(polling.badges == ["2", "1"])
      aMinutePasses(polling)
      try show(polling, [])
      #expect(polling.badges == ["2", "1", "0"])
      aMinutePasses(polling)
      try show(polling, [])
      #expect(polling.badges.count == 3)
      #expect(polling.alerts.count == 1)
    }
  }

  @Test func itWaitsForWhatIsOnItsWay() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full(games(2))))
      try polling.poll()
      #expect(polling.badges == [])
      polling.site.answer(7, .body(full(games(1, others: 1))))
      try polling.poll()
      // The new badge replaces the waiting one.
      #expect(polling.badges == [])
      #expect(
        polling.sql(
          "SELECT n.badge FROM notifications n JOIN deliveries d ON d.notification_id = n.id WHERE d.state = 'open'"
        ) == "1")
    }
  }

  @Test func itCountsTheGamesOfAllUsersOfADevice() throws {
    try withPolling { polling throws in
      try polling.register(7)
      try polling.register(9, devices: 2)
      polling.site.answer(9, .body(full(games(1, user: 9), of: 9)))
      try show(polling, games(2))
      try polling.poll()
      aMinutePasses(polling)
      try polling.poll()
      try polling.deliver()
      #expect(badge(polling) == "3")
      #expect(badge(polling, of: TestPolling.tokens[1]) == "1")
    }
  }

  @Test func aDeviceWithoutAUserShowsNothing() throws {
    try withPolling { polling throws in
      try polling.register(7)
      try polling.register(9)
      polling.site.answer(9, .body(full(games(1, user: 9), of: 9)))
      try show(polling, games(2))
      try show(polling, games(2))
      #expect(badge(polling) == "3")
      let token = try #require(DeviceToken(TestPolling.tokens[0]))
      try polling.responder.turnRegistrations.remove(token.text, of: 7)
      aMinutePasses(polling)
      try polling.poll()
      try polling.deliver()
      #expect(badge(polling) == "1")
      try polling.responder.turnRegistrations.remove(token.text, of: 9)
      aMinutePasses(polling)
      try polling.poll()
      #expect(polling.badges.last == "0")
      try polling.deliver()
      try polling.poll()
      #expect(badge(polling) == "")
    }
  }

  @Test func apnsIsAskedNotToWakeTheDevice() throws {
    try withPolling { polling throws in
      try polling.register()
      try show(polling, games(1))
      polling.site.answer(7, .body(full([FakeGame]())))
      try polling.poll()
      let deliveries = polling.companion().database.records(at: .now(), from: .companion).deliveries
      let shard = try #require(try deliveries.dueShards(of: .apns).first)
      let id = polling.sql("SELECT UUID()")
      let lease = try #require(try deliveries.claim(shard: shard, of: .apns, as: id))
      #expect(try deliveries.nextBatch(of: lease, limit: 10)?.map(\.content.isShown) == [false])
    }
  }

  @Test(arguments: [
    (#","players":{"black":{"id":7},"white":{"id":8}}"#, true),
    (#","players":{"black":{"id":7,"accepted":true},"white":{"id":8}}"#, false),
    (#","players":{"black":{"id":7,"accepted":false},"white":{"id":8,"accepted":true}}"#, true),
    (
      #","players":{"black":{"id":7},"white":{"id":8}},"pause_control":{"stone-removal":true}"#,
      true
    ),
    (
      #","players":{"black":{"id":7},"white":{"id":8}},"pause_control":{"stone-removal":true,"weekend":true}"#,
      false
    ),
    ("", false),
  ])
  func whoeverMustAcceptTheRemovalOfStonesIsTold(members: String, isTold: Bool) throws {
    try withPolling { polling throws in
      try polling.register()
      try show(polling, [FakeGame(phase: #""stone removal""#, player: "8", more: members)])
      #expect(polling.alerts == (isTold ? ["It's your turn in: game"] : []))
      try show(polling, [FakeGame(phase: #""stone removal""#, player: "8", more: members)])
      #expect(polling.alerts.count == (isTold ? 1 : 0))
    }
  }
}

import Base
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

/// A turn whose notification expired or failed for good is announced again, if the game still
/// waits.
@Suite(.serialized) struct UntoldTurnTests {
  private func game(_ id: Int, player: Int = 7, move: Int = 1000) -> FakeGame {
    FakeGame(id: id, name: "game \(id)", player: "\(player)", lastMove: "\(move)")
  }

  private func poll(_ polling: TestPolling, _ games: [FakeGame]) throws {
    polling.site.answer(7, .body(full(games, of: 7)))
    try polling.poll()
  }

  /// Texts of the waiting notifications, by device.
  private func waiting(_ polling: TestPolling) -> [String] {
    polling.sql(
      """
      SELECT CONCAT(LEFT(d.token, 1), ' ', n.body, ' ', n.badge)
      FROM deliveries d JOIN notifications n ON n.id = d.notification_id
      WHERE d.state = 'open' AND n.kind <> 'badge' ORDER BY 1
      """
    ).split(separator: "\n").map(String.init)
  }

  /// Ends all waiting deliveries as undelivered, like the companion.
  private func giveUp(
    _ polling: TestPolling, to device: String = "%", because reason: String = "expired"
  ) throws {
    let deliveries = polling.companion().database.records(at: .now(), from: .companion).deliveries
    let tokens = Set(
      polling.sql("SELECT token FROM deliveries WHERE state = 'open' AND token LIKE '\(device)'")
        .split(separator: "\n").map(String.init))
    for shard in try deliveries.dueShards(of: .apns) {
      let claimed = try deliveries.claim(shard: shard, of: .apns, as: newClaimID())
      let lease = try #require(claimed)
      // A batch has one delivery per device, and a badge without an alert may come first.
      var outcomes: [(Delivery, DeliveryOutcome)]
      repeat {
        let batch = try deliveries.nextBatch(of: lease, limit: 100) ?? []
        outcomes = batch.filter { tokens.contains($0.token) }.map {
          ($0, .undelivered(reason: reason))
        }
        #expect(try deliveries.record(outcomes, under: lease))
      } while !outcomes.isEmpty
      try deliveries.release(lease)
    }
  }

  @Test(arguments: ["expired", "too many attempts"])
  func whatStillWaitsIsToldAgainOnceAndTogether(_ reason: String) throws {
    try withPolling { polling throws in
      try polling.register()
      try poll(polling, [game(1), game(2), game(3)])
      try giveUp(polling, because: reason)
      #expect(waiting(polling) == [])
      try poll(polling, [game(1), game(2, player: 8, move: 2000), game(3)])
      #expect(waiting(polling) == ["a It's your turn in 2 games 2"])
      try polling.poll()
      #expect(waiting(polling) == ["a It's your turn in 2 games 2"])
      // The delivery fails again, and a new turn is added.
      try giveUp(polling, because: reason)
      try poll(polling, [game(1), game(3), game(4)])
      #expect(waiting(polling) == ["a It's your turn in 3 games 3"])
      try polling.deliver()
      for _ in 1...2 { try poll(polling, [game(1), game(3), game(4)]) }
      #expect(waiting(polling) == [])
      #expect(polling.alerts.count == 3)
      #expect(polling.sql("SELECT badge FROM ogs_devices") == "3")
    }
  }

  @Test func whereNothingWaitsNothingIsTold() throws {
    try withPolling { polling throws in
      try polling.register()
      try poll(polling, [game(1), game(2)])
      try giveUp(polling)
      try poll(polling, [game(1, player: 8, move: 2000)])
      #expect(waiting(polling) == [])
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_registrations WHERE untold IS NULL") == "1")
      // The next turn of the same game is announced.
      try poll(polling, [game(1, move: 3000)])
      #expect(waiting(polling) == ["a It's your turn in: game 1 1"])
    }
  }

  @Test func theDeviceThatHasItIsNotToldAgain() throws {
    try withPolling { polling throws in
      try polling.register(devices: 2)
      try poll(polling, [game(1)])
      try giveUp(polling, to: "b%")
      try polling.deliver()
      try poll(polling, [game(1)])
      #expect(waiting(polling) == ["b It's your turn in: game 1 1"])
      try polling.deliver()
      try poll(polling, [game(1)])
      #expect(waiting(polling) == [])
      #expect(polling.sql("SELECT DISTINCT badge FROM ogs_devices") == "1")
    }
  }

  @Test func quietHoursKeepItForLaterAndWishesCount() throws {
    try withPolling { polling throws in
      try polling.register()
      try poll(polling, [game(1), game(2)])
      try giveUp(polling)
      func change(_ change: (inout TurnSettings) -> Void) throws {
        _ = try polling.responder.turnUsers.changeSettings(of: 7) { change(&$0) }
      }
      let minute = Timestamp.now().seconds % 86_400 / 60
      try change {
        $0.quietHours = .init(from: (minute + 1430) % 1440, to: (minute + 720) % 1440)
        $0.mutedGames = [2]
      }
      try polling.poll()
      #expect(waiting(polling) == [])
      try change { $0.quietHours = nil }
      try polling.poll()
      #expect(waiting(polling) == ["a It's your turn in: game 1 1"])
      try giveUp(polling)
      try change { $0.kinds = [] }
      try polling.poll()
      try change { $0.kinds = .turn }
      try polling.poll()
      #expect(waiting(polling) == [], "it was not wanted when it could be told")
    }
  }

  @Test func aPhoneInItsOwnQuietHoursIsToldLater() throws {
    try withPolling { polling throws in
      try polling.register(devices: 2)
      try poll(polling, [game(1)])
      try giveUp(polling)
      let minute = Timestamp.now().seconds % 86_400 / 60
      let (from, to) = ((minute + 1430) % 1440, (minute + 720) % 1440)
      _ = polling.sql(
        """
        UPDATE ogs_registrations SET quiet_from = \(from), quiet_to = \(to), time_zone = 'UTC'
        WHERE device_token LIKE 'b%'
        """)
      try poll(polling, [game(1)])
      #expect(waiting(polling) == ["a It's your turn in: game 1 1"])
      _ = polling.sql(
        "UPDATE ogs_registrations SET quiet_from = NULL, quiet_to = NULL, time_zone = NULL")
      for _ in 1...2 { try poll(polling, [game(1)]) }
      #expect(
        waiting(polling) == ["a It's your turn in: game 1 1", "b It's your turn in: game 1 1"])
    }
  }

  /// The database's clock and Apple's clock advance by an hour per round.
  @Test func afterADayWithoutAppleEachGameThatWaitsIsAnnouncedOnce() throws {
    try withDeliveryOnItsOwnServer { delivery throws in
      let site = try #require(FakeOGS())
      defer { site.end() }
      for token in TestPolling.tokens.prefix(2) {
        try delivery.responder().turnRegistrations.add(
          TurnDevice(try #require(DeviceToken(token))), of: 7)
      }
      let start = Timestamp.now()
      let refusal = "answer every 1 503 ServiceUnavailable"
      try withAPNs(faults: [refusal], clock: start) { refusing throws in
        try withAPNs(faults: [], clock: start) { apple throws in
          for hour in 0..<32 {
            let now = start + .seconds(3600) * hour
            let isWorking = hour >= 28
            try (isWorking ? apple : refusing).setClock(now)
            // Two days in one: the second game is played after the first notification has expired.
            let second = hour < 26 ? game(2) : game(2, player: 8, move: 2000)
            site.answer(7, .body(full([game(1), second, game(3)], of: 7)))
            try pass(delivery, site, by: isWorking ? apple : refusing, at: now)
          }
          let received = try apple.received()
          let alerts = received.filter { $0.payload.contains("\"alert\"") }
          #expect(Set(alerts.map(\.token)) == Set(TestPolling.tokens.prefix(2)))
          #expect(alerts.count == 2)
          for alert in alerts {
            #expect(alert.payload.contains("It's your turn in 2 games"))
            #expect(alert.payload.contains(#""badge":2"#))
          }
          #expect(received.allSatisfy { $0.status == 200 })
        }
      }
      #expect(delivery.sql("SELECT DISTINCT badge FROM ogs_devices") == "2")
      #expect(
        delivery.sql("SELECT COUNT(*) FROM deliveries WHERE reason = 'expired'") != "0")
    }
  }

  private func pass(
    _ delivery: TestDelivery, _ site: FakeOGS, by apple: FakeAPNs, at now: Timestamp
  ) throws {
    let clock = "SET timestamp = \(now.seconds)"
    delivery.sql(
      """
      SET GLOBAL init_connect = '\(clock)'; \(clock);
      UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3)
      """)
    let polling = PollSettings(
      baseURL: site.url, contact: "admin@example.org", requestsPerSecond: 1000,
      pace: PollPace(interval: .seconds(30)), prefix: "")
    try Companion(
      database: Database(delivery.account(of: "companion")),
      settings: Settings(
        keys: TestDelivery.keys, mailer: nil, sender: "switchboard@example.org",
        auditLifetime: .seconds(365 * 86_400), interval: .seconds(30), polling: polling,
        apns: [try apple.settings()], clock: .still),
      log: Evidence.log(of: "a day without Apple")
    ).pass()
  }
}

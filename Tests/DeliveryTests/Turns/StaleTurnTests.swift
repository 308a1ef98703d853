import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Finished turns are not announced, and waiting turns are not hidden.
@Suite(.serialized) struct StaleTurnTests {
  private func game(_ id: Int, player: Int = 7, move: Int = 1000) -> FakeGame {
    FakeGame(id: id, name: "game \(id)", player: "\(player)", lastMove: "\(move)")
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

  private func poll(_ polling: TestPolling, _ games: [FakeGame], of user: Int64 = 7) throws {
    polling.site.answer(user, .body(full(games, of: user)))
    try polling.poll()
  }

  @Test func aTurnThatIsPlayedBeforeItIsDeliveredIsWithdrawn() throws {
    try withPolling { polling throws in
      try polling.register(devices: 2)
      try poll(polling, [game(1)])
      #expect(
        waiting(polling) == ["a It's your turn in: game 1 1", "b It's your turn in: game 1 1"])
      try poll(polling, [game(1, player: 8, move: 2000)])
      #expect(waiting(polling) == [])
      #expect(polling.sql("SELECT DISTINCT state, reason FROM deliveries") == "dead\twithdrawn")
      // The next turn of the same game is announced again.
      try poll(polling, [game(1, move: 3000)])
      #expect(waiting(polling).count == 2)
    }
  }

  /// Apple does not answer while the player moves elsewhere.
  @Test func whatIsInHandDuringAPollIsNotSentLaterWhenItIsOver() throws {
    try withPolling { polling throws in
      try polling.register()
      try poll(polling, [game(1), game(2)])
      let deliveries = polling.companion().database.records(at: .now(), from: .companion).deliveries
      let shard = try #require(try deliveries.dueShards(of: .apns).first)
      let claimed = try deliveries.claim(shard: shard, of: .apns, as: UUID().uuidString)
      let lease = try #require(claimed)
      let batch = try #require(try deliveries.nextBatch(of: lease, limit: 9))
      try poll(polling, [game(1, player: 8, move: 2000), game(2)])
      let later = DeliveryOutcome.later(
        delay: .zero, status: nil, reason: "NoAnswer", countsAsAttempt: true)
      #expect(try deliveries.record(batch.map { ($0, later) }, under: lease))
      #expect(waiting(polling) == ["a It's your turn in 2 games 2"])
      #expect(try deliveries.nextBatch(of: lease, limit: 9)?.isEmpty == true)
      try poll(polling, [game(1, player: 8, move: 2000), game(2)])
      #expect(waiting(polling) == ["a It's your turn in: game 2 1"])
      #expect(try deliveries.nextBatch(of: lease, limit: 9)?.count == 1)
    }
  }

  @Test func theBadgeOfAKilledPassIsCorrected() throws {
    try withPolling { polling throws in
      try polling.register()
      try poll(polling, [game(1)])
      _ = polling.sql("UPDATE deliveries SET losses = 1, attempts = 1 WHERE state = 'open'")
      try poll(polling, [])
      try polling.poll()
      #expect(polling.badges == ["0"])
    }
  }

  @Test func whatAKilledPassMayHaveSentIsSentAgainOrReplacedInItsPlace() throws {
    func killedWhileSending(_ polling: TestPolling) {
      _ = polling.sql("UPDATE deliveries SET losses = 1, attempts = 1 WHERE state = 'open'")
    }
    try withPolling { polling throws in
      try polling.register()
      try poll(polling, [game(1)])
      killedWhileSending(polling)
      try poll(polling, [game(1), game(2)])
      #expect(
        waiting(polling) == ["a It's your turn in: game 1 1", "a It's your turn in: game 2 2"])
      try poll(polling, [])
      #expect(waiting(polling) == [])
      try poll(polling, [game(3), game(4)])
      killedWhileSending(polling)
      try poll(polling, [game(3), game(4, player: 8, move: 2000)])
      #expect(waiting(polling) == ["a It's your turn in: game 3 1"])
      let ids = """
        SELECT DISTINCT n.collapse_id FROM notifications n JOIN turn_notices t ON t.notification_id = n.id
        WHERE t.games LIKE '%[3,%'
        """
      #expect(polling.sql(ids).hasPrefix("turns-7-") && !polling.sql(ids).contains("\n"))
    }
  }

  @Test func whatWaitsIsReplacedByWhatIsTrueNow() throws {
    try withPolling { polling throws in
      try polling.register()
      try poll(polling, [game(1), game(2)])
      #expect(waiting(polling) == ["a It's your turn in 2 games 2"])
      try poll(polling, [game(1), game(2), game(3)])
      #expect(waiting(polling) == ["a It's your turn in 3 games 3"])
      try poll(polling, [game(1, player: 8, move: 2000), game(2), game(3, player: 8, move: 2000)])
      #expect(waiting(polling) == ["a It's your turn in: game 2 1"])
      let before = polling.sql("SELECT COUNT(*) FROM notifications")
      try polling.poll()
      #expect(polling.sql("SELECT COUNT(*) FROM notifications") == before)
      try poll(polling, [])
      #expect(waiting(polling) == [])
    }
  }

  /// One device already has a notification that still waits for the other device.
  @Test func eachDeviceIsToldWhatItHasNotGot() throws {
    try withPolling { polling throws in
      try polling.register(devices: 2)
      try poll(polling, [game(1)])
      _ = polling.sql(
        "UPDATE deliveries SET state = 'delivered', finished_at = NOW(3) WHERE token LIKE 'a%'")
      try poll(polling, [game(1), game(2)])
      #expect(
        waiting(polling) == ["a It's your turn in: game 2 2", "b It's your turn in 2 games 2"])
    }
  }

  /// The sender may already have handed over the notification; a replacement would announce the
  /// turn twice.
  @Test func whatIsBeingSentStays() throws {
    try withPolling { polling throws in
      try polling.register()
      try poll(polling, [game(1)])
      let deliveries = polling.companion().database.records(at: .now(), from: .companion).deliveries
      let shard = try #require(try deliveries.dueShards(of: .apns).first)
      let lease = try #require(
        try deliveries.claim(
          shard: shard, of: .apns, as: "01890a5d-ac96-774b-bcce-b302099a9001"))
      let batch = try #require(try deliveries.nextBatch(of: lease, limit: 10))
      #expect(batch.count == 1)
      try poll(polling, [game(1), game(2)])
      #expect(
        waiting(polling) == ["a It's your turn in: game 1 1", "a It's your turn in: game 2 2"])
      // The notification was not handed over, and its turn has ended by then.
      let later = DeliveryOutcome.later(
        delay: .zero, status: 503, reason: "x", countsAsAttempt: true)
      #expect(try deliveries.record(batch.map { ($0, later) }, under: lease))
      try poll(polling, [game(1, player: 8, move: 2000), game(2)])
      #expect(waiting(polling) == ["a It's your turn in: game 2 1"])
    }
  }

  /// A withdrawal and a sending run at the same time.
  @Test func whatIsWithdrawnIsNeverSent() throws {
    try withPolling { polling throws in
      try polling.register()
      let deliveries = polling.companion().database.records(at: .now(), from: .companion).deliveries
      for round in 1...20 {
        try poll(polling, [game(1, move: round * 10)])
        let shard = try #require(try deliveries.dueShards(of: .apns).first)
        let id = polling.sql("SELECT UUID()")
        let lease = try #require(try deliveries.claim(shard: shard, of: .apns, as: id))
        try inParallel(2) { number in
          if number == 0 {
            try poll(polling, [game(1, player: 8, move: round * 10 + 5)])
          } else {
            let sent = try deliveries.nextBatch(of: lease, limit: 10) ?? []
            _ = try deliveries.record(sent.map { ($0, .delivered) }, under: lease)
            let withdrawn = polling.sql(
              "SELECT COUNT(*) FROM deliveries WHERE reason = 'withdrawn'")
            let delivered = polling.sql(
              "SELECT COUNT(*) FROM deliveries WHERE state = 'delivered' AND status = 200")
            #expect(sent.isEmpty || Int(delivered)! > 0, "\(withdrawn)")
          }
        }
        try deliveries.release(lease)
        #expect(
          polling.sql(
            "SELECT COUNT(*) FROM deliveries WHERE reason = 'withdrawn' AND (attempts > 0 OR status IS NOT NULL)"
          ) == "0")
        try polling.deliver()
        _ = polling.sql("UPDATE ogs_devices SET badge_at = NULL")
      }
    }
  }

  @Test func aDeviceThatUnregistersIsToldNothingMore() throws {
    try withPolling { polling throws in
      try polling.register(devices: 2)
      try poll(polling, [game(1)])
      let token = try #require(DeviceToken(TestPolling.tokens[1]))
      try polling.responder.turnRegistrations.remove(token.text, of: 7)
      try polling.poll()
      #expect(waiting(polling) == ["a It's your turn in: game 1 1"])
    }
  }

  /// Nobody polls for a user without devices, so no poll would withdraw it.
  @Test func theLastDeviceOfAUserThatUnregistersIsToldNothingMore() throws {
    try withPolling { polling throws in
      try polling.register()
      try poll(polling, [game(1)])
      try polling.responder.turnRegistrations.remove(TestPolling.tokens[0], of: 7)
      try polling.deliver()
      #expect(polling.sql("SELECT state, reason FROM deliveries") == "dead\twithdrawn")
    }
  }

  @Test func whatIsNotTrueAnyMoreDoesNotStandBeforeTheRest() throws {
    try withPolling { polling throws in
      for user in [7, 8, 9] as [Int64] {
        try polling.register(user)
        let game = game(Int(user), player: Int(user))
        polling.site.answer(user, .body(full([game], of: user)))
      }
      try polling.poll()
      _ = polling.sql("UPDATE ogs_games SET last_move = last_move + 1 WHERE ogs_user_id <> 9")
      let deliveries = polling.companion().database.records(at: .now(), from: .companion).deliveries
      let shard = try #require(try deliveries.dueShards(of: .apns).first)
      let id = polling.sql("SELECT UUID()")
      let lease = try #require(try deliveries.claim(shard: shard, of: .apns, as: id))
      let batch = try #require(try deliveries.nextBatch(of: lease, limit: 1))
      #expect(batch.map { $0.content.body?.contains("game 9") } == [true])
      // Their polls decide.
      #expect(
        polling.sql(
          """
          SELECT reason, COUNT(*) FROM deliveries
          WHERE state = 'open' AND due_at > UTC_TIMESTAMP(3) + INTERVAL 50 SECOND GROUP BY 1
          """) == "not true any more\t2")
      try deliveries.release(lease)
      try poll(polling, [], of: 7)
      #expect(
        polling.sql(
          """
          SELECT d.state FROM turn_notices t JOIN deliveries d ON d.notification_id = t.notification_id
          WHERE t.ogs_user_id = 7
          """) == "dead")
    }
  }

  @Test func eachDeviceGetsItsNotificationsInTheirOrder() throws {
    try withPolling { polling throws in
      try polling.register()
      try polling.register(9)
      try poll(polling, [game(1)])
      try poll(polling, [game(2, player: 9)], of: 9)
      let deliveries = polling.companion().database.records(at: .now(), from: .companion).deliveries
      let shard = try #require(try deliveries.dueShards(of: .apns).first)
      let lease = try #require(
        try deliveries.claim(
          shard: shard, of: .apns, as: "01890a5d-ac96-774b-bcce-b302099a9001"))
      for text in ["game 1", "game 2"] {
        let batch = try #require(try deliveries.nextBatch(of: lease, limit: 10))
        #expect(batch.map { $0.content.body?.contains(text) } == [true])
        _ = try deliveries.record(batch.map { ($0, .delivered) }, under: lease)
      }
    }
  }
}

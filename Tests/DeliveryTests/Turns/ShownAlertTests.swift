import Base
import Store
import Support
import Testing

@testable import Delivery

/// A device's alert is removed when its game no longer waits.
@Suite(.serialized) struct ShownAlertTests {
  private func show(_ polling: TestPolling, _ games: [FakeGame]) throws {
    polling.site.answer(7, .body(full(games)))
    try polling.poll()
    for channel in [Channel.apns, .fcm, .webPush] { try polling.deliver(by: channel) }
  }

  /// Notifications that devices are asked to remove, oldest first.
  private func removed(_ polling: TestPolling) -> [String] {
    polling.sql(
      """
      SELECT JSON_COMPACT(JSON_EXTRACT(data, '$.notifications')) FROM notifications
      WHERE JSON_VALUE(data, '$.action') = 'remove_notifications' ORDER BY id
      """
    ).split(separator: "\n").map(String.init)
  }

  @Test func anAlertGoesOnceWhenTheMoveIsMade() throws {
    try withPolling { polling throws in
      try polling.register()
      try show(polling, [FakeGame(), FakeGame(id: 2, player: "8")])
      #expect(removed(polling) == [])
      try show(polling, [FakeGame(player: "8", lastMove: "2000")])
      #expect(removed(polling) == [#"[{"id":"turn-7-1","last_move":1000}]"#])
      #expect(polling.badges == ["0"])
      #expect(
        polling.sql("SELECT title, body, badge, sound FROM notifications WHERE kind = 'badge'")
          == "NULL\tNULL\t0\tNULL")
      try show(polling, [FakeGame(player: "8", lastMove: "2000")])
      #expect(removed(polling).count == 1)
      #expect(polling.sql("SELECT COUNT(*) FROM turn_alerts") == "0")
      // Works a day later too, when the notification's row has been deleted.
      try show(polling, [FakeGame(lastMove: "3000")])
      _ = polling.sql("DELETE FROM notifications")
      try show(polling, [])
      #expect(removed(polling) == [#"[{"id":"turn-7-1","last_move":3000}]"#])
    }
  }

  @Test func anAlertOfSeveralGamesGoesWithTheLastOfThem() throws {
    try withPolling { polling throws in
      try polling.register()
      try show(polling, [FakeGame(), FakeGame(id: 2)])
      try show(polling, [FakeGame(player: "8"), FakeGame(id: 2)])
      #expect(removed(polling) == [])
      try show(polling, [FakeGame(player: "8"), FakeGame(id: 2, player: "8")])
      #expect(removed(polling).count == 1)
    }
  }

  @Test func theNextTurnOfTheGameAndAPauseKeepTheAlert() throws {
    try withPolling { polling throws in
      try polling.register()
      try show(polling, [FakeGame()])
      // The game moved twice between two polls: the new alert replaces the old one.
      try show(polling, [FakeGame(lastMove: "3000")])
      #expect(polling.alerts.count == 2)
      try show(
        polling, [FakeGame(lastMove: "3000", more: #","pause_control":{"weekend":true}"#)])
      #expect(removed(polling) == [])
      try show(polling, [FakeGame(player: "8", lastMove: "4000")])
      #expect(removed(polling) == [#"[{"id":"turn-7-1","last_move":3000}]"#])
    }
  }

  @Test func anAlertThatADeviceMayShowGoesThoughItsDeliveryWasLost() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.poll()
      _ = polling.sql("UPDATE deliveries SET losses = 1, attempts = 1, reason = 'no outcome'")
      try show(polling, [])
      try show(polling, [])
      #expect(removed(polling) == [#"[{"id":"turn-7-1","last_move":1000}]"#])
    }
  }

  @Test func aBrowserIsSentOnlyWhatItShows() throws {
    try withPolling { polling throws in
      let browser = WebSubscription(
        endpoint: "https://updates.push.services.mozilla.com/wpush/v2/one", publicKey: "k",
        authentication: "a")
      let sealed = try browser.sealed(for: TestDelivery.boxKeys.publicKeys)
      try polling.addLeases()
      _ = try polling.responder.turnRegistrations.add(
        TurnDevice(browser, sealed: sealed), of: 7)
      try show(polling, [FakeGame(), FakeGame(id: 2)])
      try show(polling, [FakeGame()])
      try show(polling, [])
      try show(polling, [])
      #expect(polling.sql("SELECT kind FROM notifications") == "turn")
      #expect(polling.sql("SELECT COUNT(*) FROM turn_alerts") == "0")
      try polling.responder.turnRegistrations.remove(browser.token.text, of: 7)
      _ = try polling.companion().database.records(at: .now(), from: .companion).deviceBadges
        .correctStale(limit: 500)
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_devices") == "0")
    }
  }

  @Test func theSubscriptionIsSealedAnewUnderTheNewestKey() throws {
    try withPolling { polling throws in
      let browser = WebSubscription(
        endpoint: "https://updates.push.services.mozilla.com/wpush/v2/one", publicKey: "k",
        authentication: "a")
      let sealed = try browser.sealed(for: TestDelivery.boxKeys.publicKeys)
      _ = try polling.responder.turnRegistrations.add(TurnDevice(browser, sealed: sealed), of: 7)
      let records = polling.companion().database.records(at: .now(), from: .companion)
        .webSubscriptions
      let token = browser.token.text
      #expect(try records.sealed(of: [token, "x"]) == [token: sealed])
      #expect(try records.sealed(notAs: TestDelivery.keys.prefix).isEmpty)
      #expect(try records.sealed(notAs: "box:other").map(\.token) == [token])
      try records.replace("box:wrong", of: token, with: "box:other.1")
      try records.replace(sealed, of: token, with: "box:other.2")
      #expect(try records.sealed(of: [token]) == [token: "box:other.2"])
    }
  }
}

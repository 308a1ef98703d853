import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Android devices and browsers of players, their languages and their own quiet hours.
@Suite(.serialized) struct TurnDeviceTests {
  private static let android = "cOd3:APA91bH_" + String(repeating: "z", count: 120)
  private static let browser = WebSubscription(
    endpoint: "https://updates.push.services.mozilla.com/wpush/v2/one",
    publicKey: base64URLEncoded([UInt8](repeating: 4, count: 65)),
    authentication: base64URLEncoded([UInt8](repeating: 1, count: 16)))

  private func apple() throws -> TurnDevice {
    TurnDevice(try #require(DeviceToken(TestPolling.tokens[0])))
  }

  private func androidDevice() throws -> TurnDevice {
    let token = try #require(PushToken(Self.android))
    return try #require(TurnDevice(android: token))
  }

  private func browserDevice() throws -> TurnDevice {
    TurnDevice(
      Self.browser, sealed: try Self.browser.sealed(for: TestDelivery.boxKeys.publicKeys))
  }

  private func register(_ polling: TestPolling, _ devices: [TurnDevice]) throws {
    for device in devices { _ = try polling.responder.turnRegistrations.add(device, of: 7) }
  }

  private func poll(_ polling: TestPolling, _ games: [FakeGame]) throws {
    polling.site.answer(7, .body(full(games)))
    try polling.poll()
  }

  private func deliver(_ polling: TestPolling) throws {
    for channel in [Channel.apns, .fcm, .webPush] { try polling.deliver(by: channel) }
  }

  /// Channel and text of each delivery that is due, by channel.
  private func due(_ polling: TestPolling) -> [String] {
    polling.sql(
      """
      SELECT d.channel, JSON_VALUE(n.payload, '$.aps.alert') FROM deliveries d
      JOIN notifications n ON n.id = d.notification_id
      WHERE d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3) AND n.kind <> 'badge' ORDER BY d.channel, n.id
      """
    ).split(separator: "\n").map { String($0.replacing("\t", with: " ")) }
  }

  /// Quiet hours around now, or an hour away from them.
  private func hours(areNow: Bool) -> PhoneQuietHours {
    let minute = Timestamp.now().seconds % 86_400 / 60
    let begin = areNow ? minute + 1380 : minute + 60
    return PhoneQuietHours(
      TurnSettings.QuietHours(from: begin % 1440, to: (begin + 120) % 1440), timeZone: "UTC")
  }

  @Test func aTurnIsToldToEachDeviceByItsChannelAndInItsLanguage() throws {
    try withPolling { polling throws in
      var (apple, android, browser) = (
        try apple(), try androidDevice(), try browserDevice()
      )
      (apple.language, android.language, browser.language) = (.french, .german, .persian)
      try register(polling, [apple, android, browser])
      try poll(polling, [FakeGame()])
      #expect(
        due(polling) == [
          "apns C’est à vous de jouer : game", "fcm Sie sind am Zug: game",
          "webpush نوبت شماست: \u{2068}game\u{2069}",
        ])
      #expect(
        polling.sql("SELECT token FROM deliveries WHERE channel = 'fcm'") == Self.android)
    }
  }

  @Test func aDeviceThatNamesNoLanguageKeepsItsOwn() throws {
    try withPolling { polling throws in
      var device = try androidDevice()
      device.language = .spanish
      try register(polling, [device, try androidDevice()])
      #expect(polling.sql("SELECT language FROM ogs_registrations") == "es")
    }
  }

  @Test func aDeviceInQuietHoursIsToldWhenTheyEndAndOthersNow() throws {
    try withPolling { polling throws in
      var android = try androidDevice()
      android.quietHours = .set(hours(areNow: true))
      try register(polling, [try apple(), android])
      try poll(polling, [FakeGame()])
      #expect(due(polling) == ["apns It's your turn in: game"])
      // The end is within the hour, and the notification outlives it.
      #expect(
        polling.sql(
          """
          SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(3), d.due_at) BETWEEN 57 AND 60,
            TIMESTAMPDIFF(MINUTE, d.due_at, n.expires_at) BETWEEN 1439 AND 1440
          FROM deliveries d JOIN notifications n ON n.id = d.notification_id
          WHERE d.channel = 'fcm' AND n.kind = 'turn'
          """) == "1\t1")
      // The number makes no sound.
      #expect(polling.badges == ["1"])
      try deliver(polling)
      android.quietHours = .set(hours(areNow: false))
      try register(polling, [android])
      try poll(polling, [FakeGame()])
      #expect(due(polling) == ["fcm It's your turn in: game"])
    }
  }

  @Test func whatIsOverBeforeQuietHoursEndIsNeverTold() throws {
    try withPolling { polling throws in
      var android = try androidDevice()
      android.quietHours = .set(hours(areNow: true))
      try register(polling, [try apple(), android])
      try poll(polling, [FakeGame(), FakeGame(id: 2)])
      try poll(polling, [FakeGame(id: 2)])
      #expect(
        polling.sql(
          """
          SELECT d.reason FROM deliveries d JOIN notifications n ON n.id = d.notification_id
          WHERE d.channel = 'fcm' AND n.kind = 'turn' ORDER BY d.id
          """) == "withdrawn\nNULL")
      try poll(polling, [])
      #expect(
        polling.sql(
          """
          SELECT COUNT(*) FROM deliveries d JOIN notifications n ON n.id = d.notification_id
          WHERE d.state = 'open' AND n.kind = 'turn'
          """) == "0")
    }
  }

  @Test func aPhoneThatMaySoundIsToldThoughItsUserIsQuiet() throws {
    try withPolling { polling throws in
      var phone = try apple()
      phone.quietHours = .set(hours(areNow: false))
      try register(polling, [phone, try androidDevice()])
      _ = try polling.responder.turnUsers.changeSettings(of: 7) {
        $0.quietHours = hours(areNow: true).hours
      }
      try poll(polling, [FakeGame()])
      #expect(due(polling) == ["apns It's your turn in: game"])
      // The phone follows its user again: now all are quiet, and the turn stays new.
      phone.quietHours = .set(nil)
      try register(polling, [phone])
      try poll(polling, [FakeGame(), FakeGame(id: 2)])
      #expect(polling.sql("SELECT notified_move FROM ogs_games ORDER BY position") == "1000\n0")
    }
  }

  @Test func quietHoursStayQuietWhenTheClockIsSetBack() throws {
    try withPolling { polling throws in
      var android = try androidDevice()
      android.quietHours = .set(hours(areNow: true))
      try register(polling, [try apple(), android])
      try poll(polling, [FakeGame()])
      let companion = polling.companion()
      let records = companion.database.records(at: .now(), from: .companion)
      try records.deliveries.addLeases(of: .fcm)
      _ = polling.sql(
        """
        INSERT INTO companion_status (host, version, last_pass_at, missing)
          VALUES ('x', '1', UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, '[]');
        UPDATE deliveries SET due_at = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, reason = 'x' WHERE channel = 'apns';
        """)
      #expect(try records.upkeep.shortenWaitsIfClockWasSetBack())
      #expect(due(polling) == ["apns It's your turn in: game"])
    }
  }

  @Test(
    arguments: [
      // New York: the clocks go forward at 2 on 2026-03-08, back on 2026-11-01.
      ("2026-03-08 01:00", 5), ("2026-11-01 01:30", 6.5), ("2026-07-15 06:59", 1.0 / 60),
      ("2026-07-15 22:00", 9), ("2026-07-15 07:00", nil), ("2026-07-15 21:59", nil),
    ] as [(String, Double?)])
  func quietHoursEndAtTheirHour(local: String, hours: Double?) throws {
    var settings = TurnSettings()
    settings.quietHours = TurnSettings.QuietHours(from: 22 * 60, to: 7 * 60)
    settings.timeZone = "Europe/Berlin"
    let own = PhoneQuietHours(settings.quietHours!, timeZone: "America/New_York")
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "America/New_York")
    format.dateFormat = "yyyy-MM-dd HH:mm"
    let instant = Timestamp(
      seconds: Int64(try #require(format.date(from: local)).timeIntervalSince1970))
    #expect(
      settings.silence(at: instant, on: own) == hours.map { .seconds(Int64(($0 * 3600).rounded())) }
    )
  }
}

/// What a device shows goes when its game waits no more.
@Suite(.serialized) struct ShownAlertTests {
  private func show(_ polling: TestPolling, _ games: [FakeGame]) throws {
    polling.site.answer(7, .body(full(games)))
    try polling.poll()
    for channel in [Channel.apns, .fcm, .webPush] { try polling.deliver(by: channel) }
  }

  /// Notifications that devices are told to take away, oldest first.
  private func removed(_ polling: TestPolling) -> [String] {
    polling.sql(
      """
      SELECT JSON_COMPACT(JSON_EXTRACT(payload, '$.notifications')) FROM notifications
      WHERE JSON_VALUE(payload, '$.action') = 'remove_notifications' ORDER BY id
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
        polling.sql("SELECT payload FROM notifications WHERE kind = 'badge'").contains(
          #""aps":{"content-available":1,"badge":0}"#))
      try show(polling, [FakeGame(player: "8", lastMove: "2000")])
      #expect(removed(polling).count == 1)
      #expect(polling.sql("SELECT COUNT(*) FROM turn_alerts") == "0")
      // A day later, too: the notification itself is not kept so long.
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
      // It moved twice between two polls: the new alert takes the place of the old one.
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
        .correctStale(limit: 500, message: TestPolling.message)
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

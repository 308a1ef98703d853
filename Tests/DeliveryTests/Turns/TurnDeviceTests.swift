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
    try polling.addLeases()
    for device in devices { _ = try polling.responder.turnRegistrations.add(device, of: 7) }
  }

  private func poll(_ polling: TestPolling, _ games: [FakeGame]) throws {
    polling.site.answer(7, .body(full(games)))
    try polling.poll()
  }

  private func deliver(_ polling: TestPolling) throws {
    for channel in [Channel.apns, .fcm, .webPush] { try polling.deliver(by: channel) }
  }

  /// Channel and text of each due delivery, sorted by channel.
  private func due(_ polling: TestPolling) -> [String] {
    polling.sql(
      """
      SELECT d.channel, n.body FROM deliveries d
      JOIN notifications n ON n.id = d.notification_id
      WHERE d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3) AND n.kind <> 'badge' ORDER BY d.channel, n.id
      """
    ).split(separator: "\n").map { String($0.replacing("\t", with: " ")) }
  }

  /// Quiet hours that include now, or that begin in an hour.
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

  @Test func turnsStayNewUntilTheChannelOfTheDeviceIsConfigured() throws {
    try withPolling { polling throws in
      _ = try polling.responder.turnRegistrations.add(try androidDevice(), of: 7)
      try poll(polling, [FakeGame()])
      #expect(polling.sql("SELECT COUNT(*) FROM notifications") == "0")
      try polling.addLeases()
      try poll(polling, [FakeGame()])
      #expect(due(polling) == ["fcm It's your turn in: game"])
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
      // The quiet hours end within the hour, and the notification expires later.
      #expect(
        polling.sql(
          """
          SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(3), d.due_at) BETWEEN 57 AND 60,
            TIMESTAMPDIFF(MINUTE, d.due_at, n.expires_at) BETWEEN 1439 AND 1440
          FROM deliveries d JOIN notifications n ON n.id = d.notification_id
          WHERE d.channel = 'fcm' AND n.kind = 'turn'
          """) == "1\t1")
      // The badge makes no sound, so it is sent.
      #expect(polling.badges == ["1"])
      try deliver(polling)
      android.quietHours = .set(hours(areNow: false))
      try register(polling, [android])
      try poll(polling, [FakeGame()])
      #expect(due(polling) == ["fcm It's your turn in: game"])
    }
  }

  @Test func whatCouldNotBeSentBeforeQuietHoursWaitsForTheirEnd() throws {
    try withPolling { polling throws in
      var android = try androidDevice()
      try register(polling, [android])
      try poll(polling, [FakeGame()])
      #expect(due(polling) == ["fcm It's your turn in: game"])
      android.quietHours = .set(hours(areNow: true))
      try register(polling, [android])
      for _ in 1...2 {
        try poll(polling, [FakeGame()])
        #expect(due(polling) == [])
        #expect(
          polling.sql("SELECT state, reason FROM deliveries WHERE state = 'dead'")
            == "dead\twithdrawn")
      }
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
      // The phone follows its user's settings again: all devices are quiet, and the turn stays new.
      phone.quietHours = .set(nil)
      try register(polling, [phone])
      try poll(polling, [FakeGame(), FakeGame(id: 2)])
      #expect(polling.sql("SELECT notified_move FROM ogs_games ORDER BY position") == "1000\n0")
    }
  }

  @Test func aTurnIsToldAfterQuietHoursThoughNothingHasChangedAtOnlineGo() throws {
    try withPolling { polling throws in
      var phone = try apple()
      phone.quietHours = .set(hours(areNow: true))
      try register(polling, [phone])
      polling.site.answer(7, .tagged(full([FakeGame()]), tag: "\"one\""))
      try polling.poll()
      #expect(due(polling) == [])
      phone.quietHours = .set(nil)
      try register(polling, [phone])
      try polling.poll()
      #expect(due(polling) == ["apns It's your turn in: game"])
      // The next poll stores the tag of the answer.
      try polling.poll()
      #expect(polling.sql("SELECT entity_tag IS NULL FROM ogs_users") == "0")
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
      _ = polling.sql(
        """
        INSERT INTO companion_status (host, version, last_pass_at, missing)
          VALUES ('x', '1', UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, '[]');
        UPDATE deliveries SET due_at = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, reason = 'x' WHERE channel = 'apns';
        """)
      #expect(try records.companions.shortenWaitsIfClockWasSetBack())
      #expect(due(polling) == ["apns It's your turn in: game"])
    }
  }

  @Test(
    arguments: [
      // New York: the clocks go forward at 2 on 2026-03-08, back on 2026-11-01.
      ("2026-03-08 01:00", 5), ("2026-11-01 00:30", 7.5), ("2026-07-15 06:59", 1.0 / 60),
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

import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// What becomes of a user, and of the others, when online-go.com refuses or answers nonsense.
@Suite(.serialized) struct PollFailureTests {
  private static let throttled = #"{"detail":"Request was throttled."}"#

  @Test(arguments: [429, 500, 502, 503, 400, 403])
  func aRefusalBacksOffFromTenSecondsToFifteenMinutes(status: Int) throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .status(status, body: Self.throttled))
      for expected in [10, 20, 40, 80, 160, 320, 640, 900, 900] {
        let began = try polling.poll()
        #expect(polling.isDue(in: expected...expected, since: began), "\(expected)")
      }
      #expect(polling.failure == "9\t\(status)")
      polling.site.answer(7, .body(full([FakeGame()])))
      let began = try polling.poll()
      #expect(polling.failure == "0\tNULL")
      #expect(polling.isDue(in: 30...30, since: began))
      #expect(polling.alerts.count == 1)
    }
  }

  @Test func retryAfterIsKeptHoweverLong() throws {
    try withPolling { polling throws in
      try polling.register()
      let date = DateFormatter()
      date.locale = Locale(identifier: "en_US_POSIX")
      date.timeZone = TimeZone(identifier: "GMT")
      date.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
      for (value, expected) in [
        ("120", 120...120), ("7200", 7200...7200), ("in an hour", 3598...3600), ("soon", 80...80),
        ("-5", 160...160),
      ] {
        let inAnHour = date.string(from: Date(timeIntervalSinceNow: 3600))
        let field = "Retry-After: \(value.replacing("in an hour", with: inAnHour))"
        polling.site.answer(7, .status(429, body: Self.throttled, fields: [field]))
        let began = try polling.poll()
        #expect(polling.isDue(in: expected, since: began), "\(value)")
      }
    }
  }

  @Test func threeUsersRefusedInARowPauseAll() throws {
    try withPolling { polling throws in
      for user in 1...9 { try polling.register(Int64(user)) }
      polling.site.answerOthers(.status(429, body: Self.throttled))
      var began = try polling.poll()
      #expect(polling.site.total == 3)
      #expect(polling.isPaused(for: 10...10, since: began))
      _ = polling.sql("UPDATE ogs_pause SET paused_until = paused_until + INTERVAL 1 MINUTE")
      try polling.poll()
      #expect(polling.site.total == 3)
      // After the pause one try, and a longer pause.
      _ = polling.sql("UPDATE ogs_pause SET paused_until = UTC_TIMESTAMP(3)")
      began = try polling.poll()
      #expect(polling.site.total == 4)
      #expect(polling.isPaused(for: 20...20, since: began))
      _ = polling.sql("UPDATE ogs_pause SET paused_until = UTC_TIMESTAMP(3)")
      polling.site.answerOthers(.body(full([FakeGame]())))
      try polling.poll()
      #expect(polling.site.total == 13)
      #expect(
        polling.sql("SELECT refused_users, pauses, paused_until FROM ogs_pause") == "[]\t0\tNULL")
    }
  }

  @Test func thePauseIsAsLongAsRetryAfterSays() throws {
    try withPolling { polling throws in
      for user in 1...4 { try polling.register(Int64(user)) }
      polling.site.answerOthers(.status(503, fields: ["Retry-After: 4000"]))
      let began = try polling.poll()
      #expect(polling.site.total == 3)
      #expect(polling.isPaused(for: 4000...4000, since: began))
    }
  }

  @Test func oneUserWhoIsAlwaysRefusedPausesNobody() throws {
    try withPolling { polling throws in
      try polling.register(1)
      try polling.register(2)
      polling.site.answerOthers(.status(500))
      for _ in 0..<10 { try polling.poll() }
      #expect(polling.site.count(1) == 10)
      #expect(polling.sql("SELECT paused_until FROM ogs_pause") == "NULL")
    }
  }

  @Test func whoIsGoneIsAskedForAtTheLongestInterval() throws {
    try withPolling { polling throws in
      try polling.register()
      for _ in 0..<2 {
        let began = try polling.poll()
        #expect(polling.isDue(in: 300...300, since: began))
      }
      #expect(polling.failure == "2\t404: there is no such user")
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_registrations") == "1")
    }
  }

  /// Each costs its user this round only, and nobody else anything.
  private static let hostile: [FakeOGS.Answer] = [
    .body(#"{"active_games":[{"#), .body("{}"), .body("{\"active_games\":null}"),
    .body(#"{"x":"# + String(repeating: "[", count: 200_000)), .truncated(full([FakeGame()])),
    .large(bytes: 8 << 20), .body("<html>We are down for maintenance</html>"), .body(""),
    .packed("{" + String(repeating: " ", count: 9 << 20)),
    .status(200, body: full([FakeGame()]), fields: ["Content-Encoding: gzip"]),
  ]

  @Test(arguments: hostile.indices)
  func aHostileAnswerCostsThatUserOneRound(number: Int) throws {
    try withPolling { polling throws in
      for user in [1, 7, 8] { try polling.register(Int64(user)) }
      polling.site.answerOthers(.body(full([FakeGame(player: "8")])))
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.poll()
      #expect(polling.alerts.count == 2)
      polling.site.answer(7, Self.hostile[number])
      let began = try polling.poll()
      #expect(polling.failure.hasPrefix("1\t"))
      #expect(polling.isDue(in: 10...10, since: began))
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_users WHERE failures = 0") == "2")
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_games WHERE ogs_user_id = 7") == "1")
      polling.site.answer(7, .body(full([FakeGame(), FakeGame(id: 2, name: "next")])))
      try polling.poll()
      #expect(polling.failure == "0\tNULL")
      #expect(polling.alerts.last == "It's your turn in: next")
      #expect(polling.alerts.count == 3)
    }
  }

  @Test func aUserWhoseTurnsCannotBeStoredDoesNotStopTheOthers() throws {
    try withPolling { polling throws in
      for user in 6...8 { try polling.register(Int64(user)) }
      _ = polling.sql(
        """
        CREATE TRIGGER broken BEFORE INSERT ON ogs_games FOR EACH ROW
          SET NEW.name = IF(NEW.ogs_user_id = 7, NULL, NEW.name)
        """)
      polling.site.answerOthers(.body(full([FakeGame(player: "8")])))
      try polling.poll()
      #expect(polling.failure == "1\tthe answer cannot be stored")
      #expect(polling.sql("SELECT ogs_user_id FROM ogs_games ORDER BY 1") == "6\n8")
      #expect(polling.alerts.count == 1)
    }
  }

  @Test func anAnswerOfEightMiBIsRead() throws {
    try withPolling { polling throws in
      try polling.register()
      let games = full([FakeGame()])
      let padding = String(repeating: " ", count: (8 << 20) - games.utf8.count)
      polling.site.answer(7, .body(games + padding))
      try polling.poll()
      #expect(polling.alerts.count == 1)
      polling.site.answer(7, .body(games + padding + " "))
      try polling.poll()
      #expect(polling.failure == "1\tmore than \(8 << 20) bytes")
    }
  }

  @Test func aRedirectElsewhereIsNotFollowed() throws {
    try withPolling { polling throws in
      let elsewhere = try #require(FakeOGS())
      defer { elsewhere.end() }
      try polling.register()
      let path = "/api/v1/players/7/full"
      for target in [elsewhere.url + path, polling.site.url + path, "https://example.org/", path] {
        polling.site.answer(7, .status(302, fields: ["Location: \(target)"]))
        try polling.poll()
        #expect(polling.failure.hasSuffix("\t302: redirected elsewhere"), "\(target)")
      }
      #expect(elsewhere.connections == 0)
      #expect(polling.site.count(7) == 4)
    }
  }

  @Test(arguments: [
    ("https://a.org/x", "https://a.org/y", true), ("http://a.org/x", "https://A.org/y", true),
    ("https://a.org/x", "http://a.org/y", false), ("https://a.org/x", "https://b.org/y", false),
    ("https://a.org/x", "https://a.org.b.org/", false),
    ("https://a.org/x", "https://a.org@b.org/", false),
    ("https://a.org/x", "ftp://a.org/", false), ("https://a.org/x", "file:///etc/passwd", false),
    ("https://a.org/x", "y", false),
  ])
  func redirectsGoToTheSameHostByHTTPS(from: String, to: String, may: Bool) {
    #expect(HTTPClient.mayFollow(from: from, to: to) == may)
  }

  @Test(arguments: [true, false])
  func whoNeverAnswersIsGivenUp(isSilent: Bool) throws {
    try withPolling { polling throws in
      let text = full([FakeGame()])
      polling.site.answer(7, isSilent ? .silence : .slow(text))
      let client = HTTPClient(userAgent: "test")
      let limits = HTTPClient.Limits(connecting: .seconds(1), total: .milliseconds(300), body: 1000)
      let start = ContinuousClock.now
      #expect(throws: HTTPError.self) {
        try client.get(
          "\(polling.site.url)/api/v1/players/7/full", entityTag: nil, limits: limits)
      }
      #expect(ContinuousClock.now - start < .seconds(5))
    }
  }

  @Test func withoutAServerAllArePausedAndThenPolled() throws {
    try withPolling { polling throws in
      for user in 1...5 { try polling.register(Int64(user)) }
      polling.site.end()
      try polling.poll()
      #expect(polling.sql("SELECT SUM(failures) FROM ogs_users") == "3")
      #expect(polling.sql("SELECT paused_until > UTC_TIMESTAMP(3) FROM ogs_pause") == "1")
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_users WHERE claim_id IS NOT NULL") == "0")
    }
  }
}

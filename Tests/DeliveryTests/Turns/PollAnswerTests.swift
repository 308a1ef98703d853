import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Answers of online-go.com that are hostile, too large or late.
@Suite(.serialized) struct PollAnswerTests {
  /// Each answer costs its user one round, and does not affect other users.
  private static let hostile: [FakeOGS.Answer] = [
    .body(#"{"active_games":[{"#), .body("{}"), .body("{\"active_games\":null}"),
    .body(#"{"x":"# + String(repeating: "[", count: 200_000)), .truncated(full([FakeGame()])),
    .large(bytes: 8 << 20), .body("<html>We are down for maintenance</html>"), .body(""),
    .packed("{" + String(repeating: " ", count: 9 << 20)),
    .status(200, body: full([FakeGame()]), fields: ["Content-Encoding: gzip"]),
  ]

  @Test(arguments: hostile.indices)
  func aHostileAnswerCostsItsUserOneRound(number: Int) throws {
    try withPolling { polling throws in
      for user in [1, 7, 8] { try polling.register(Int64(user)) }
      polling.site.answerOthers(.body(full([FakeGame(player: "8")])))
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.poll()
      #expect(polling.alerts.count == 2)
      try polling.deliver()
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

  @Test func answersOfUpToEightMiBAreRead() throws {
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

  @Test func aRedirectToAnotherPlaceIsNotFollowed() throws {
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
    let (from, to) = (WebURL(from)!, WebURL(to))
    #expect(to.map { HTTPClient.mayFollow(from: from, to: $0) } ?? false == may)
  }

  @Test(arguments: [true, false])
  func aServerThatNeverAnswersIsGivenUp(isSilent: Bool) throws {
    try withPolling { polling throws in
      polling.site.answer(7, isSilent ? .silence : .drip)
      let clock = TestClock()
      let request = Background {
        let client = HTTPClient(userAgent: "test", clock: clock.limits)
        let url = "\(polling.site.url)/api/v1/players/7/full"
        let error = #expect(throws: HTTPError.self) {
          try client.get(.configured(url), entityTag: nil, limits: .init())
        }
        #expect(error?.reason == "Timeout was reached")
      }
      wait(for: "the request") { polling.site.isBeingAsked(7) }
      clock.advance(by: .seconds(7))
      try request.finish()
    }
  }
}

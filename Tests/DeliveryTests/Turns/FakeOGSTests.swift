import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The fake online-go.com: its refusals, and its answers from a folder of games.
@Suite struct FakeOGSTests {
  @Test(arguments: [
    ("GET", "/api/v1/players/7/full", 200), ("GET", "/api/v1/players/8/full", 404),
    ("GET", "/api/v1/players/0/full", 404), ("GET", "/api/v1/players/seven/full", 404),
    ("POST", "/api/v1/players/7/full", 405), ("GET", "/api/v1/ui/overview", 401),
    ("GET", "/user/view/7", 404),
  ])
  func unknownUsersAndRoutesAreRefused(method: String, path: String, status: Int) throws {
    let site = try #require(FakeOGS())
    defer { site.end() }
    site.answer(7, .body(full([FakeGame]())))
    let outcome = Site.run([
      "curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out", "%{http_code}",
      "--request", method, site.url + path,
    ])
    #expect(outcome.output == "\(status)")
  }

  @Test func requestsAboveTheRateAreThrottled() throws {
    let clock = TestClock()
    let site = try #require(FakeOGS(requestsPerSecond: 2) { clock.now })
    defer { site.end() }
    let client = HTTPClient(userAgent: "test", clock: .still)
    func statuses() throws -> [Int] {
      try (1...3).map { _ in
        try client.get(
          .configured("\(site.url)/api/v1/players/7/full"), entityTag: nil, limits: .init()
        ).status
      }
    }
    #expect(try statuses() == [404, 404, 429])
    clock.advance(by: .seconds(1))
    #expect(try statuses() == [404, 404, 429])
  }

  private func withGames(
    _ files: [String: String], _ body: (GameFolder) throws -> Void
  ) throws {
    try withFolder { delivery throws in
      let user = "\(delivery.folder)/7"
      try FileManager.default.createDirectory(atPath: user, withIntermediateDirectories: true)
      for (name, text) in files {
        try text.write(toFile: "\(delivery.folder)/\(name)", atomically: true, encoding: .utf8)
      }
      try body(GameFolder(delivery.folder))
    }
  }

  @Test(arguments: [
    ("mine Joseki \"\\ \u{1}\n", true), ("mine", true), ("theirs A game", false),
    ("paused A game", false), ("stone-removal A game", false),
  ])
  func aFileIsAGame(text: String, isTurn: Bool) throws {
    let start = Int64(Date.now.timeIntervalSince1970 * 1000)
    try withGames(["7/12": text]) { folder in
      guard case .body(let answer) = folder.answer(to: 7) else {
        Issue.record("no games")
        return
      }
      let seen = try SeenGames(ofPlayer: Array(answer.utf8), for: 7)
      let game = try #require(seen.games.first)
      let name = text.split(separator: " ", maxSplits: 1).dropFirst().first ?? "Game 12"
      #expect(game.id == 12)
      #expect(
        game.name
          == name.trimmingCharacters(in: .newlines).replacing("\u{1}", with: "\u{FFFD}"))
      #expect(game.isTurn(of: 7) == isTurn)
      #expect(game.lastMove > start - 10_000 && game.lastMove < start + 60_000)
    }
  }

  @Test func emptyFilesAndFinishedGamesAreNoGames() throws {
    try withGames(["7/1": "", "7/2": "finished A game"]) { folder in
      guard case .body(let answer) = folder.answer(to: 7) else {
        Issue.record("no games")
        return
      }
      let seen = try SeenGames(ofPlayer: Array(answer.utf8), for: 7)
      #expect(seen.games.isEmpty)
    }
  }

  @Test(
    arguments: [
      (["7/1": "ours"], 7, 500, []), ([:], 8, 404, []),
      (["fault": "status 429 60\n"], 7, 429, ["Retry-After: 60"]),
      (["fault": "status 503"], 7, 503, []),
      (["fault": "nonsense"], 7, 500, []),
    ] as [([String: String], Int64, Int, [String])])
  func aFolderCanRefuse(files: [String: String], user: Int64, status: Int, fields: [String]) throws
  {
    try withGames(files) { folder in
      guard case .status(status, _, fields) = folder.answer(to: user) else {
        Issue.record("not \(status): \(folder.answer(to: user))")
        return
      }
    }
  }
}

import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Notifications follow the players' settings.
@Suite(.serialized) struct TurnWishesTests {
  private func poll(_ polling: TestPolling, _ games: [String]) throws {
    polling.site.answer(7, .body(full(games)))
    try polling.poll()
    try polling.deliver()
  }

  private func set(
    _ polling: TestPolling, _ change: (inout TurnSettings) throws -> Void
  ) throws {
    _ = try polling.responder.turnUsers.changeSettings(of: 7, change)
  }

  private func game(
    _ id: Int, live: Bool = false, endsIn minutes: Int? = nil, move: Int = 1000
  ) -> String {
    let end = minutes.map { Int(Date.now.timeIntervalSince1970 * 1000) + $0 * 60_000 }
    let clock = end.map { #","expiration":\#($0)"# } ?? ""
    let json = FakeGame(id: id, name: "game \(id)", lastMove: "\(move)", clock: clock).json
    return #"{"time_per_move":\#(live ? 30 : 86_400),"# + json.dropFirst()
  }

  /// Minutes after midnight, UTC.
  private var minute: Int64 { Timestamp.now().seconds % 86_400 / 60 }

  @Test func turnsWaitForTheEndOfQuietHours() throws {
    try withPolling { polling throws in
      try polling.register()
      let (before, after) = ((minute + 1380) % 1440, (minute + 60) % 1440)
      try set(polling) { $0.quietHours = TurnSettings.QuietHours(from: before, to: after) }
      try poll(polling, [game(1), game(2)])
      #expect(polling.alerts == [])
      // The badge makes no sound, so it is sent.
      #expect(polling.badges == ["2"])
      // The player moves in one game during the quiet hours.
      try poll(polling, [game(2)])
      try set(polling) { $0.quietHours = TurnSettings.QuietHours(from: after, to: before) }
      try poll(polling, [game(2)])
      #expect(polling.alerts == ["It's your turn in: game 2"])
    }
  }

  @Test func quietHoursAreThoseOfTheTimeZone() throws {
    var settings = TurnSettings()
    settings.quietHours = TurnSettings.QuietHours(from: 22 * 60, to: 7 * 60)
    settings.timeZone = "America/New_York"
    // 2026-01-15 and 2026-07-15 are five and four hours behind UTC.
    for (day, hours) in [(Int64(1_768_435_200), Int64(5)), (1_784_073_600, 4)] {
      for (hour, isQuiet) in [(0, true), (6, true), (7, false), (21, false), (22, true)] {
        let instant = Timestamp(seconds: day + (Int64(hour) + hours) * 3600)
        #expect(settings.isQuiet(at: instant) == isQuiet, "\(day) \(hour)")
      }
    }
  }

  @Test func aMutedGameIsNeitherToldNorCounted() throws {
    try withPolling { polling throws in
      try polling.register()
      try set(polling) { $0.mutedGames = [1] }
      try poll(polling, [game(1), game(2)])
      #expect(polling.alerts == ["It's your turn in: game 2"])
      #expect(polling.sql("SELECT badge FROM ogs_devices") == "1")
      try set(polling) { $0.mutedGames = [] }
      try poll(polling, [game(1), game(2)])
      #expect(polling.alerts.last == "It's your turn in: game 1")
      #expect(polling.sql("SELECT badge FROM ogs_devices") == "2")
    }
  }

  @Test func liveGamesCanBeLeftOut() throws {
    try withPolling { polling throws in
      try polling.register()
      try set(polling) { $0.tellsOfLiveGames = false }
      try poll(polling, [game(1, live: true), game(2)])
      #expect(polling.alerts == ["It's your turn in: game 2"])
    }
  }

  @Test func turnsCanBeSwitchedOff() throws {
    try withPolling { polling throws in
      try polling.register()
      try set(polling) { $0.kinds = .gameEnded }
      try poll(polling, [game(1)])
      #expect(polling.alerts == [])
      #expect(polling.badges == ["1"])
    }
  }

  @Test func theEndOfAGameIsToldOnce() throws {
    try withPolling { polling throws in
      try polling.register()
      try set(polling) { $0.kinds = [.turn, .gameEnded] }
      try poll(polling, [game(1), game(2)])
      try poll(polling, [game(2)])
      try poll(polling, [game(2)])
      #expect(polling.alerts == ["It's your turn in 2 games", "Game over: game 1"])
    }
  }

  @Test(arguments: [(59, true), (61, false), (-5, false)])
  func aClockUnderAnHourIsToldOnceAMove(minutes: Int, isTold: Bool) throws {
    try withPolling { polling throws in
      try polling.register()
      try set(polling) { $0.kinds = .clock }
      try poll(polling, [game(1, endsIn: minutes), game(2, live: true, endsIn: minutes)])
      try poll(polling, [game(1, endsIn: minutes), game(2, live: true, endsIn: minutes)])
      let expected = isTold ? ["Less than an hour left in: game 1"] : []
      #expect(polling.alerts == expected)
      try poll(polling, [game(1, endsIn: minutes, move: 2000)])
      #expect(polling.alerts == expected + expected)
    }
  }

  @Test func aWarningThatIsOverIsWithdrawn() throws {
    try withPolling { polling throws in
      try polling.register()
      try set(polling) { $0.kinds = .clock }
      polling.site.answer(7, .body(full([game(1, endsIn: 30)])))
      try polling.poll()
      polling.site.answer(7, .body(full([FakeGame(player: "8", lastMove: "2000")])))
      try polling.poll()
      #expect(
        polling.sql(
          "SELECT d.reason FROM deliveries d JOIN notifications n ON n.id = d.notification_id WHERE n.kind = 'clock'"
        ) == "withdrawn")
    }
  }

  @Test func liveGamesArePolledAtTheirOwnInterval() throws {
    try withPolling { polling throws in
      try polling.register()
      let pace = PollPace(interval: .seconds(30), liveInterval: .seconds(5))
      let companion = polling.companion(pace: pace)
      polling.site.answer(7, .body(full([game(1, live: true)])))
      var began = try polling.poll(companion)
      #expect(polling.isDue(in: 5...5, since: began))
      polling.site.answer(7, .body(full([game(1)])))
      began = try polling.poll(companion)
      #expect(polling.isDue(in: 30...30, since: began))
    }
  }
}

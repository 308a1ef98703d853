import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Effects on a user, and on the others, when online-go.com refuses a poll.
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

  @Test func aLongRetryAfterIsKeptUpToADay() throws {
    try withPolling { polling throws in
      try polling.register()
      let date = DateFormatter()
      date.locale = Locale(identifier: "en_US_POSIX")
      date.timeZone = TimeZone(identifier: "GMT")
      date.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
      for (value, expected) in [
        ("120", 120...120), ("7200", 7200...7200), ("in an hour", 3598...3600), ("soon", 80...80),
        ("-5", 160...160), ("999999999999", 86_400...86_400),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400...86_400),
      ] {
        let inAnHour = date.string(from: Date(timeIntervalSinceNow: 3600))
        let field = "Retry-After: \(value.replacing("in an hour", with: inAnHour))"
        polling.site.answer(7, .status(429, body: Self.throttled, fields: [field]))
        let began = try polling.poll()
        #expect(polling.isDue(in: expected, since: began), "\(value)")
      }
    }
  }

  @Test func threeUsersRefusedInARowPauseAllPolls() throws {
    try withPolling { polling throws in
      for user in 1...9 { try polling.register(Int64(user)) }
      polling.site.answerOthers(.status(429, body: Self.throttled))
      var began = try polling.poll()
      #expect(polling.site.total == 3)
      #expect(polling.isPaused(for: 10...10, since: began))
      _ = polling.sql("UPDATE ogs_pause SET paused_until = paused_until + INTERVAL 1 MINUTE")
      try polling.poll()
      #expect(polling.site.total == 3)
      // After the pause there is one attempt, and then a longer pause.
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

  @Test func thePauseLastsAsLongAsRetryAfter() throws {
    try withPolling { polling throws in
      for user in 1...4 { try polling.register(Int64(user)) }
      polling.site.answerOthers(.status(503, fields: ["Retry-After: 4000"]))
      let began = try polling.poll()
      #expect(polling.site.total == 3)
      #expect(polling.isPaused(for: 4000...4000, since: began))
    }
  }

  @Test func oneUserWhoIsAlwaysRefusedPausesNoOther() throws {
    try withPolling { polling throws in
      try polling.register(1)
      try polling.register(2)
      polling.site.answerOthers(.status(500))
      for _ in 0..<10 { try polling.poll() }
      #expect(polling.site.count(1) == 10)
      #expect(polling.sql("SELECT paused_until FROM ogs_pause") == "NULL")
    }
  }

  @Test func aUserWhoIsGoneIsPolledAtTheLongestInterval() throws {
    try withPolling { polling throws in
      try polling.register()
      for _ in 0..<2 {
        let began = try polling.poll()
        #expect(polling.isDue(in: 120...120, since: began))
      }
      #expect(polling.failure == "2\t404: there is no such user")
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_registrations") == "1")
    }
  }

  @Test func withoutAServerAllPollsArePaused() throws {
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

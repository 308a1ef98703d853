import Foundation
import HTTP
import Logging
import Store
import Support
import Synchronization
import Testing

@testable import API

/// Registration, diagnostics, checks and users of a device.
@Suite struct TurnsTests {
  @Test func aDeviceIsRegisteredAndUnregistered() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      for _ in 0..<2 {
        let answer = phone.register()
        #expect(answer.status == 200)
        #expect(answer.text == #"{"status":"registered"}"#)
      }
      #expect(
        site.sql("SELECT ogs_user_id, device_token FROM ogs_registrations")
          == "1783478\t\(TurnsPhone.token)")
      for _ in 0..<2 {
        #expect(phone.unregister().text == #"{"status":"unregistered"}"#)
      }
      #expect(site.sql("SELECT COUNT(*) FROM ogs_registrations") == "0")
      #expect(
        site.sql("SELECT event FROM audit_log ORDER BY id").split(separator: "\n").suffix(2)
          == ["turns_registered", "turns_unregistered"])
    }
  }

  @Test func aKeyCannotUnregisterTheDeviceOfAnotherUser() throws {
    try withApplication { site throws in
      let (phone, stranger) = (try site.phone(), try site.phone(of: 42))
      #expect(phone.register().status == 200)
      #expect(stranger.unregister().status == 200)
      #expect(site.sql("SELECT COUNT(*) FROM ogs_registrations") == "1")
    }
  }

  private static let token = TurnsPhone.token

  @Test(arguments: [
    ("<\(token)>", token), ("<abab abab \(token)>", "abababab" + token),
    (token.uppercased(), token), (" \(token) ", token),
    (String(repeating: "0", count: 400), String(repeating: "0", count: 400)),
  ])
  func deviceTokensAreNormalized(given: String, stored: String) throws {
    try withApplication { site throws in
      let phone = try site.phone()
      #expect(phone.register(given).status == 200)
      #expect(site.sql("SELECT device_token FROM ogs_registrations") == stored)
      #expect(phone.unregister(given).status == 200)
      #expect(site.sql("SELECT COUNT(*) FROM ogs_registrations") == "0")
    }
  }

  @Test(arguments: [
    ("POST", "", "Invalid JSON"), ("POST", "[1]", "Invalid JSON"), ("DELETE", "{", "Invalid JSON"),
    ("POST", "{}", "user_id and device_token are required"),
    ("POST", #"{"user_id":"1783478"}"#, "user_id and device_token are required"),
    ("POST", #"{"user_id":"1783478","device_token":" "}"#, "user_id and device_token are required"),
    ("POST", #"{"user_id":"","device_token":"a"}"#, "user_id and device_token are required"),
    ("POST", #"{"user_id":"me","device_token":"\#(token)"}"#, "Invalid user ID"),
    ("POST", #"{"user_id":"1783478","device_token":"a"}"#, "Invalid device token"),
    ("POST", #"{"user_id":"1783478","device_token":"\#(token)g"}"#, "Invalid device token"),
    (
      "POST", #"{"user_id":1783478,"device_token":"\#(String(repeating: "a", count: 401))"}"#,
      "Invalid device token"
    ),
    ("DELETE", "{}", "device_token is required"),
    ("DELETE", #"{"device_token":"x"}"#, "Invalid device token"),
  ])
  func malformedRegistrationsAreRefused(method: String, json: String, text: String) throws {
    try withApplication { site throws in
      expect(try site.phone().send(method, "/register", json), 400, text)
      #expect(site.sql("SELECT COUNT(*) FROM ogs_users") == "0")
    }
  }

  @Test func registrationsAreLimitedToSixtyAnHour() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      for _ in 0..<60 { #expect(phone.register().status == 200) }
      expect(phone.register(), 429, "Too many requests")
      #expect(try site.phone(of: 42).register().status == 200)
    }
  }

  @Test func aNewDeviceMakesItsUserDueUnlessThePollBacksOff() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      _ = phone.register()
      let isDue = "SELECT due_at <= UTC_TIMESTAMP(3) FROM ogs_users"
      #expect(site.sql(isDue) == "1")
      let later = "UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3) + INTERVAL 5 MINUTE"
      site.sql(later)
      _ = phone.register()
      #expect(site.sql(isDue) == "0")
      _ = phone.register(String(repeating: "c", count: 64))
      #expect(site.sql(isDue) == "1")
      site.sql("\(later), failures = 1")
      _ = phone.register(String(repeating: "d", count: 64))
      #expect(site.sql(isDue) == "0")
      site.sql("\(later), failures = 0, claim_id = UUID()")
      _ = phone.register(String(repeating: "e", count: 64))
      #expect(site.sql(isDue) == "0")
    }
  }

  /// The app's own type; there the two members after `?` are optional.
  private struct Diagnostics: Decodable {
    struct Game: Decodable {
      let gameId: Int
      let lastMoveTimestamp: Int64
      let currentPlayer: Int
      let isYourTurn: Bool
      let gameName: String
    }
    let userId: String
    let deviceTokenRegistered: Bool
    let deviceTokenPreview: String?
    let lastNotificationTime: Double
    let monitoredGames: [Game]
    let totalActiveGames: Int
    let serverCheckInterval: String
    let lastServerCheckTime: Double?
  }

  @Test func theAppCanDecodeDiagnostics() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      let none = phone.send("GET", "/diagnostics/1783478")
      #expect(
        none.text
          == #"{"user_id":"1783478","device_token_registered":false,"last_notification_time":0,"monitored_games":[],"total_active_games":0,"server_check_interval":"30s","last_server_check_time":0,"notifications_queued":0,"notifications_sent":0,"notifications_failed":0}"#
      )
      _ = phone.register()
      site.sql(
        """
        UPDATE ogs_users SET checked_at = FROM_UNIXTIME(1758475925);
        UPDATE ogs_registrations SET last_notified_at = FROM_UNIXTIME(1758474790.961);
        INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running)
        VALUES (1783478, 79504463, 1, 'test game', 1758474319701, 1783478, TRUE),
          (1783478, 9007199254740993, 0, '"', 5, 0, TRUE), (1783478, 3, 2, '', 6, 1783478, FALSE)
        """)
      let answer = phone.send("GET", "/diagnostics/1783478")
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      let read = try decoder.decode(Diagnostics.self, from: Data(answer.response.body))
      #expect(read.deviceTokenRegistered)
      #expect(read.deviceTokenPreview == "abababababababab...")
      #expect(read.lastNotificationTime == 1_758_474_790_961)
      #expect(read.lastServerCheckTime == 1_758_475_925)
      #expect(read.monitoredGames.map(\.gameId) == [9_007_199_254_740_993, 79_504_463, 3])
      #expect(read.monitoredGames.map(\.isYourTurn) == [false, true, false])
      #expect(read.monitoredGames.map(\.currentPlayer) == [0, 1_783_478, 1_783_478])
      #expect(read.totalActiveGames == 3)
    }
  }

  @Test func onlyUsersOfADeviceSeeItsUsers() throws {
    try withApplication { site throws in
      let (phone, second, stranger) = (
        try site.phone(), try site.phone(of: 123_456), try site.phone(of: 42)
      )
      _ = phone.register()
      site.advance(by: .seconds(1))
      _ = second.register()
      let path = "/users-by-token/\(Self.token)"
      let both = #"{"device_token":"\#(Self.token)","user_ids":["1783478","123456"]}"#
      #expect(phone.send("GET", path).text == both)
      #expect(second.send("GET", "/users-by-token/<\(Self.token.uppercased())>").text == both)
      #expect(
        stranger.send("GET", path).text == #"{"device_token":"\#(Self.token)","user_ids":[]}"#)
      let unknown = phone.send("GET", "/users-by-token/unknown")
      #expect(unknown.status == 200)
      #expect(unknown.text == #"{"device_token":"unknown","user_ids":[]}"#)
    }
  }

  /// The answer to a check whose job ends with `result`.
  private func check(
    _ site: TestApplication, _ phone: TurnsPhone, result: String
  ) throws -> Answer {
    let answer = Mutex<Answer?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let given = phone.send("GET", "/check/1783478")
      answer.withLock { $0 = given }
      done.signal()
    }
    wait(for: "an open job") { site.sql("SELECT COUNT(*) FROM jobs WHERE state = 'open'") == "1" }
    #expect(
      site.sql("SELECT kind, request FROM jobs WHERE state = 'open'")
        == "turn_check\t{\"user_id\":1783478}")
    site.sql(
      "UPDATE jobs SET state = 'done', finished_at = NOW(3), result = '\(result)' WHERE state = 'open'"
    )
    waiting(for: "the answer to the check") { done.wait() }
    return try #require(answer.withLock { $0 })
  }

  @Test func aCheckAnswersWhatTheCompanionSaw() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      let result = #"{"not_your_turn":[79504999],"your_turn_new":[79504463],"your_turn_old":[]}"#
      let answer = try check(site, phone, result: result)
      #expect(answer.status == 200)
      #expect(answer.text == result)
      #expect(answer.field("Content-Type") == "application/json")
      let error = #"{"error":"Failed to fetch turn status"}"#
      expect(try check(site, phone, result: error), 500, "Failed to fetch turn status")
    }
  }

  /// A poll may be forbidden, for example by the limit of polls.
  @Test func aCheckThatMayNotAskAnswersFromTheLastPollWhileItIsYoung() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      _ = phone.register()
      let error = #"{"error":"Failed to fetch turn status"}"#
      func answer(checkedAt: String, failure: String = "NULL") throws -> Answer {
        site.sql("UPDATE ogs_users SET checked_at = \(checkedAt), failure = \(failure)")
        return try check(site, phone, result: error)
      }
      expect(try answer(checkedAt: "NULL"), 500, "Failed to fetch turn status")
      site.sql(
        """
        INSERT INTO ogs_games (ogs_user_id, game_id, name, last_move, current_player, is_running, position, notified_move)
        VALUES (1783478, 1, 'a', 5, 1783478, TRUE, 0, 4), (1783478, 2, 'b', 5, 1783478, TRUE, 1, 5),
          (1783478, 3, 'c', 5, 42, TRUE, 2, 0)
        """)
      let young = try answer(checkedAt: "UTC_TIMESTAMP(3) - INTERVAL 95 SECOND")
      #expect(young.status == 200)
      #expect(young.text == #"{"not_your_turn":[3],"your_turn_new":[1],"your_turn_old":[2]}"#)
      for (checkedAt, failure) in [
        ("UTC_TIMESTAMP(3) - INTERVAL 121 SECOND", "NULL"), ("UTC_TIMESTAMP(3)", "'503'"),
      ] {
        expect(
          try answer(checkedAt: checkedAt, failure: failure), 500, "Failed to fetch turn status")
      }
    }
  }

  @Test func checksAreLimitedToTwentyAMinute() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      site.sql(
        """
        INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
        VALUES ('turns-check', '1783478', FROM_UNIXTIME(\(site.now.seconds)), 60, 20, 20)
        """)
      expect(phone.send("GET", "/check/1783478"), 429, "Too many requests")
      #expect(site.sql("SELECT COUNT(*) FROM jobs") == "0")
    }
  }

  @Test func deviceTokensAreNotLogged() throws {
    let lines = LogLines()
    try withDatabase { root throws in
      let application = Application.ofTests(
        on: accountSettings(of: "responder", in: root), log: Logger(label: "test") { _ in lines })
      for path in ["/users-by-token/\(Self.token)", "/users-by-token/x/\(Self.token)"] {
        _ = application.checkedResponse(to: Request(path: path))
      }
    }
    #expect(lines.all.count == 2)
    #expect(lines.all.allSatisfy { $0.contains("/users-by-token/[redacted]") })
    #expect(!lines.all.joined().contains(Self.token))
  }
}

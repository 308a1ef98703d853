import Foundation
import Support
import Testing

/// From a move at a fake online-go.com to the push at a fake Apple.
@Suite(.serialized) struct TurnsTests {
  private let token = String(repeating: "0123456789abcdef", count: 4)

  @Test func eachTurnBecomesOnePush() async throws {
    try await withSite(environment: ["CHECK_INTERVAL_SECONDS": "1"], hasFakes: true) { site in
      let player = try site.issueKey(for: 1_783_478)
      let registered = site.post(
        "/register", #"{"user_id":"1783478","device_token":"\#(token)"}"#, player.header)
      #expect(registered.body == #"{"status":"registered"}"#)
      try site.write("theirs test game", as: 79_504_463, of: player)
      try site.pollTwice(player)
      #expect(try site.pushes().isEmpty)

      try site.write("mine test game", as: 79_504_463, of: player)
      try site.pollTwice(player)
      try wait(for: "a push") { try !site.pushes().isEmpty }
      #expect(try site.pushes().count == 1)
      let push = try #require(try site.pushes().first)
      #expect(push.token == token)
      #expect(push.topic == "com.example.switchboard")
      #expect(push.status == 200)
      var payload = try #require(
        try JSONSerialization.jsonObject(with: Data(push.payload.utf8)) as? [String: Any])
      #expect(payload.removeValue(forKey: "last_move") as? Int64 ?? 0 > 1_000_000_000_000)
      #expect(
        payload as NSDictionary == [
          "aps": [
            "alert": "It's your turn in: test game", "badge": 1, "sound": "default",
            "thread-id": "game-79504463", "category": "turn",
          ],
          "web_url": "https://online-go.com/game/79504463", "app_url": "ogs://game/79504463",
          "game_id": 79_504_463, "user_id": "1783478", "action": "open_game",
          "game_name": "test game",
        ])

      try site.pollTwice(player)
      #expect(try site.pushes().count == 1, "nobody has moved")

      try site.write("mine test game", as: 79_504_463, of: player)
      try site.pollTwice(player)
      try wait(for: "a second push") { try site.pushes().count >= 2 }
      #expect(try site.pushes().count == 2)

      let notifications = "SELECT kind, device, state, status, attempts FROM notifications_today"
      let row = "turn\t0123456789abcdef…\tdelivered\t200\t1"
      try wait(for: "both notifications in the view") {
        try site.administrator(notifications) == "\(row)\n\(row)"
      }
      #expect(
        try site.administrator(
          "SELECT ogs_user_id, active_games, failures FROM notified_last WHERE last_notified_at")
          == "1783478\t1\t0")
      #expect(
        try site.administrator("SELECT ogs_user_id, active_games, failures FROM polls")
          == "1783478\t1\t0")
    }
  }

  @Test func aCheckAnswersTheGamesAndPushesAtOnce() async throws {
    // The interval is too long for this test, so only a wake-up can cause a push.
    try await withSite(environment: ["CHECK_INTERVAL_SECONDS": "3600"], hasFakes: true) { site in
      // Waits for the first pass, because it would poll the player too.
      try wait(for: "the first pass of the companion") {
        try site.sql("SELECT COUNT(*) FROM companion_status") == "1\n"
      }
      let player = try site.issueKey(for: 7)
      _ = site.post("/register", #"{"user_id":"7","device_token":"\#(token)"}"#, player.header)
      try site.write("mine", as: 1, of: player)
      try site.write("theirs", as: 2, of: player)
      let check = site.curl("/check/7", "--header", player.header)
      #expect(check.status == 200)
      #expect(
        check.body == #"{"not_your_turn":[2],"your_turn_new":[1],"your_turn_old":[]}"#)
      try wait(for: "a push") { try !site.pushes().isEmpty }
      #expect(try site.pushes().count == 1)
    }
  }

  @Test func aMailIsSentWhileOnlineGoDoesNotAnswer() async throws {
    try await withSite(environment: ["CHECK_INTERVAL_SECONDS": "1"], hasFakes: true) { site in
      let player = try site.issueKey(for: 7)
      try "silence".write(toFile: "\(site.state)/ogs/fault", atomically: true, encoding: .utf8)
      _ = site.post("/register", #"{"user_id":"7","device_token":"\#(token)"}"#, player.header)
      // On a busy machine, a poll may end before the mail is sent.
      var number = 0
      try wait(for: "a mail that is sent during a poll, after \(number) others") {
        number += 1
        _ = try site.sql("DELETE FROM rate_limits")
        let person = try site.signUp(email: "ann-\(number)@example.org")
        // The poll waits and holds its lease.
        let lease = "SELECT claim_id FROM ogs_users WHERE claim_id IS NOT NULL"
        var poll = ""
        try wait(for: "a poll") {
          poll = try site.sql(lease)
          return !poll.isEmpty
        }
        _ = site.post("/api/mobile/auth/login", person.body)
        try wait(for: "a mail with a code") { try site.mailedCode(to: person.email) != nil }
        return try site.sql(lease) == poll
      }
    }
  }
}

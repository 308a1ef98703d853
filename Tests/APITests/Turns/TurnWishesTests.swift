import Support
import Testing

@testable import API

/// `/users/:user_id/settings`: the notifications that players want.
@Suite struct TurnWishesTests {
  private static let defaults =
    #"{"quiet_hours":null,"time_zone":"UTC","kinds":["turn"],"live_games":true,"muted_games":[]}"#

  private func change(_ phone: TurnsPhone, _ json: String) -> Answer {
    phone.send("PUT", "/users/\(phone.user)/settings", json)
  }

  @Test func theyHaveDefaults() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      #expect(phone.send("GET", "/users/\(phone.user)/settings").text == Self.defaults)
      #expect(change(phone, "{}").text == Self.defaults)
    }
  }

  @Test func whatIsNotNamedStays() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      let first = change(
        phone,
        #"{"quiet_hours":{"from":"22:30","to":"07:00"},"time_zone":"Europe/Berlin","muted_games":[9,3,9]}"#
      )
      #expect(
        first.text
          == #"{"quiet_hours":{"from":"22:30","to":"07:00"},"time_zone":"Europe/Berlin","kinds":["turn"],"live_games":true,"muted_games":[3,9]}"#
      )
      let second = change(
        phone, #"{"kinds":["clock","turn","game_ended"],"live_games":false,"unknown":1}"#)
      #expect(
        second.text
          == #"{"quiet_hours":{"from":"22:30","to":"07:00"},"time_zone":"Europe/Berlin","kinds":["turn","game_ended","clock"],"live_games":false,"muted_games":[3,9]}"#
      )
      #expect(phone.send("GET", "/users/\(phone.user)/settings").text == second.text)
      #expect(
        change(phone, #"{"quiet_hours":null,"kinds":[]}"#).text
          == #"{"quiet_hours":null,"time_zone":"Europe/Berlin","kinds":[],"live_games":false,"muted_games":[3,9]}"#
      )
    }
  }

  @Test(arguments: [
    ("x", "Invalid JSON"), ("[]", "Invalid JSON"), (#"{"live_games":1}"#, "Invalid JSON"),
    (#"{"quiet_hours":{"from":"22:00"}}"#, "Invalid JSON"),
    (
      #"{"quiet_hours":{"from":"24:00","to":"07:00"}}"#,
      "quiet_hours must be null, or have from and to: two different times such as 22:00"
    ),
    (
      #"{"quiet_hours":{"from":"7:00","to":"08:00"}}"#,
      "quiet_hours must be null, or have from and to: two different times such as 22:00"
    ),
    (
      #"{"quiet_hours":{"from":"07:00","to":"07:00"}}"#,
      "quiet_hours must be null, or have from and to: two different times such as 22:00"
    ),
    (#"{"time_zone":"Mars/Olympus"}"#, "time_zone must be a name such as Europe/Berlin"),
    (#"{"time_zone":"../../etc/passwd"}"#, "time_zone must be a name such as Europe/Berlin"),
    (#"{"kinds":["chat"]}"#, "kinds must be an array of turn, game_ended and clock"),
    (#"{"muted_games":[0]}"#, "muted_games must be an array of at most 500 ids of games"),
  ])
  func malformedSettingsChangeNothing(json: String, text: String) throws {
    try withApplication { site throws in
      let phone = try site.phone()
      expect(change(phone, json), 400, text)
      #expect(site.sql("SELECT COUNT(*) FROM turn_settings") == "0")
    }
  }

  @Test func theyBelongToTheKeysUser() throws {
    try withApplication { site throws in
      let phone = try site.phone(of: 42)
      expect(
        phone.send("GET", "/users/7/settings"), 403, "API key does not belong to this user")
      expect(
        phone.send("PUT", "/users/7/settings", "{}"), 403, "API key does not belong to this user")
      expect(site.send("GET", "/users/7/settings"), 401, "API key required")
    }
  }

  @Test func theyGoWithTheUser() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      #expect(change(phone, #"{"live_games":false}"#).status == 200)
      #expect(phone.send("DELETE", "/users/\(phone.user)").status == 200)
      #expect(site.sql("SELECT COUNT(*) FROM turn_settings") == "0")
    }
  }

  /// A second phone whose app sends no description must not silence the first phone.
  @Test(arguments: ["", #","description":"iOS App API Key""#])
  func onlyAnExplicitDescriptionReplacesAKey(member: String) throws {
    try withApplication { site throws in
      let keys = try (0..<2).map { _ in
        try #require(
          site.generateKey(
            #"{"user_id":7,"master_key":"\#(TestApplication.masterKey)"\#(member)}"#
          ).string("api_key"))
      }
      for key in keys {
        #expect(TurnsPhone(site: site, user: 7, key: key).register().status == 200)
      }
    }
  }

  @Test func aRequestOfTheAppShortensTheIntervalAgain() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      #expect(phone.register().status == 200)
      let idle =
        "UPDATE ogs_users SET interval_seconds = 120, due_at = UTC_TIMESTAMP(3) + INTERVAL 110 SECOND"
      _ = site.sql(
        "\(idle), asked_at = UTC_TIMESTAMP(3) - INTERVAL 1 HOUR")
      #expect(phone.send("GET", "/diagnostics/\(phone.user)").status == 200)
      #expect(
        site.sql(
          "SELECT interval_seconds, due_at <= UTC_TIMESTAMP(3) + INTERVAL 30 SECOND FROM ogs_users")
          == "30\t1")
      // A request right after it writes nothing.
      _ = site.sql(idle)
      #expect(phone.send("GET", "/diagnostics/\(phone.user)").status == 200)
      #expect(site.sql("SELECT interval_seconds FROM ogs_users") == "120")
    }
  }
}

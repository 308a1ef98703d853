import Support
import Testing

@testable import API

/// `DELETE /users/:user_id`, and `POST|DELETE /users/:user_id/api-key`.
@Suite struct TurnsDeletionTests {
  private func fill(_ site: TestApplication, of user: Int) {
    site.sql(
      """
      INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running)
        VALUES (\(user), 8, 0, 'Game', 1, 7, TRUE);
      INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
        VALUES (UUID(), 'turn', 'turn \(user) 1 x', 'c', NOW(3));
      INSERT INTO deliveries (id, notification_id, token, shard)
        SELECT UUID(), id, 't', 1 FROM notifications WHERE event_key LIKE 'turn \(user) %';
      """)
  }

  @Test func everythingOfTheUserGoes() throws {
    try withApplication { site in
      let (ann, tablet, bob) = (
        try site.phone(of: 7), try site.phone(of: 7, description: "tablet"), try site.phone(of: 70)
      )
      for phone in [ann, bob] {
        #expect(phone.register().status == 200)
        fill(site, of: phone.user)
      }
      let answer = ann.send("DELETE", "/users/7")
      #expect(answer.status == 200)
      #expect(answer.text == #"{"status":"deleted"}"#)
      for table in ["ogs_users", "ogs_registrations", "ogs_games", "api_keys", "notifications"] {
        #expect(site.count(table) == 1, "\(table)")
      }
      #expect(site.count("deliveries") == 1)
      #expect(site.sql("SELECT ogs_user_id FROM ogs_registrations") == "70")
      expect(ann.send("DELETE", "/users/7"), 401, "Invalid API key")
      expect(tablet.register(), 401, "Invalid API key")
      #expect(bob.register().status == 200)
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'turns_user_deleted'") == "OGS user 7")
    }
  }

  @Test func aUserWithoutDevicesIsDeletedToo() throws {
    try withApplication { site in
      let phone = try site.phone(of: 7)
      #expect(phone.send("DELETE", "/users/7").status == 200)
      #expect(site.count("api_keys") == 0)
    }
  }

  @Test func oneOf64ParallelDeletionsSucceeds() throws {
    try withApplication { site in
      let phone = try site.phone(of: 7)
      _ = phone.register()
      let statuses = inParallel(64) { number in
        number % 4 == 3 ? phone.register().status : phone.send("DELETE", "/users/7").status
      }
      let deletions = statuses.enumerated().filter { $0.offset % 4 != 3 }.map(\.element)
      #expect(deletions.filter { $0 == 200 }.count == 1)
      #expect(deletions.filter { $0 == 401 }.count == 47)
      #expect(statuses.allSatisfy { [200, 401, 429].contains($0) }, "\(statuses)")
      #expect(
        site.count("ogs_users") + site.count("ogs_registrations") + site.count("api_keys") == 0)
    }
  }

  @Test func aRotatedKeyTakesThePlaceOfTheOldOne() throws {
    try withApplication { site in
      let phone = try site.phone(of: 7, description: "Ann's phone")
      site.advance(by: .seconds(60))
      let answer = phone.send("POST", "/users/7/api-key")
      #expect(answer.status == 200)
      let key = try #require(answer.string("api_key"))
      #expect(key != phone.key)
      #expect(
        answer.text
          == #"{"api_key":"\#(key)","user_id":"7","created_at":"\#(site.now.rfc3339)","description":"Ann's phone"}"#
      )
      expect(phone.register(), 401, "Invalid API key")
      #expect(TurnsPhone(site: site, user: 7, key: key).register().status == 200)
      #expect(site.count("api_keys WHERE revoked_at IS NOT NULL") == 1)
    }
  }

  @Test func oneOf64ParallelRotationsSucceeds() throws {
    try withApplication { site in
      let phone = try site.phone(of: 7)
      let statuses = inParallel(64) { _ in phone.send("POST", "/users/7/api-key").status }
      #expect(statuses.filter { $0 == 200 }.count == 1)
      #expect(statuses.filter { $0 == 401 }.count == 63)
      #expect(site.count("api_keys WHERE revoked_at IS NULL") == 1)
    }
  }

  @Test func aRevokedKeyOpensNothingAndTheOthersDo() throws {
    try withApplication { site in
      let (phone, tablet) = (try site.phone(of: 7), try site.phone(of: 7, description: "tablet"))
      let answer = phone.send("DELETE", "/users/7/api-key")
      #expect(answer.status == 200)
      #expect(answer.text == #"{"status":"revoked"}"#)
      expect(phone.send("DELETE", "/users/7/api-key"), 401, "Invalid API key")
      #expect(tablet.register().status == 200)
      #expect(site.count("audit_log WHERE event = 'api_key_revoked'") == 1)
    }
  }

  private static let routes = [
    ("DELETE", "/users/%/api-key"), ("POST", "/users/%/api-key"), ("DELETE", "/users/%"),
  ]

  @Test(arguments: routes)
  func aKeyServesItsUserOnly(method: String, path: String) throws {
    try withApplication { site in
      let phone = try site.phone(of: 7)
      func send(_ user: String) -> Answer {
        phone.send(method, path.replacing("%", with: user))
      }
      expect(send("42"), 403, "API key does not belong to this user")
      expect(send("abc"), 400, "Invalid user ID")
      let own = path.replacing("%", with: "7")
      expect(site.send(method, own), 401, "API key required")
      expect(site.send(method, own, fields: [("X-API-Key", "x")]), 401, "Invalid API key")
      #expect(site.count("api_keys WHERE revoked_at IS NULL") == 1)
    }
  }
}

import Administration
import Store
import Support
import Testing

/// Terminal commands for users of online-go.com and their API keys.
@Suite struct TurnAdministrationTests {
  private func turns(_ delivery: TestDelivery) -> TurnAdministration {
    TurnAdministration(records: delivery.records())
  }

  private func addKey(_ text: String, of user: Int64, in delivery: TestDelivery) throws {
    try delivery.responder().apiKeys.issue(
      NewAPIKey(
        hash: Array(repeating: text.utf8.first!, count: 32), prefix: text, userID: user,
        description: "Phone \(text)"), replacesEarlier: true)
  }

  @Test func usersAreListedByTheirNumbers() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        """
        INSERT INTO ogs_users (id, failures, failure) VALUES (7, 2, 'HTTP 502'), (8, 0, NULL), (9, 0, NULL);
        INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
          VALUES (7, REPEAT('a', 64), NOW(3)), (7, REPEAT('b', 64), NOW(3));
        """)
      let users = try rows("users", of: turns(delivery).users(after: 0, limit: 10))
      #expect(users.map { $0["id"] as? Int } == [7, 8, 9])
      #expect(users.map { $0["devices"] as? Int } == [2, 0, 0])
      #expect(users[0]["failure"] as? String == "HTTP 502")
      let some = try turns(delivery).users(after: 7, limit: 1)
      #expect(try rows("users", of: some).map { $0["id"] as? Int } == [8])
      #expect(try object(of: some)["is_more"] as? Bool == true)
    }
  }

  @Test func keysAreListedWithoutTheirSecretPart() throws {
    try withDelivery { delivery throws in
      try addKey("Abcdefgh", of: 7, in: delivery)
      try addKey("Bbcdefgh", of: 8, in: delivery)
      let all = try rows("keys", of: turns(delivery).keys(of: nil, limit: 10))
      #expect(all.map { $0["key"] as? String } == ["Abcdefgh", "Bbcdefgh"])
      let own = try rows("keys", of: turns(delivery).keys(of: 8, limit: 10))
      #expect(own.map { $0["description"] as? String } == ["Phone Bbcdefgh"])
    }
  }

  @Test func aRevokedKeyIsRefused() throws {
    try withDelivery { delivery throws in
      try addKey("Abcdefgh", of: 7, in: delivery)
      try addKey("Bbcdefgh", of: 7, in: delivery)
      let hash = Array(repeating: UInt8(ascii: "A"), count: 32)
      #expect(try turns(delivery).revokeKey(beginning: "Abcdefgh", of: 8) == nil)
      #expect(try turns(delivery).revokeKey(beginning: "A", of: 7) == nil)
      _ = try delivery.rehearseAndDo {
        try TurnAdministration(records: $0).revokeKey(beginning: "Abcdefgh", of: 7)
      }
      #expect(try delivery.responder().apiKeys.user(ofKey: hash, notedEach: .seconds(30)) == nil)
      #expect(delivery.sql("SELECT COUNT(*) FROM api_keys WHERE revoked_at IS NULL") == "1")
      #expect(
        delivery.administratorsEvents == [
          "api_key_revoked Abcdefgh… of OGS user 7, by an administrator"
        ])
      #expect(try turns(delivery).revokeKey(beginning: "Abcdefgh", of: 7) == nil, "once")
    }
  }
}

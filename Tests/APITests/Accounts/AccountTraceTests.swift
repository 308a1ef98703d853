import Foundation
import Support
import Testing

@testable import API

/// The remains of a deleted account: payments and audit rows, which contain only its id.
@Suite struct AccountTraceTests {
  private static let secondPhone = "5E0F2B7A-second-phone"
  private static let firstPhone = "9C41D0AA-first-phone"

  enum Way: CaseIterable { case app, page, denial }

  /// All rows of all tables, like a dump.
  private func dump(_ site: TestApplication) -> [String: String] {
    let tables = site.sql(
      """
      SELECT TABLE_NAME FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
      """
    ).split(separator: "\n").map(String.init)
    return Dictionary(
      uniqueKeysWithValues: tables.map { ($0, site.sql("SELECT * FROM \($0)")) })
  }

  /// An account that has used every feature: Ann's, with two phones and a browser.
  private struct Life {
    let site: TestApplication
    let ann: SignedIn
    var visitor: PageVisitor
    /// Values that no row may contain after the deletion.
    var values: [String]
    /// The credential of the newest registration of each phone.
    private var credentials: [String: String] = [:]

    init(at site: TestApplication, isProven: Bool) throws {
      self.site = site
      let (first, second) = (AccountTraceTests.firstPhone, AccountTraceTests.secondPhone)
      values = [
        "ann@example.org", "new-ann@", first, second, "Ann Unforgettable",
        "Ann's handset", "Ann's key", "4321",
      ]
      for phone in isProven ? [first, second] : [first] {
        for address in ["192.0.2.1", "198.51.100.9"] {
          credentials[phone] = try site.registerDevice(
            phone, name: "Ann's handset", pushToken: pushTokenText("9"), address: address)
        }
      }
      values.append(pushTokenText("9"))
      ann = try site.signUp(device: first, credential: credentials[first], isProven: isProven)
      #expect(
        site.send(
          "PUT", AccountPath.profile, #"{"name":"Ann Unforgettable"}"#, token: ann.accessToken
        ).status == 200)
      _ = site.requestCode(ann.email, device: "stranger", address: "198.51.100.1")
      _ = site.verify(ann.email, code: "no code", device: "stranger", address: "198.51.100.1")
      visitor = PageVisitor(site)
      guard isProven else { return }
      try live()
    }

    /// Registers the first phone again, and returns its credential.
    private func renew() throws -> String {
      let answer = site.send(
        "POST", AccountPath.registerDevice,
        jsonText(["deviceId": ann.deviceID, "deviceName": "Ann's handset", "platform": "ios"]),
        token: ann.accessToken)
      return try #require(answer.string("deviceCredential"))
    }

    /// Uses every feature.
    private mutating func live() throws {
      let second = AccountTraceTests.secondPhone
      _ = site.requestCode("ann@example.org", device: second)
      let signedIn = site.verify(
        "ann@example.org", code: try site.mailedCode(), device: second,
        credential: credentials[second])
      #expect(signedIn.status == 200, "\(signedIn.text)")
      #expect(
        site.requestCode("ann@example.org", device: "stranger", address: "198.51.100.1").status
          == 200)
      _ = site.verify(
        "ann@example.org", code: "no code", device: "stranger", address: "198.51.100.1")
      _ = site.requestCode("ann@example.org", device: second)
      _ = try visitor.signIn("ann@example.org")
      _ = visitor.sent("/code", ["email": "ann@example.org"])
      _ = visitor.open()
      _ = try site.setUp(of: ann)
      for _ in 1...2 {
        #expect(site.requestChallenge(ann.deviceID, credential: try renew()).status == 200)
      }
      let key = Authenticator()
      try site.addPasskey(key, name: "Ann's key", of: ann)
      _ = site.passkeyOptions(of: ann)
      _ = site.startSignIn("ann@example.org", device: second)
      _ = site.startSignIn("ann@example.org", device: "stranger")
      for letter in ["7", "8"] as [Character] {
        #expect(
          site.push("register", #"{"token":"\#(pushTokenText(letter))","platform":"ios"}"#, by: ann)
            .status
            == 200)
        values.append(pushTokenText(letter))
      }
      #expect(
        site.post(#"{"push_enabled":true,"push_token":"\#(pushTokenText("6"))"}"#, by: ann).status
          == 200)
      values.append(pushTokenText("6"))
      site.sql(
        """
        INSERT INTO apns_hosts (token, topic, environment, learned_at)
          SELECT token, 'app.one', 'sandbox', NOW(3) FROM push_tokens;
        INSERT INTO notifications (id, kind, event_key, collapse_id, body, expires_at, account_id)
          SELECT UUID(), 'account', 'mail 1', 'x', 'Ann\\'s handset', NOW(3), id FROM accounts;
        INSERT INTO deliveries (id, notification_id, token, shard)
          SELECT UUID(), n.id, t.token, 0 FROM notifications n JOIN push_tokens t
        """)
      site.seeCompanion()
      let test = site.push("test", "{}", by: ann, to: site.impatientSibling())
      #expect(test.status == 504, "\(test.text)")
      #expect(site.count("jobs") == 1)
      // Unregistering deletes the token at once.
      #expect(
        site.push("unregister", #"{"token":"\#(pushTokenText("8"))"}"#, by: ann).status == 200)
      #expect(site.count("apns_hosts WHERE token = '\(pushTokenText("8"))'") == 0)
      let card = site.addCard(of: ann)
      let shop = try site.merchants.add("Shop").key
      Evidence.keep(secret: shop)
      #expect(
        site.initiate(#"{"cardId":"\#(card)","amount":9}"#, key: shop, token: ann.accessToken)
          .status == 200)
      #expect(
        site.send(
          "PUT", AccountPath.profile, #"{"email":"new-ann@example.org"}"#, token: ann.accessToken
        ).status
          == 200)
      _ = site.refresh(ann.refreshToken)
      _ = site.send("GET", "/api/v1/models", token: ann.accessToken)
    }
  }

  private func end(_ life: inout Life, by way: Way, _ site: TestApplication) throws {
    switch way {
    case .app:
      let answer = site.send("DELETE", AccountPath.account, token: life.ann.accessToken)
      #expect(answer.status == 200, "\(answer.text)")
    case .page:
      _ = try life.visitor.signIn("ann@example.org")
      _ = life.visitor.open("/account/delete")
      #expect(life.visitor.send("/delete").text.contains("Your account is deleted"))
    case .denial:
      let row = site.sql("SELECT id, sealed FROM outbox WHERE kind = 'email_confirmation'")
        .split(separator: "\t").map(String.init)
      let token = try site.mailContent(row[1], ofMail: row[0]).secret
      #expect(
        site.send("POST", "/account/confirm", "token=\(token)&answer=no").text.contains("deleted"))
    }
  }

  @Test(arguments: Way.allCases)
  func aDumpHoldsNothingOfADeletedAccount(way: Way) throws {
    try withApplication { site in
      var life = try Life(at: site, isProven: way != .denial)
      let devices = site.sql("SELECT id FROM devices").split(separator: "\n").map(String.init)
      let before = dump(site)
      for value in life.values.prefix(way == .denial ? 0 : 1) + devices {
        #expect(before.values.contains { $0.contains(value) }, "\(value) is not there")
      }
      site.sql("DELETE FROM rate_limits WHERE name IN ('code-email', 'code-address')")
      try end(&life, by: way, site)
      // Simulates the companion after it has sent the mail about the deletion.
      site.sql("UPDATE outbox SET recipient = '' WHERE kind = 'account_deleted'")
      for (table, rows) in dump(site) {
        for value in life.values {
          #expect(!rows.contains(value), "\(value) in \(table): \(rows)")
        }
        guard table != "audit_log" else { continue }
        for id in devices + [life.ann.accountID] {
          #expect(!rows.contains(id), "\(id) in \(table): \(rows)")
        }
      }
    }
  }

  /// Another person's data on the same phone stay.
  @Test func theNeighborOnThePhoneLosesNothing() throws {
    try withApplication { site in
      let ann = try site.signUp(device: "device-1")
      let bob = try site.signUp(email: "bob@example.org", device: "device-1")
      _ = try site.setUp(.two, of: bob)
      #expect(site.requestCode("bob@example.org", device: "device-1").status == 200)
      let code = try site.mailedCode()
      let challenge = try #require(site.requestChallenge("device-1").string("challenge"))
      try site.registerDevice("device-1", address: "198.51.100.1")
      #expect(site.send("DELETE", AccountPath.account, token: ann.accessToken).status == 200)
      #expect(site.count("device_registrations") == 1)
      #expect(
        site.send(
          "POST", AccountPath.biometricVerify,
          jsonText([
            "deviceId": "device-1", "challenge": challenge,
            "signature": PhoneKey.two.sign(challenge),
          ])
        ).status == 200)
      #expect(site.verify("bob@example.org", code: code).status == 200)
    }
  }

  @Test func aChangedAddressIsForgotten() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.requestCode(device: "stranger", address: "198.51.100.1").status == 200)
      _ = site.verify(code: "no code", device: "stranger", address: "198.51.100.1")
      let wish = #"{"email":"new@example.org"}"#
      #expect(site.send("PUT", AccountPath.profile, wish, token: ann.accessToken).status == 200)
      let row = site.sql("SELECT id, sealed FROM outbox WHERE kind = 'address_change'")
        .split(separator: "\t").map(String.init)
      let token = try site.mailContent(row[1], ofMail: row[0]).secret
      #expect(site.send("POST", "/account/address", "token=\(token)").status == 200)
      #expect(site.sql("SELECT email FROM accounts") == "new@example.org")
      let rows = site.rows("login_codes", "rate_limits")
      #expect(!rows.contains("ann@example.org"), "\(rows)")
    }
  }

  /// A reset of the limits would let an attacker flood a mailbox or go on guessing: sign up, use up
  /// the limits, delete, and sign up again.
  @Test func deletingAnAccountGivesBackNoLimits() throws {
    try withApplication { site in
      let thief = try site.signUp(isProven: false)
      for number in 1...6 {
        #expect(site.requestCode(device: "device-\(10 + number)").status == 200)
      }
      let counts = "rate_limits WHERE subject LIKE 'email:%' AND hits > 0"
      let before = site.count(counts)
      #expect(before > 0)
      let proven = try site.proveWithKey(thief)
      #expect(site.send("DELETE", AccountPath.account, token: proven.accessToken).status == 200)
      #expect(site.count(counts) == before)
      _ = try site.signUp(isProven: false)
      #expect(site.requestCode(device: "device-20").status == 200)
      #expect(site.count("outbox WHERE kind = 'login_code' AND state = 'open'") == 0)
    }
  }

  /// A requested address is no proof that the address belongs to the account.
  @Test func theCodeOfAnAddressThatIsOnlyWishedForStays() throws {
    try withApplication { site in
      _ = try site.signUp(email: "bob@example.org", device: "device-2")
      #expect(site.requestCode("bob@example.org", device: "device-2").status == 200)
      let code = try site.mailedCode()
      let thief = try site.signUp()
      let wish = #"{"email":"bob@example.org"}"#
      #expect(site.send("PUT", AccountPath.profile, wish, token: thief.accessToken).status == 200)
      #expect(site.send("DELETE", AccountPath.account, token: thief.accessToken).status == 200)
      #expect(site.verify("bob@example.org", code: code, device: "device-2").status == 200)
    }
  }
}

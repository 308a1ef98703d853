import Base
import Foundation
import Store
import Support
import Testing

@testable import API

extension TestApplication {
  /// The companion's access to bans, with the companion's database rights.
  fileprivate var bans: AccountBans {
    Database(
      accountSettings(of: "companion", in: root),
      mailKeys: MailKeys(sealing: Self.boxKeys.publicKeys, links: nil)
    ).records(at: now, from: .administrator).accountBans
  }

  fileprivate func ban(_ person: SignedIn) throws {
    #expect(try bans.ban(person.accountID, because: "Sends spam"))
  }

  fileprivate var liveSessions: Int { count("sessions WHERE ended_at IS NULL") }
}

extension Answer {
  fileprivate var isBanned: Bool {
    isError(403, "account_banned", "This account is closed. Ask whoever runs this site.")
  }
}

/// Effects of `switchboard accounts ban`, `unban` and `delete` in the apps and at `/account`.
@Suite struct AccountBanTests {
  /// A site where Ann has a passkey, a key, a card, a push token, and a browser that is signed in.
  private func withAnn(
    _ body: (TestApplication, SignedIn, Authenticator, inout PageVisitor) throws -> Void
  ) throws {
    try withPasskey { site, first, authenticator throws in
      _ = try site.setUp(of: first)
      _ = site.register(pushTokenText(), by: first)
      _ = site.addCard(of: first)
      var visitor = PageVisitor(site)
      _ = try visitor.signIn()
      let asked = site.send(
        "PUT", AccountPath.profile, #"{"email":"new@example.org"}"#, token: first.accessToken)
      try #require(asked.status == 200, "\(asked.text)")
      try body(site, first, authenticator, &visitor)
    }
  }

  @Test func aBanEndsWhatLivesAndKeepsTheRest() throws {
    try withAnn { site, ann, _, visitor throws in
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      site.sql(
        """
        INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at, account_id)
          VALUES (UUID(), 'account', 'x', 'x', NOW() + INTERVAL 1 DAY, '\(ann.accountID)');
        INSERT INTO deliveries (id, notification_id, token, shard)
          SELECT UUID(), id, '\(pushTokenText())', 1 FROM notifications;
        INSERT INTO jobs (id, kind, request, request_id, account_id)
          VALUES (UUID(), 'push_test', '{}', 'r', '\(ann.accountID)');
        UPDATE devices SET credential_hash = REPEAT('c', 32), credential_expires_at = NOW() + INTERVAL 1 DAY;
        """)
      try site.ban(ann)
      #expect(
        site.sql(
          "SELECT account_id FROM devices d JOIN sessions s ON s.device_id = d.id WHERE ended_at IS NULL"
        ) == bob.accountID)
      for table in ["push_tokens", "account_visits", "address_changes"] {
        #expect(site.count(table) == 0, "\(table)")
      }
      #expect(site.count("devices WHERE credential_hash IS NOT NULL") == 1)
      #expect(site.sql("SELECT state, reason FROM deliveries") == "dead\tbanned")
      #expect(site.sql("SELECT state FROM jobs") == "dead")
      for table in ["passkeys", "biometric_keys", "cards", "enrollments"] {
        #expect(site.count(table) == 1, "\(table)")
      }
      #expect(site.summary(ann.accessToken).isError(401, "unauthorized"))
      #expect(site.refresh(ann.refreshToken).isBanned)
      #expect(!visitor.open().text.contains("Signed in as"))
      #expect(site.summary(bob.accessToken).status == 200)
      #expect(
        site.sql("SELECT event, detail, request_id FROM audit_log WHERE event LIKE '%banned'")
          == "account_banned\tSends spam\tadministrator")
      #expect(
        site.sql(
          "SELECT banned_at IS NOT NULL, ban_reason FROM accounts WHERE email = '\(ann.email)'")
          == "1\tSends spam")
      #expect(try !site.bans.ban(ann.accountID, because: "Again"), "once")
      #expect(
        site.sql("SELECT ban_reason FROM accounts WHERE ban_reason IS NOT NULL") == "Sends spam")
    }
  }

  @Test func theOwnerIsToldByMailIfTheAddressIsProven() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let eve = try site.signUp(email: "eve@example.org", device: "device-2", isProven: false)
      for person in [ann, eve] {
        try site.ban(person)
        #expect(try site.bans.lift(person.accountID, because: "It was not her"))
        #expect(try !site.bans.lift(person.accountID, because: "Again"), "once")
        #expect(try site.bans.delete(person.accountID, because: "She asked"))
        #expect(try !site.bans.delete(person.accountID, because: "Again"), "once")
        #expect(try !site.bans.ban(person.accountID, because: "Gone"))
      }
      // The deletion removes the account's mails.
      #expect(site.sql("SELECT kind, recipient FROM outbox") == "account_deleted\t\(ann.email)")
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'account_deleted' LIMIT 1")
          == "by an administrator: She asked")
      #expect(
        site.count("audit_log WHERE event = 'account_unbanned' AND detail = 'It was not her'") == 2)
    }
  }

  @Test func theMailIsSealedForTheCompanionInTheOwnersLanguage() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.sql("UPDATE accounts SET language = 'de'")
      try site.ban(ann)
      let row = site.sql(
        "SELECT id, sealed, kind, recipient, account_id FROM outbox WHERE state = 'open'"
      )
      .split(separator: "\t").map(String.init)
      try #require(row.count == 5)
      #expect(Array(row[2...]) == ["account_banned", ann.email, ann.accountID])
      let content = try site.mailContent(row[1], ofMail: row[0])
      #expect(content.language == .german)
      #expect(content.secret.isEmpty)
    }
  }

  @Test func whoeverShowsWhoTheyAreIsToldThatTheAccountIsBanned() throws {
    try withAnn { site, ann, authenticator, _ throws in
      let challenge = try site.signInChallenge()
      let signed = try site.challenge()
      try site.ban(ann)
      #expect(site.verify(authenticator.asserted(answering: challenge)).isBanned)
      #expect(site.verify(signed, signature: PhoneKey.one.sign(signed)).isBanned)
      #expect(site.startSignIn(method: "email").status == 200)
      #expect(site.verify(code: try site.mailedCode()).isBanned)
      var visitor = PageVisitor(site)
      _ = visitor.send("/code", ["email": ann.email])
      let page = visitor.send("/sign-in", ["code": try site.mailedCode()])
      #expect(page.status == 403 && page.text.contains("This account is closed."), "\(page.text)")
      #expect(!visitor.open().text.contains("Signed in as"))
      #expect(
        site.liveSessions == 0 && site.count("account_visits WHERE account_id IS NOT NULL") == 0)
      #expect(
        site.sql("SELECT DISTINCT detail FROM audit_log WHERE event = 'sign_in_refused'")
          == "the account is banned")
      let german = site.send(
        "POST", AccountPath.refresh, jsonText(["refreshToken": ann.refreshToken]),
        fields: [(name: "Accept-Language", value: "de")])
      #expect(german.string("message")?.contains("gesperrt") == true, "\(german.text)")
    }
  }

  /// A correct code for a banned account does not count as a failed attempt.
  @Test func aRightCodeIsSpentAndCountsAsRight() throws {
    try withApplication { site in
      let ann = try site.signUp()
      try site.ban(ann)
      _ = site.requestCode()
      let code = try site.mailedCode()
      #expect(site.verify(code: code).isBanned)
      #expect(site.verify(code: code).isError(401, "unauthorized"), "once")
      #expect(site.count("rate_limits WHERE name LIKE 'code-wrong-known%' AND hits > 0") == 0)
      #expect(site.sql("SELECT COUNT(*) FROM login_codes WHERE spent_at IS NULL") == "0")
    }
  }

  /// Requests without credentials get the same bytes before and after the ban, except random
  /// values.
  @Test func aStrangerLearnsNothingOfABan() throws {
    try withPasskey { site, ann, _ throws in
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      func answers(_ email: String) -> [String] {
        let strangers = "stranger"
        let signUp = site.send(
          "POST", AccountPath.register,
          jsonText([
            "email": email, "name": "E", "deviceId": strangers, "deviceName": "Phone",
            "platform": "ios",
          ]))
        return [
          site.requestCode(email, device: strangers),
          site.verify(email, code: "000000", device: strangers),
          site.refresh("no.token.here"), signUp,
        ].map {
          "\($0.status) " + $0.text.replacing(/"challenge":"[^"]*"/, with: "")
        }
      }
      let before = [answers(ann.email), answers(bob.email)]
      site.sql("DELETE FROM rate_limits")
      try site.ban(ann)
      try site.ban(bob)
      #expect([answers(ann.email), answers(bob.email)] == before)
    }
  }

  @Test func afterwardsNothingIsLost() throws {
    try withAnn { site, ann, authenticator, _ throws in
      let before = site.rows("passkeys", "biometric_keys", "enrollments", "cards", "payments")
      let summary = site.summary(ann.accessToken).text
      try site.ban(ann)
      #expect(try site.bans.lift(ann.accountID, because: "It was not her"))
      #expect(site.rows("passkeys", "biometric_keys", "enrollments", "cards", "payments") == before)
      #expect(
        site.refresh(ann.refreshToken).isError(401, "unauthorized"), "a session that ended stays so"
      )
      let answer = try site.signIn(with: authenticator)
      #expect(site.summary(try #require(answer.accessToken)).text == summary)
      #expect(try site.signIn(with: .one).status == 200)
      #expect(
        site.sql("SELECT COUNT(*) FROM accounts WHERE ban_reason IS NULL AND banned_at IS NULL")
          == "1")
    }
  }

  /// A denial would free a banned account's address for another sign-up.
  @Test func aBannedAccountIsNotDenied() throws {
    try withApplication { site in
      let eve = try site.signUp(isProven: false)
      try site.ban(eve)
      let records = site.database.records(at: site.now, from: .administrator)
      #expect(try records.addressProofs.deny(eve.accountID) == .gone)
      #expect(site.count("accounts") == 1)
    }
  }

  enum SignInWay: CaseIterable { case code, passkey, key, refresh, page }

  /// Bans an account while sign-ins are in progress: no session and no visit is open afterwards.
  @Test(arguments: SignInWay.allCases)
  func noSessionOutlivesABan(_ way: SignInWay) throws {
    try withPasskey { site, ann, authenticator throws in
      _ = try site.setUp(of: ann)
      for _ in 1...rounds(default: 12) {
        site.sql("DELETE FROM rate_limits; UPDATE accounts SET banned_at = NULL, ban_reason = NULL")
        let begun = try site.signIn(with: authenticator)
        let act = try prepared(way, begun, authenticator, at: site)
        let statuses = inParallel(2) { number in
          guard number == 0 else { return act().status }
          return (try? site.bans.ban(ann.accountID, because: "Race")) == true ? 0 : -1
        }
        #expect(statuses[0] == 0)
        #expect([200, 303, 403].contains(statuses[1]), "\(statuses[1])")
        #expect(site.liveSessions == 0)
        #expect(site.count("account_visits WHERE account_id IS NOT NULL") == 0)
        #expect(site.count("push_tokens") == 0)
      }
    }
  }

  private func prepared(
    _ way: SignInWay, _ begun: Answer, _ authenticator: Authenticator, at site: TestApplication
  ) throws -> @Sendable () -> Answer {
    switch way {
    case .code:
      _ = site.startSignIn(method: "email")
      let code = try site.mailedCode()
      return { site.verify(code: code) }
    case .passkey:
      let credential = authenticator.asserted(answering: try site.signInChallenge())
      return { site.verify(credential) }
    case .key:
      let challenge = try site.challenge()
      let signature = PhoneKey.one.sign(challenge)
      return { site.verify(challenge, signature: signature) }
    case .refresh:
      let token = try #require(begun.refreshToken)
      return { site.refresh(token) }
    case .page:
      var visitor = PageVisitor(site)
      _ = visitor.send("/code", ["email": "ann@example.org"])
      let (code, sender) = (try site.mailedCode(), visitor)
      return { sender.sent("/sign-in", ["code": code]) }
    }
  }
}

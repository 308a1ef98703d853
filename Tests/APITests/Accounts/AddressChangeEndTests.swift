import Support
import Testing

@testable import API

/// The end of a request for another e-mail address, and the mail to the present one.
@Suite struct AddressChangeEndTests {
  private func ask(_ site: TestApplication, _ person: SignedIn) throws -> String {
    let asked = site.send(
      "PUT", AccountPath.profile, #"{"email":"thief@example.org"}"#, token: person.accessToken)
    try #require(asked.string("pendingEmail") == "thief@example.org", "\(asked.text)")
    return try site.addressToken()
  }

  private func use(_ site: TestApplication, _ token: String) -> Answer {
    site.send("POST", "/account/address", "token=\(token)")
  }

  /// The link in the mail to the present address; nil if there is no mail.
  private func withdrawal(_ site: TestApplication) throws -> String? {
    let row = site.sql(
      """
      SELECT id, sealed FROM outbox
      WHERE kind = 'address_change_begun' AND recipient = 'ann@example.org' ORDER BY id DESC LIMIT 1
      """
    ).split(separator: "\t").map(String.init)
    guard row.count == 2 else { return nil }
    return try site.mailContent(row[1], ofMail: row[0]).secret
  }

  enum Ending: CaseIterable { case signOut, signOutAndIn, signInAgain, revocation, expiry }

  @Test(arguments: Ending.allCases)
  func itEndsWithItsSession(ending: Ending) throws {
    try withApplication { site in
      let tablet = try site.signUp(device: "device-2")
      let thief = try site.signIn()
      let token = try ask(site, thief)
      switch ending {
      case .signOut, .signOutAndIn:
        let out = site.send("POST", AccountPath.logout, token: thief.accessToken)
        #expect(out.status == 200)
        if ending == .signOutAndIn { _ = try site.signIn() }
      case .signInAgain: _ = try site.signIn()
      case .revocation:
        let revoked = site.send(
          "DELETE", "\(AccountPath.devices)/device-1", token: tablet.accessToken)
        #expect(revoked.status == 200)
      case .expiry:
        site.sql("UPDATE sessions SET rotated_at = '2000-01-01', expires_at = '2000-01-02'")
      }
      #expect(site.send("GET", "/account/address", query: "token=\(token)").status == 404)
      #expect(use(site, token).status == 404)
      #expect(site.sql("SELECT email FROM accounts") == "ann@example.org")
      guard ending != .expiry else { return }
      let profile = site.send("GET", AccountPath.profile, token: tablet.accessToken)
      #expect(profile.text.contains(#""pendingEmail":null"#), "\(profile.text)")
      var visitor = PageVisitor(site)
      #expect(try !visitor.signIn().text.contains("thief@example.org"))
      #expect(!visitor.open("/account/export").text.contains("thief@example.org"))
    }
  }

  /// The end of another session, and a refresh, change nothing.
  @Test func otherSessionsDoNotMatter() throws {
    try withApplication { site in
      let tablet = try site.signUp(device: "device-2")
      let ann = try site.signIn()
      let token = try ask(site, ann)
      #expect(site.send("POST", AccountPath.logout, token: tablet.accessToken).status == 200)
      #expect(site.refresh(ann.refreshToken).status == 200)
      #expect(use(site, token).status == 200)
      #expect(site.sql("SELECT email FROM accounts") == "thief@example.org")
    }
  }

  /// A request that waits for the account when its session ends does not get the address.
  @Test func aSessionThatEndsInTheSameInstantTakesItAlong() throws {
    try withApplication { site in
      let bob = try site.signUp(email: "bob@example.org", device: "device-9")
      _ = site.send(
        "PUT", AccountPath.profile, #"{"email":"bob2@example.org"}"#, token: bob.accessToken)
      let first = try site.addressToken()
      #expect(use(site, first).status == 200)
      let ann = try site.signUp()
      let token = try ask(site, ann)
      let answer = try site.answer(
        whileCommitting: "UPDATE sessions SET ended_at = UTC_TIMESTAMP(3), end_reason = 'logout'"
      ) { use(site, token) }
      #expect(answer.status == 404)
      #expect(site.count("accounts WHERE email = 'ann@example.org'") == 1)
    }
  }

  // The mail to the present address --------------------------------------------------------------------

  @Test func thePresentAddressIsToldAtTheBeginningAndMayWithdraw() throws {
    try withApplication { site in
      let tablet = try site.signUp(device: "device-2")
      let thief = try site.signIn()
      let token = try ask(site, thief)
      let link = try #require(try withdrawal(site))
      let before = site.rows("accounts", "devices", "sessions", "address_changes")
      let page = site.send("GET", "/account/end", query: "token=\(link)")
      #expect(page.status == 200)
      #expect(page.text.contains("thief@example.org"))
      #expect(site.rows("accounts", "devices", "sessions", "address_changes") == before)
      #expect(site.send("POST", "/account/end", "token=\(link)").status == 200)
      #expect(site.count("address_changes") == 0)
      #expect(use(site, token).status == 404)
      #expect(site.summary(thief.accessToken).status == 401)
      #expect(site.summary(tablet.accessToken).status == 200)
      for method in ["GET", "POST"] {
        let again = site.send(
          method, "/account/end", method == "POST" ? "token=\(link)" : "",
          query: method == "GET" ? "token=\(link)" : "")
        #expect(again.status == 404)
      }
    }
  }

  @Test func aRequestOfABrowserIsToldAndWithdrawnToo() throws {
    try withVisitor { site, ann, visitor throws in
      _ = visitor.send("/email", ["email": "thief@example.org"])
      let token = try site.addressToken()
      let link = try #require(try withdrawal(site))
      #expect(site.send("POST", AccountPath.logout, token: ann.accessToken).status == 200)
      #expect(
        site.send("GET", "/account/address", query: "token=\(token)").status == 200,
        "no session began it")
      #expect(site.send("POST", "/account/end", "token=\(link)").status == 200)
      #expect(use(site, token).status == 404)
      #expect(site.count("account_visits WHERE account_id IS NOT NULL") == 0)
    }
  }

  /// The link of one request does not withdraw a later one.
  @Test func theLinkWithdrawsItsOwnRequestOnly() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try ask(site, ann)
      let link = try #require(try withdrawal(site))
      site.advance(by: .seconds(1))
      _ = site.send(
        "PUT", AccountPath.profile, #"{"email":"ann2@example.org"}"#, token: ann.accessToken)
      #expect(site.send("POST", "/account/end", "token=\(link)").status == 404)
      #expect(site.count("address_changes") == 1)
    }
  }

  /// The present address of an account may be a stranger's until it is proven.
  @Test func anAddressThatIsNotProvenIsNotTold() throws {
    try withApplication { site in
      let ann = try site.proveWithKey(site.signUp(isProven: false))
      _ = try ask(site, ann)
      #expect(try withdrawal(site) == nil)
    }
  }
}

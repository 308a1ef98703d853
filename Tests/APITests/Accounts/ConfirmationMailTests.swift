import Support
import Testing

@testable import API

/// The mail of a sign-up, whose page asks the owner of the address whether the account is wanted.
extension AddressProofTests {
  private func confirmationToken(_ site: TestApplication) throws -> String {
    let row = site.sql("SELECT id, sealed FROM outbox WHERE kind = 'email_confirmation'")
      .split(separator: "\t").map(String.init)
    try #require(row.count == 2)
    return try site.mailContent(row[1], ofMail: row[0]).secret
  }

  private func answer(_ site: TestApplication, _ token: String, _ answer: String) -> Answer {
    site.send("POST", "/account/confirm", "token=\(token)&answer=\(answer)")
  }

  @Test func theMailsPageAsksAndChangesNothing() throws {
    try withApplication { site in
      _ = try site.signUp(address: "2001:db8::7", isProven: false)
      let token = try confirmationToken(site)
      let before = site.rows("accounts", "devices", "sessions")
      let page = site.send("GET", "/account/confirm", query: "token=\(token)")
      #expect(page.status == 200)
      for fact in ["ann@example.org", "Phone", "2001:db8::7", site.now.rfc3339] {
        #expect(page.text.contains(fact), "\(fact)")
      }
      #expect(page.field("Content-Security-Policy")?.contains("default-src 'none'") == true)
      #expect(site.rows("accounts", "devices", "sessions") == before)
    }
  }

  @Test func yesKeepsTheFirstPhoneWhenASecondOneComes() throws {
    try withApplication { site in
      let first = try Attack(on: site, device: "device-1")
      #expect(answer(site, try confirmationToken(site), "yes").status == 200)
      #expect(try signInByCode(on: "device-2", site).status == 200)
      #expect(try first.works())
      #expect(site.count("passkeys") + site.count("biometric_keys") == 2)
      #expect(events(site) == ["account_created", "account_confirmed"])
    }
  }

  @Test func noDeletesTheAccount() throws {
    try withApplication { site in
      let attack = try Attack(on: site)
      let order = #"{"cardId":"\#(attack.card)","amount":1}"#
      #expect(
        site.initiate(order, key: attack.shop, token: attack.session.accessToken)
          .isError(403, "address_not_proven"))
      #expect(answer(site, try confirmationToken(site), "no").text.contains("deleted"))
      #expect(try !attack.works())
      #expect(site.count("accounts") == 0)
      #expect(site.count("payments") == 0)
      #expect(events(site) == ["account_created", "account_denied"])
      // The address is free for its owner.
      #expect(try site.signUp(device: "device-owner").email == "ann@example.org")
    }
  }

  @Test func noAfterAProofDeletesNothing() throws {
    try withApplication { site in
      _ = try site.signUp(isProven: false)
      let token = try confirmationToken(site)
      #expect(answer(site, token, "yes").status == 200)
      #expect(answer(site, token, "no").status == 404)
      #expect(site.count("accounts") == 1)
    }
  }

  @Test(arguments: ["", "x", "a.b", "a.b.c", "."])
  func aTokenThatIsNotOursIsRefused(token: String) throws {
    try withApplication { site in
      _ = try site.signUp(isProven: false)
      #expect(site.send("GET", "/account/confirm", query: "token=\(token)").status == 404)
      for word in ["yes", "no"] { #expect(answer(site, token, word).status == 404) }
      #expect(site.count("accounts WHERE email_verified_at IS NULL") == 1)
    }
  }

  @Test func anotherAccountsTokenIsOfNoUse() throws {
    try withApplication { site in
      _ = try site.signUp(isProven: false)
      let token = try confirmationToken(site)
      let bob = try site.signUp(email: "bob@example.org", device: "device-2", isProven: false)
      let forged = "\(bob.accountID).\(token.split(separator: ".")[1])"
      #expect(answer(site, forged, "no").status == 404)
      #expect(answer(site, token, "maybe").status == 400)
      #expect(site.count("accounts") == 2)
    }
  }
}

import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

extension AccountPath {
  static let account = "/api/mobile/account"
  static let profile = "/api/mobile/profile"
}

extension TestApplication {
  /// The token in the newest unsent mail to a new address.
  func addressToken() throws -> String {
    let row = sql(
      """
      SELECT id, sealed FROM outbox WHERE kind = 'address_change' AND state = 'open'
      ORDER BY created_at DESC, id DESC LIMIT 1
      """
    ).split(separator: "\t").map(String.init)
    try #require(row.count == 2)
    let token = try mailContent(row[1], ofMail: row[0]).secret
    Evidence.keep(secret: token)
    return token
  }
}

/// `GET|PUT /api/mobile/profile`, and the page behind the link in a mail to a new address.
@Suite struct ProfileTests {
  private func change(_ site: TestApplication, _ json: String, _ person: SignedIn) -> Answer {
    site.send("PUT", AccountPath.profile, json, token: person.accessToken)
  }

  private func ask(_ site: TestApplication, for email: String, _ person: SignedIn) -> Answer {
    change(site, jsonText(["email": email]), person)
  }

  private func use(_ site: TestApplication, _ token: String) -> Answer {
    site.send("POST", "/account/address", "token=\(token)")
  }

  @Test func theProfileHasNameAndAddress() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.send("GET", AccountPath.profile, token: ann.accessToken)
      let members = #"""
        "name":"Ann","displayName":"Ann","email":"ann@example.org","emailVerified":true,"pendingEmail":null,"profileImageUrl":null
        """#
      #expect(answer.text == #"{"success":true,\#(members),"profile":{\#(members)}}"#)
      #expect(site.send("GET", AccountPath.profile).isError(401, "unauthorized"))
    }
  }

  @Test func aNameIsChangedAtOnceAndNeedsNoProof() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(3000))
      let answer = change(site, #"{"name":" Ann B. ","email":"ANN@example.org"}"#, ann)
      #expect(answer.status == 200)
      #expect(answer.string("displayName") == "Ann B.")
      #expect(site.sql("SELECT name, email FROM accounts") == "Ann B.\tann@example.org")
      #expect(site.count("address_changes") == 0)
      #expect(site.count("audit_log WHERE event = 'profile_changed'") == 1)
    }
  }

  @Test(arguments: [
    ("{}", "name: missing"), (#"{"name":""}"#, "name: empty"), (#"{"name":7}"#, "name: wrong_type"),
    (#"{"name":"a\u0007"}"#, "name: control_character"),
    (#"{"name":"Ann B.","email":"x"}"#, "email: not_an_email_address"),
  ])
  func aWrongBodyChangesNothing(body: String, complaint: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = change(site, body, ann)
      #expect(answer.status == 400)
      #expect(answer.complaint == complaint)
      #expect(site.sql("SELECT name FROM accounts") == "Ann")
    }
  }

  @Test(arguments: ["own address", "all devices", "device", "reuse"])
  func aWishForAnAddressEndsWithWhatTheOwnerDoes(way: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = ask(site, for: "new@example.org", ann)
      let token = try site.addressToken()
      switch way {
      case "own address": #expect(ask(site, for: "ann@example.org", ann).status == 200)
      case "all devices":
        _ = site.send(
          "POST", AccountPath.logout, token: ann.accessToken, query: "revokeAll=true")
      case "device":
        _ = site.send("DELETE", "/api/mobile/devices/device-1", token: ann.accessToken)
      default:
        let next = try #require(site.refresh(ann.refreshToken).refreshToken)
        for _ in 1...2 {
          site.advance(by: .seconds(120))
          _ = site.refresh(next)
        }
        site.advance(by: .seconds(120))
        #expect(site.refresh(ann.refreshToken).status == 401)
      }
      #expect(site.count("address_changes") == 0)
      #expect(use(site, token).status == 404)
      #expect(site.sql("SELECT email FROM accounts") == "ann@example.org")
    }
  }

  @Test func anAddressIsTheAccountsWhenItsLinkIsUsed() throws {
    try withApplication { site in
      let ann = try site.proveWithKey(site.signUp(isProven: false))
      let asked = ask(site, for: "New@example.org", ann)
      #expect(asked.status == 200)
      #expect(asked.string("email") == "ann@example.org")
      #expect(asked.string("pendingEmail") == "new@example.org")
      let token = try site.addressToken()
      #expect(
        site.sql("SELECT HEX(token_hash) FROM address_changes").lowercased()
          == hexEncoded(sha256(token)))
      #expect(
        site.sql("SELECT recipient FROM outbox WHERE kind = 'address_change'")
          == "new@example.org")

      let before = site.rows("accounts", "address_changes", "outbox")
      let page = site.send("GET", "/account/address", query: "token=\(token)")
      #expect(page.status == 200)
      for fact in ["new@example.org", "<bdi>Ann</bdi>", "<bdi>Phone</bdi>", site.now.rfc3339] {
        #expect(page.text.contains(fact), "\(fact)")
      }
      #expect(page.field("Content-Security-Policy")?.contains("default-src 'none'") == true)
      #expect(site.rows("accounts", "address_changes", "outbox") == before)

      #expect(use(site, token).status == 200)
      #expect(
        site.sql("SELECT email, username, email_verified_at = '\(now(site))' FROM accounts")
          == "new@example.org\tnew@example.org\t1")
      #expect(
        site.sql("SELECT recipient FROM outbox WHERE kind = 'address_changed'")
          == "", "nobody had proven the old address: it may be a stranger's")
      #expect(site.count("audit_log WHERE event LIKE 'address_change%'") == 2)
      #expect(use(site, token).status == 404)
      #expect(site.send("GET", "/account/address", query: "token=\(token)").status == 404)
      let profile = site.send("GET", AccountPath.profile, token: ann.accessToken)
      #expect(profile.string("email") == "new@example.org")
      #expect(profile["emailVerified"] as? Bool == true)
      #expect(profile.string("pendingEmail") == nil)
      let tablet = try site.signIn("new@example.org", device: "device-2")
      #expect(tablet.accountID == ann.accountID)
    }
  }

  private func now(_ site: TestApplication) -> String {
    "\(site.now.rfc3339.prefix(19)).\(String(1000 + site.now.milliseconds % 1000).suffix(3))"
      .replacing("T", with: " ")
  }

  @Test func aUsernameOfItsOwnStays() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.sql("UPDATE accounts SET username = 'annie'")
      _ = ask(site, for: "new@example.org", ann)
      let newest = try site.addressToken()
      #expect(use(site, newest).status == 200)
      #expect(site.sql("SELECT email, username FROM accounts") == "new@example.org\tannie")
    }
  }

  @Test func anAddressNeedsAProofOfTenMinutesAndThenNothingIsChanged() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(600))
      let answer = change(site, #"{"name":"Eve","email":"eve@example.org"}"#, ann)
      #expect(answer.isError(403, "fresh_proof_required"))
      #expect(site.sql("SELECT name FROM accounts") == "Ann")
      #expect(site.count("address_changes") + site.count("outbox") == 0)
    }
  }

  @Test func aLinkIsGoodForADay() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = ask(site, for: "new@example.org", ann)
      let token = try site.addressToken()
      site.advance(by: .milliseconds(86_399_999))
      #expect(site.send("GET", "/account/address", query: "token=\(token)").status == 200)
      site.advance(by: .milliseconds(1))
      #expect(use(site, token).status == 404)
      #expect(site.sql("SELECT email FROM accounts") == "ann@example.org")
    }
  }

  @Test func aNewWishEndsTheLinkOfTheOneBefore() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = ask(site, for: "first@example.org", ann)
      let first = try site.addressToken()
      _ = ask(site, for: "second@example.org", ann)
      #expect(use(site, first).status == 404)
      let newest = try site.addressToken()
      #expect(use(site, newest).status == 200)
      #expect(site.sql("SELECT email FROM accounts") == "second@example.org")
    }
  }

  /// Only the mail reveals to its reader whether the address is taken.
  @Test func theAddressOfAnotherAccountLooksLikeAnyOther() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.signUp(email: "bob@example.org", device: "device-2")
      let free = ask(site, for: "eve@example.org", ann)
      let taken = ask(site, for: "bob@example.org", ann)
      #expect(taken.status == 200)
      #expect(taken.text == free.text.replacing("eve@", with: "bob@"))
      let profile = site.send("GET", AccountPath.profile, token: ann.accessToken)
      #expect(profile.text == taken.text)
      #expect(
        site.sql("SELECT recipient, state FROM outbox WHERE kind = 'address_change' ORDER BY state")
          == "eve@example.org\topen\nbob@example.org\tsuppressed")
    }
  }

  @Test func anAddressThatIsTakenMeanwhileStaysWithItsAccount() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = ask(site, for: "bob@example.org", ann)
      let token = try site.addressToken()
      _ = try site.signUp(email: "bob@example.org", device: "device-2")
      #expect(use(site, token).status == 404)
      #expect(
        site.sql("SELECT email FROM accounts ORDER BY 1") == "ann@example.org\nbob@example.org")
      #expect(site.count("outbox WHERE kind = 'address_changed'") == 0)
    }
  }

  @Test func fiveWishesAnHourAreTaken() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let statuses = (1...6).map { ask(site, for: "new\($0)@example.org", ann).status }
      #expect(statuses == Array(repeating: 200, count: 5) + [429])
      #expect(site.count("outbox WHERE kind = 'address_change'") == 5)
    }
  }

  /// A pending address change of a stranger ends when the account is handed over.
  @Test func aWishEndsWhenTheAccountIsHandedOver() throws {
    try withApplication { site in
      let stranger = try site.proveWithKey(site.signUp(device: "device-9", isProven: false))
      _ = ask(site, for: "stranger@example.org", stranger)
      let token = try site.addressToken()
      _ = try site.signIn()
      #expect(use(site, token).status == 404)
    }
  }

  @Test(arguments: ["", "x", "%00", String(repeating: "a", count: 5000)])
  func aTokenThatIsNotOursIsRefused(token: String) throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.send("GET", "/account/address", query: "token=\(token)").status == 404)
      #expect(use(site, token).status == 404)
    }
  }

  @Test func oneOf64ParallelUsesOfALinkSucceeds() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = ask(site, for: "new@example.org", ann)
      let token = try site.addressToken()
      let statuses = inParallel(64) { _ in use(site, token).status }
      #expect(statuses.filter { $0 == 200 }.count == 1)
      #expect(statuses.filter { $0 == 404 }.count == 63)
      #expect(site.count("outbox WHERE kind = 'address_changed'") == 1)
      #expect(
        site.sql("SELECT email, username FROM accounts") == "new@example.org\tnew@example.org")
    }
  }

  /// Eight accounts request one address, each eight times, while people sign in with it.
  @Test func oneOfSeveralAccountsGetsAnAddress() throws {
    try withApplication { site in
      var tokens: [String] = []
      for number in 1...8 {
        let person = try site.signUp(email: "p\(number)@example.org", device: "device-\(number)")
        site.sql("DELETE FROM rate_limits")
        _ = ask(site, for: "new@example.org", person)
        tokens.append(try site.addressToken())
      }
      site.sql("DELETE FROM rate_limits")
      let codes = try (1...8).map { number in
        _ = site.requestCode("p\(number)@example.org", device: "device-\(number)")
        return try site.mailedCode()
      }
      site.sql("DELETE FROM rate_limits")
      let (links, typed) = (tokens, codes)
      let statuses = inParallel(64) { number in
        guard number % 8 == 7 else { return use(site, links[number % 7]).status }
        let person = number / 8
        return site.verify(
          "p\(person + 1)@example.org", code: typed[person], device: "device-\(person + 1)"
        ).status
      }
      let uses = statuses.enumerated().filter { $0.offset % 8 != 7 }.map(\.element)
      let signIns = statuses.enumerated().filter { $0.offset % 8 == 7 }.map(\.element)
      #expect(uses.filter { $0 == 200 }.count == 1)
      #expect(uses.allSatisfy { $0 == 200 || $0 == 404 }, "\(uses)")
      #expect(signIns.allSatisfy { $0 == 200 || $0 == 401 }, "\(signIns)")
      #expect(signIns.filter { $0 == 401 }.count <= 1)
      #expect(site.count("accounts WHERE email = 'new@example.org' AND username = email") == 1)
      #expect(site.count("accounts WHERE email = username") == 8)
      #expect(site.count("outbox WHERE kind = 'address_changed'") == 1)
    }
  }
}

import Foundation
import Support
import Testing

@testable import API

/// `DELETE /api/mobile/account`
@Suite struct AccountDeletionTests {
  private func delete(_ site: TestApplication, _ person: SignedIn) -> Answer {
    site.send("DELETE", AccountPath.account, token: person.accessToken)
  }

  /// The tables with rows of the account, found by a column account_id or by one of its devices.
  private func tablesThatKnow(_ person: SignedIn, _ site: TestApplication) -> [String] {
    let tables = site.sql(
      """
      SELECT TABLE_NAME FROM information_schema.COLUMNS JOIN information_schema.TABLES
        USING (TABLE_SCHEMA, TABLE_NAME)
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND COLUMN_NAME = 'account_id'
      ORDER BY 1
      """
    ).split(separator: "\n").map(String.init)
    return tables.filter { site.count("\($0) WHERE account_id = '\(person.accountID)'") > 0 }
  }

  @Test func everythingOfTheAccountGoesAndPaymentsStayWithoutIt() throws {
    try withApplication { site in
      let checkout = try Checkout(at: site)
      let ann = checkout.ann
      _ = site.requestCode(ann.email)
      try site.addPasskey(Authenticator(), of: ann)
      let other = try site.signUp(email: "bob@example.org", device: "device-2")
      #expect(
        site.initiate(checkout.order, key: checkout.key, token: ann.accessToken).status == 200)
      _ = site.requestCode(other.email, device: "device-2")
      _ = site.send(
        "PUT", AccountPath.profile, #"{"email":"new@example.org"}"#, token: ann.accessToken)
      #expect(site.count("outbox WHERE account_id = '\(ann.accountID)'") > 1)

      let answer = delete(site, ann)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      #expect(tablesThatKnow(ann, site) == ["audit_log"])
      for table in ["passkeys", "biometric_keys", "enrollments", "cards", "address_changes"] {
        #expect(site.count(table) == 0, "\(table)")
      }
      #expect(site.sql("SELECT email FROM accounts") == "bob@example.org")
      #expect(site.count("devices") == 1)
      #expect(site.count("sessions") == 1)
      #expect(
        site.count("payments WHERE account_id IS NULL AND card_id IS NULL AND amount > 0") == 1)
      #expect(
        site.sql("SELECT recipient FROM outbox WHERE state = 'open' AND kind = 'login_code'")
          == "bob@example.org")
      // Only the mail about the deletion remains.
      #expect(
        site.sql("SELECT kind FROM outbox WHERE recipient IN ('\(ann.email)', 'new@example.org')")
          == "account_deleted")
      #expect(
        site.sql("SELECT account_id FROM audit_log WHERE event = 'account_deleted'")
          == ann.accountID)
      #expect(!site.rows("audit_log").contains("@"))
      #expect(site.summary(ann.accessToken).status == 404)
      #expect(site.refresh(ann.refreshToken).status == 401)
      #expect(delete(site, ann).isError(401, "unauthorized"))
      // The address is free.
      let next = try site.signUp()
      #expect(next.accountID != ann.accountID)
    }
  }

  @Test func deletingNeedsAProofOfTenMinutes() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(600))
      #expect(delete(site, ann).isError(403, "fresh_proof_required"))
      #expect(site.count("accounts") == 1)
      let again = try site.signIn()
      #expect(delete(site, again).status == 200)
    }
  }

  @Test func deletingNeedsASignIn() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.send("DELETE", AccountPath.account).isError(401, "unauthorized"))
      #expect(site.send("GET", AccountPath.account).status == 405)
    }
  }

  @Test func oneOf64ParallelDeletionsSucceeds() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let others = try (1...7).map { try site.signIn(device: "tablet-\($0)") }
      let people = [ann] + others
      let statuses = inParallel(64) { number in delete(site, people[number % 8]).status }
      #expect(statuses.filter { $0 == 200 }.count == 1)
      #expect(statuses.filter { $0 == 401 }.count == 63)
      #expect(site.count("accounts") + site.count("devices") + site.count("sessions") == 0)
      #expect(site.count("audit_log WHERE event = 'account_deleted'") == 1)
    }
  }

  /// Requests during a deletion get the same answer as requests before or after it.
  @Test func requestsDuringADeletionDoNotFail() throws {
    for round in 1...4 {
      try withApplication { site in
        let checkout = try Checkout(at: site)
        let (ann, order, key) = (checkout.ann, checkout.order, checkout.key)
        site.sql(
          "UPDATE banks SET authorization_url = 'https://a', token_url = 'https://t', cards_url = 'https://c', client_id = 'c', client_secret = 's', scope = 's'"
        )
        let answers = inParallel(16) { number in
          switch number % 8 {
          case 0: number == 0 ? delete(site, ann) : site.summary(ann.accessToken)
          case 1: site.requestCode()
          case 2: site.passkeyOptions(of: ann)
          case 3: site.initiate(order, key: key, token: ann.accessToken)
          case 4:
            site.send("POST", "/api/mobile/enrollment/start/bank", token: ann.accessToken)
          case 5: site.post(#"{"push_enabled":true}"#, by: ann)
          case 6:
            site.send(
              "PUT", AccountPath.profile, #"{"name":"B","email":"b\#(number)@example.org"}"#,
              token: ann.accessToken)
          default:
            site.send(
              "POST", AccountPath.pushToken, jsonText(["pushToken": pushTokenText()]),
              token: ann.accessToken)
          }
        }
        #expect(answers[0].status == 200)
        for answer in answers {
          #expect([200, 401, 404].contains(answer.status), "\(round): \(answer.text)")
        }
        #expect(site.count("accounts") + site.count("push_tokens") == 0)
        #expect(site.count("outbox WHERE state = 'open' AND kind <> 'account_deleted'") == 0)
      }
    }
  }

  /// A sign-in runs completely before the deletion, or finds no account.
  @Test func signInsDuringADeletionLeaveNothing() throws {
    try withApplication { site in
      for round in 1...4 {
        let ann = try site.signUp(device: "device-\(round)")
        site.sql("DELETE FROM rate_limits")
        let codes = try (1...7).map { number in
          #expect(site.requestCode(device: "tablet-\(number)").status == 200)
          return try site.mailedCode()
        }
        site.sql("DELETE FROM rate_limits")
        let statuses = inParallel(8) { number in
          guard number < 7 else { return delete(site, ann).status }
          return site.verify(code: codes[number], device: "tablet-\(number + 1)").status
        }
        #expect(statuses.last == 200)
        #expect(statuses.allSatisfy { $0 == 200 || $0 == 401 }, "\(statuses)")
        #expect(site.count("accounts") + site.count("devices") + site.count("sessions") == 0)
      }
    }
  }
}

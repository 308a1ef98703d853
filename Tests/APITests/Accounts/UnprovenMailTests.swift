import Testing

@testable import API

/// The limit of mails to an unproven address.
@Suite struct UnprovenMailTests {
  private func ask(_ site: TestApplication, times count: Int) -> [Answer] {
    (1...count).map { number in
      site.advance(by: .seconds(900))
      return site.requestCode(device: "device-\(number)")
    }
  }

  private func mails(_ site: TestApplication) -> String {
    site.sql(
      "SELECT COUNT(*), SUM(state = 'suppressed') FROM outbox WHERE kind = 'login_code'")
  }

  @Test func theSeventhMailOfADayIsNotSentAndTheAnswerIsTheSame() throws {
    try withApplication { site in
      _ = try site.signUp(isProven: false)
      let answers = ask(site, times: 8)
      #expect(answers.allSatisfy { $0.status == 200 })
      #expect(Set(answers.map { $0.string("message") ?? "" }).count == 1)
      #expect(mails(site) == "8\t3")
      #expect(site.count("outbox WHERE kind = 'email_confirmation' AND state = 'open'") == 1)
      site.advance(by: .seconds(86_400))
      #expect(site.requestCode().status == 200)
      #expect(mails(site) == "9\t3")
    }
  }

  /// Who signs up and deletes the account again and again cannot fill a stranger's mailbox.
  @Test func signUpsCountAsMailsToTheAddress() throws {
    try withApplication { site in
      for number in 1...7 {
        let credential = try site.registerDevice("device-\(number)")
        let session = try site.signUp(
          device: "device-\(number)", credential: credential, isProven: false)
        #expect(
          site.count("outbox WHERE kind = 'email_confirmation' AND state = 'suppressed'")
            == (number < 7 ? 0 : 1))
        let deleted = site.send(
          "DELETE", "/api/mobile/account", token: session.accessToken,
          fields: [(name: "X-Device-Credential", value: credential)])
        #expect(deleted.status == 200, "\(deleted.text)")
      }
    }
  }

  @Test func anAddressThatIsProvenGetsMore() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(ask(site, times: 8).allSatisfy { $0.status == 200 })
      #expect(mails(site) == "8\t0")
      #expect(site.count("rate_limited_callers") == 0)
    }
  }
}

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
      #expect(mails(site) == "8\t2")
      #expect(site.count("outbox WHERE kind = 'email_confirmation' AND state = 'open'") == 1)
      site.advance(by: .seconds(86_400))
      #expect(site.requestCode().status == 200)
      #expect(mails(site) == "9\t2")
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

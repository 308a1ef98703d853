import Support
import Testing

@testable import API

/// Sign-ins on a device where the same account is already signed in.
@Suite struct SignInAgainTests {
  @Test func aNewSignInEndsTheOldSessionOfTheDevice() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      let bob = try site.signUp(email: "bob@example.org")
      site.sql(
        """
        INSERT INTO push_tokens (token, device_id, platform, registered_at)
        SELECT '\(pushTokenText())', d.id, 'ios', NOW(3) FROM devices d JOIN accounts a ON a.id = d.account_id
        WHERE d.client_device_id = 'device-1' AND a.email = 'ann@example.org'
        """)
      let again = try site.signIn()
      #expect(site.summary(ann.accessToken).status == 401)
      #expect(site.refresh(ann.refreshToken).status == 401)
      for person in [again, elsewhere, bob] {
        #expect(site.summary(person.accessToken).status == 200)
        #expect(site.refresh(person.refreshToken).status == 200)
      }
      #expect(
        site.sql("SELECT DISTINCT end_reason FROM sessions WHERE ended_at IS NOT NULL")
          == "signed_in_again")
      #expect(site.count("push_tokens") == 1)
    }
  }

  @Test func ofManySignInsAtOnceOneSessionStays() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.setUp(of: ann)
      let challenges = try (1...4).map { _ in try site.challenge() }
      let answers = inParallel(4) { number in
        site.verify(challenges[number], signature: PhoneKey.one.sign(challenges[number]))
      }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.text)))")
      #expect(site.count("sessions WHERE ended_at IS NULL") == 1)
    }
  }
}

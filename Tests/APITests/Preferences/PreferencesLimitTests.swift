import Base
import Support
import Testing

@testable import API

@Suite struct PreferencesLimitTests {
  private func expectLimited(
    _ answer: Answer, retryAfter: String?..., sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(answer.status == 429, sourceLocation: sourceLocation)
    #expect(
      answer.text == #"{"error":{"code":"rate_limited","message":"Too many requests"}}"#,
      sourceLocation: sourceLocation)
    #expect(retryAfter.contains(answer.field("Retry-After")), sourceLocation: sourceLocation)
    #expect(answer.field("Cache-Control") == "no-store", sourceLocation: sourceLocation)
  }

  @Test func thirtyOfFortyWritesInParallelAreStored() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answers = inParallel(40) { _ in site.post(#"{"push_enabled":true}"#, by: ann) }
      #expect(answers.filter { $0.status == 200 }.count == 30)
      let refused = answers.filter { $0.status != 200 }
      #expect(refused.count == 10)
      // A request may have begun before the one that began the window.
      for answer in refused { expectLimited(answer, retryAfter: "3600", "3601") }
      #expect(site.preferences(of: ann).version == 30)
      #expect(site.audited("preferences_written") == 30)
    }
  }

  @Test func aDeviceMayWrite30TimesAnHour() throws {
    try withApplication { site in
      var ann = try site.signUp()
      #expect(site.post("{}", by: ann).status == 200)
      let start = site.now
      for _ in 2...30 { #expect(site.post("{}", by: ann).status == 200) }
      expectLimited(site.post("{}", by: ann), retryAfter: "3600")
      site.advance(to: start + .milliseconds(1_500_400))
      expectLimited(site.post("{}", by: ann), retryAfter: "2100")
      ann = try site.refreshed(ann)
      site.advance(to: start + .milliseconds(3_599_999))
      expectLimited(site.post("{}", by: ann), retryAfter: "1")
      #expect(site.preferences(of: ann).version == 30)
      site.advance(to: start + .seconds(3600))
      #expect(site.post("{}", by: ann).version == 31)
      #expect(site.hits("device-prefs") == "1")
    }
  }

  @Test func refusedWritesDoNotExtendTheWindow() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post("{}", by: ann)
      site.sql("UPDATE rate_limits SET hits = 30 WHERE name = 'device-prefs'")
      for _ in 0..<3 {
        site.advance(by: .seconds(600))
        #expect(site.post("{}", by: ann).status == 429)
      }
      expectLimited(site.post("{}", by: ann), retryAfter: "1800")
    }
  }

  @Test func eachDeviceHasItsOwnLimit() throws {
    try withApplication { site in
      let ann = try site.signUp(email: "ann@example.org", device: "shared")
      let bob = try site.signUp(email: "bob@example.org", device: "shared")
      site.post("{}", by: ann)
      site.sql("UPDATE rate_limits SET hits = 30 WHERE name = 'device-prefs'")
      #expect(site.post("{}", by: ann).status == 429)
      #expect(site.post("{}", by: bob).status == 200)
    }
  }

  @Test func readingIsNotLimitedByWrites() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post("{}", by: ann)
      site.sql("UPDATE rate_limits SET hits = 30 WHERE name = 'device-prefs'")
      #expect(site.preferences(of: ann).status == 200)
      #expect(site.register("apns_dev_ABC123", by: ann).status == 200)
    }
  }

  @Test func sixtyOfSeventyRegistrationsInParallelAreStored() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answers = inParallel(70) { number in
        site.register("apns_dev_token_number_\(number)", by: ann)
      }
      #expect(answers.filter { $0.status == 200 }.count == 60)
      let refused = answers.filter { $0.status != 200 }
      #expect(refused.count == 10)
      // A request may have begun before the one that began the window.
      for answer in refused { expectLimited(answer, retryAfter: "3600", "3601") }
      #expect(site.preferences(of: ann).version == 60)
      #expect(site.audited("push_token_set") == 60)
      #expect(
        site.sql("SELECT token FROM push_tokens")
          == site.preferences(of: ann).string("push_token"))
    }
  }

  @Test func aDeviceMayRegister60TimesAnHour() throws {
    try withApplication { site in
      var ann = try site.signUp()
      site.register("apns_dev_ABC123", by: ann)
      site.sql("UPDATE rate_limits SET hits = 59 WHERE name = 'push-register'")
      #expect(site.register("apns_dev_ABC123", by: ann).status == 200)
      expectLimited(site.register("apns_dev_ABC123", by: ann), retryAfter: "3600")
      site.advance(by: .seconds(3599))
      expectLimited(site.register("apns_dev_ABC123", by: ann), retryAfter: "1")
      ann = try site.refreshed(ann)
      site.advance(by: .seconds(1))
      #expect(site.register("apns_dev_ABC123", by: ann).status == 200)
    }
  }
}

import Testing

@testable import API

/// The limits of push tokens and of test pushes.
@Suite struct PushLimitTests {
  private func insertTokens(_ count: Int, _ site: TestApplication) {
    site.sql(
      """
      INSERT INTO push_tokens (token, device_id, platform, registered_at)
      SELECT LPAD(seq, 64, 'a'), d.id, 'ios', UTC_TIMESTAMP(3)
      FROM seq_1_to_1000 JOIN devices d ON d.client_device_id = 'device-1' WHERE seq <= \(count)
      """)
  }

  @Test func anAccountTestsThreeHundredTokensAMinute() throws {
    try withAnn { site, ann, _ in
      insertTokens(150, site)
      try site.withCompanion(.accepting) {
        for _ in 1...2 { #expect(site.push("test", "{}", by: ann).status == 200) }
        site.advance(by: .seconds(20))
        let refused = site.push("test", "{}", by: ann)
        #expect(refused.status == 429, "\(refused.text)")
        #expect(refused.retryAfter == 40)
        #expect(refused.crossOriginFields == Answer.allowed)
        site.advance(by: .seconds(40))
        #expect(site.push("test", "{}", by: ann).status == 200)
      }
    }
  }

  @Test func theFirstTestOfAMinuteReachesEveryToken() throws {
    try withAnn { site, ann, _ in
      insertTokens(400, site)
      try site.withCompanion(.accepting) {
        #expect(site.push("test", "{}", by: ann)["successCount"] as? Int == 400)
        let one = #"{"token":"\#(String(repeating: "a", count: 61))400"}"#
        #expect(site.push("test", one, by: ann).status == 429)
      }
    }
  }

  @Test func anAccountRegistersThreeHundredTokensAnHour() throws {
    try withAnn { site, ann, other in
      site.sql("DELETE FROM rate_limits")
      site.register("a", of: ann)
      site.sql("UPDATE rate_limits SET hits = 298 WHERE name = 'push-token'")
      let set = jsonText(["pushToken": pushTokenText("b")])
      #expect(
        site.send("POST", AccountPath.pushToken, set, token: other.accessToken).status == 200)
      site.register("c", of: ann)
      let refused = site.push("register", #"{"token":"\#(pushTokenText("d"))"}"#, by: ann)
      #expect(refused.status == 429, "\(refused.text)")
      #expect(
        site.send("POST", AccountPath.pushToken, set, token: other.accessToken)
          .isError(429, "too_many_requests"))
      #expect(site.count("push_tokens") == 3)
    }
  }
}

import Base
import Foundation
import Store
import Support
import Testing

@testable import API

/// Pairing tokens on the page, in exchanges and after a replacement.
@Suite struct PairingTokenTests {
  @Test func theInfoHasTheMembersOfTheContract() throws {
    try withAgent { site in
      let answer = site.pairInfo()
      let sample = try pairingFixture("pair_info_auth_on.json")
      let own = try #require(answer[] as? NSDictionary)
      #expect(Set(own.allKeys as? [String] ?? []) == Set(sample.allKeys as? [String] ?? []))
      for name in ["ws", "http", "repo"] {
        #expect(own[name] as? String == sample[name] as? String)
      }
      #expect(answer.string("token_expires_at") == (site.now + .seconds(3600)).rfc3339)
      #expect(answer.field("Cache-Control") == "no-store")
      let session = try #require(answer.string("session"))
      #expect(
        session.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}/)
          != nil)
      let token = try site.payload(try #require(answer.string("token")))
      #expect(token.kind == .pairing)
      #expect(token.issuedAt == site.now)
      #expect(token.serverID == site.sql("SELECT server_id FROM pairing_server"))
    }
  }

  @Test func anHTTPSSiteHasAWSSSocket() throws {
    try withApplication { site in
      #expect(site.pairInfo().string("ws") == "wss://api.example.org/ws")
      #expect(site.pairInfo().string("http") == "https://api.example.org")
    }
  }

  @Test func aTokenIsShownUntilFiveMinutesAreLeft() throws {
    try withAgent { site in
      let first = try site.pairingToken()
      site.advance(by: .seconds(3300))
      #expect(try site.pairingToken() == first)
      site.advance(by: .seconds(1))
      let second = try site.pairingToken()
      #expect(second != first)
      // The earlier token stays valid until it expires.
      #expect(site.exchange(first).status == 200)
      #expect(try site.pairingToken() == second)
    }
  }

  @Test func simultaneousRequestsSeeOneToken() throws {
    try withAgent { site in
      let tokens = inParallel(20) { _ in site.pairInfo().string("token") }
      #expect(Set(tokens).count == 1)
      #expect(tokens.first != .some(nil))
      #expect(site.sql("SELECT COUNT(*) FROM pairing_tokens") == "1")
    }
  }

  @Test func theUserAgentIsKeptWithoutControlCharacters() throws {
    try withAgent { site in
      let agent = "a\u{1B}[2Jb\u{9B}\u{202E}c"
      let token = try site.pairingToken()
      #expect(site.exchange(token, userAgent: agent).status == 200)
      #expect(
        site.sql("SELECT user_agent FROM paired_devices") == "a\u{FFFD}[2Jb\u{FFFD}\u{FFFD}c")
    }
  }

  @Test func anExchangeAnswersTheMembersOfTheContract() throws {
    try withAgent { site in
      let answer = site.exchange(try site.pairingToken())
      let sample = try pairingFixture("exchange_response_200.json")
      let own = try #require(answer[] as? NSDictionary)
      #expect(Set(own.allKeys as? [String] ?? []) == Set(sample.allKeys as? [String] ?? []))
      #expect(answer["expires_in"] as? Int == 900)
      #expect(answer.string("token_type") == "Bearer")
      #expect(answer.string("access_token_expires_at") == (site.now + .seconds(900)).rfc3339)
      #expect(answer.string("refresh_token_expires_at") == (site.now + .seconds(604_800)).rfc3339)
      let paired = try Paired(answer)
      let (access, refresh) = (try site.payload(paired.access), try site.payload(paired.refresh))
      #expect(access.kind == .access)
      #expect(refresh.kind == .refresh)
      #expect(access.deviceID == refresh.deviceID)
      #expect(access.deviceID == site.sql("SELECT id FROM pairings"))
      #expect(site.sql("SELECT user_agent, address FROM pairings") == "cdev/1.0\t192.0.2.1")
    }
  }

  @Test func anExchangedTokenIsRefusedTheSecondTimeAndAnotherIsShown() throws {
    try withAgent { site in
      let token = try site.pairingToken()
      _ = try Paired(site.exchange(token))
      expect(site.exchange(token), 401, "Invalid or expired pairing token")
      #expect(try site.pairingToken() != token)
      #expect(site.sql("SELECT COUNT(*) FROM pairings") == "1")
    }
  }

  @Test func aTokenIsExchangedInItsLastSecondAndNotAfter() throws {
    try withAgent { site in
      let first = try site.pairingToken()
      site.advance(by: .seconds(3601))
      expect(site.exchange(first), 401, "Invalid or expired pairing token")
      let second = try site.pairingToken()
      site.advance(by: .seconds(3600))
      #expect(site.exchange(second).status == 200)
    }
  }

  @Test func ofSimultaneousExchangesOneWins() throws {
    try withAgent { site in
      for round in 1...rounds(default: 3) {
        let token = try site.pairingToken()
        let answers = inParallel(64) { site.exchange(token, address: "192.0.2.\($0)") }
        let statuses = Dictionary(grouping: answers, by: \.status).mapValues(\.count)
        #expect(statuses[200] == 1, "round \(round): \(statuses)")
        #expect(statuses[401, default: 0] + statuses[429, default: 0] == 63, "\(statuses)")
        #expect(site.sql("SELECT COUNT(*) FROM pairings") == "\(round)")
      }
    }
  }

  @Test(arguments: ["exchange", "refresh", "revoke"])
  func malformedBodiesAre400(_ action: String) throws {
    let name = action == "exchange" ? "pairing_token" : "refresh_token"
    try withAgent { site in
      func post(_ json: String) -> Answer { site.send("POST", "/api/auth/\(action)", json) }
      for json in ["", "{", "[]", "\"x\"", #"{"\#(name)":1}"#, #"{"\#(name)":["x"]}"#, "{}x"] {
        expect(post(json), 400, "Invalid request body")
      }
      for json in ["null", "{}", #"{"\#(name)":null}"#, #"{"\#(name)":""}"#, #"{"other":1}"#] {
        expect(post(json), 400, "\(name) is required")
      }
      expect(site.send("GET", "/api/auth/\(action)"), 405, "Method not allowed")
    }
  }

  /// The table of errors contains exactly the texts that the tests here and below expect.
  @Test func theErrorTextsAreThoseOfTheContract() throws {
    let errors = try #require(
      JSONSerialization.jsonObject(with: Data(try fixture("pairing/errors.json").utf8))
        as? [[String: Any]])
    let texts = errors.compactMap { ($0["body"] as? [String: String])?["error"] }
    #expect(
      Set(texts) == [
        "Invalid request body", "pairing_token is required", "refresh_token is required",
        "Invalid or expired pairing token", "Invalid or expired refresh token",
      ])
  }

  @Test func tokensOfOtherKindsCannotBeExchanged() throws {
    try withAgent { site in
      let paired = try site.pair()
      for token in [paired.access, paired.refresh, "garbage", "cdev_p_garbage", "cdev_c_x.y.z"] {
        expect(site.exchange(token), 401, "Invalid or expired pairing token")
      }
    }
  }

  @Test func failedExchangesAreLimitedByAddress() throws {
    try withAgent { site in
      for _ in 1...12 { _ = try site.pair() }
      for _ in 1...10 { #expect(site.exchange("garbage").status == 401) }
      let limited = site.exchange("garbage")
      #expect(limited.status == 429)
      #expect(limited.field("Retry-After") == "60")
      #expect(site.exchange("garbage", address: "192.0.2.2").status == 401)
      #expect(try site.exchange(site.pairingToken()).status == 200)
      #expect(
        site.sql("SELECT COUNT(*) FROM audit_log WHERE event = 'exchange_refused'") == "11")
      site.advance(by: .seconds(60))
      #expect(site.exchange("garbage").status == 401)
    }
  }

  @Test func replacingTokensKeepsPairedPhones() throws {
    try withAgent { site in
      let paired = try site.pair()
      let old = try site.pairingToken()
      let answer = site.replaceTokens()
      let sample = try pairingFixture("pair_refresh_response_200.json")
      let own = try #require(answer[] as? NSDictionary)
      #expect(Set(own.allKeys as? [String] ?? []) == Set(sample.allKeys as? [String] ?? []))
      #expect(answer.string("message") == sample["message"] as? String)
      #expect(answer.string("expires_at") == (site.now + .seconds(3600)).rfc3339)
      expect(site.exchange(old), 401, "Invalid or expired pairing token")
      #expect(site.ask(bearer: old) == 401)
      #expect(try site.pairingToken() == answer.string("token"))
      #expect(site.ask(bearer: paired.access) == 204)
      #expect(site.refreshPairing(paired.refresh).status == 200)
    }
  }

  @Test func revokeAllEndsPairingsToo() throws {
    try withAgent { site in
      let paired = [try site.pair(), try site.pair()]
      #expect(site.replaceTokens(#"{"revoke":"all"}"#).status == 200)
      for phone in paired {
        #expect(site.ask(bearer: phone.access) == 401)
        expect(site.refreshPairing(phone.refresh), 401, "Invalid or expired refresh token")
      }
      #expect(site.sql("SELECT DISTINCT end_reason FROM pairings") == "revoke_all")
      #expect(site.ask(bearer: try site.pair().access) == 204)
    }
  }

  @Test(arguments: ["{", "[]", #"{"revoke":1}"#, #"{"revoke":"some"}"#])
  func anUnknownRevokeIs400(_ json: String) throws {
    try withAgent { site in
      let token = try site.pairingToken()
      expect(site.replaceTokens(json), 400, "Invalid request body")
      #expect(try site.pairingToken() == token)
      for json in ["", "{}", "null", #"{"revoke":null}"#] {
        #expect(site.replaceTokens(json).status == 200)
      }
    }
  }

  @Test func simultaneousReplacementsLeaveOneToken() throws {
    try withAgent { site in
      let answers = inParallel(16) { _ in site.replaceTokens() }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.text)))")
      let current = try site.pairingToken()
      #expect(answers.contains { $0.string("token") == current })
      let open = site.sql(
        "SELECT COUNT(*) FROM pairing_tokens WHERE spent_at IS NULL AND revoked_at IS NULL")
      #expect(open == "1")
    }
  }

  @Test func withoutAuthenticationNoTokenIsIssuedOrAskedFor() throws {
    let open = GuardedAgent(publicURL: "http://127.0.0.1:8766", repo: "cdev", requiresAuth: false)
    try withAgent(open) { site in
      let own = try #require(site.pairInfo()[] as? NSDictionary)
      let sample = try pairingFixture("pair_info_auth_off.json")
      #expect(Set(own.allKeys as? [String] ?? []) == Set(sample.allKeys as? [String] ?? []))
      for target in ["/ws", "/api/claude/run", "/ws?token=garbage"] {
        #expect(site.ask(target) == 204)
        #expect(site.ask(target, bearer: "garbage") == 204)
      }
      #expect(site.send("GET", "/api/status")["auth_required"] as? Bool == false)
      #expect(site.replaceTokens().status == 404)
      #expect(site.send("POST", "/api/auth/ticket").status == 404)
      #expect(site.exchange("garbage").status == 401)
      #expect(site.sql("SELECT COUNT(*) FROM pairing_tokens") == "0")
    }
  }

  @Test func withoutAuthenticationEarlierTokensAreRefused() throws {
    try withAgent { site in
      let paired = try site.pair()
      let token = try site.pairingToken()
      let open = site.withAgent(GuardedAgent(publicURL: "http://127.0.0.1", requiresAuth: false))
      expect(open.exchange(token), 401, "Invalid or expired pairing token")
      expect(open.refreshPairing(paired.refresh), 401, "Invalid or expired refresh token")
      #expect(open.revokePairing(paired.refresh).status == 200)
      #expect(site.ask(bearer: paired.access) == 401)
    }
  }

  @Test func eventsAreAuditedWithoutTokens() throws {
    try withAgent { site in
      let paired = try site.pair()
      let next = try Paired(site.refreshPairing(paired.refresh))
      _ = site.exchange("garbage")
      _ = site.replaceTokens()
      _ = site.revokePairing(next.refresh)
      #expect(
        site.sql("SELECT event FROM audit_log ORDER BY id").split(separator: "\n") == [
          "phone_paired", "refreshed", "exchange_refused", "pairing_tokens_revoked",
          "pairing_ended",
        ])
      let written = ["pairing_tokens", "pairings", "pairing_server", "audit_log"]
        .map { site.sql("SELECT * FROM \($0)") }.joined()
      for secret in [paired.access, paired.refresh, next.access, next.refresh] {
        #expect(!written.contains(secret.dropFirst(20)))
      }
    }
  }
}

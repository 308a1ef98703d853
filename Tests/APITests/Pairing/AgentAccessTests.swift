import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// Tokens and tickets that admit a request to the agent, and their lifetime.
@Suite struct AgentAccessTests {
  @Test(arguments: ["/ws", "/api/claude/run", "/api/git/status", "/api/file"])
  func accessAndPairingTokensAreAdmitted(_ path: String) throws {
    try withAgent { site in
      let paired = try site.pair()
      let legacy = try site.pairingToken()
      for token in [paired.access, legacy] {
        for _ in 1...2 {
          #expect(site.ask(path, bearer: token) == 204)
          #expect(site.ask("\(path)?token=\(token)") == 204)
          #expect(site.ask("\(path)?path=a%2Fb&token=\(token)&x") == 204)
        }
      }
      #expect(try site.pairingToken() == legacy, "the legacy flow spends nothing")
      for token in [
        paired.refresh, "garbage", "", "cdev_s_", "cdev_c_" + paired.access.dropFirst(7),
      ] {
        #expect(site.ask(path, bearer: token) == 401)
        #expect(site.ask("\(path)?token=\(token)") == 401)
      }
      #expect(site.ask(path) == 401)
      // The bearer token is checked instead of the token in the URL.
      #expect(site.ask("\(path)?token=\(paired.access)", bearer: "garbage") == 401)
    }
  }

  @Test func expiredTokensAre403ForAWebSocketAnd401Elsewhere() throws {
    try withAgent { site in
      let paired = try site.pair()
      let legacy = try site.pairingToken()
      site.advance(by: .seconds(900))
      #expect(site.ask(bearer: paired.access) == 204)
      site.advance(by: .seconds(1))
      #expect(site.ask(bearer: paired.access) == 403)
      #expect(site.ask("/ws?token=\(paired.access)") == 403)
      #expect(site.ask("/api/file?path=/ws", bearer: paired.access) == 401)
      #expect(site.ask("/ws/x", bearer: paired.access) == 401)
      #expect(site.send("GET", "/api/status", token: paired.access).status == 401)
      #expect(site.ask(bearer: legacy) == 204)
      site.advance(by: .seconds(2700))
      #expect(site.ask(bearer: legacy) == 403)
    }
  }

  @Test func aTokenOfAnotherServerIsRefused() throws {
    try withAgent { site in
      let paired = try site.pair()
      let pairing = try site.pairingToken()
      site.sql("UPDATE pairing_server SET server_id = 'server-server-01'")
      for token in [paired.access, pairing] { #expect(site.ask(bearer: token) == 401) }
      #expect(site.exchange(pairing).status == 401)
      #expect(site.refreshPairing(paired.refresh).status == 401)
    }
  }

  @Test func statusNeedsAToken() throws {
    try withAgent { site in
      let paired = try site.pair()
      let refused = site.send("GET", "/api/status")
      expect(refused, 401, "Unauthorized")
      #expect(refused.field("WWW-Authenticate") == "Bearer")
      let answer = site.send("GET", "/api/status", token: paired.access)
      #expect(answer.string("status") == "ok")
      #expect(answer.string("repo") == "cdev")
      #expect(answer.string("session") == site.pairInfo().string("session"))
      #expect(answer["auth_required"] as? Bool == true)
      #expect(site.send("GET", "/api/status", query: "token=\(paired.access)").status == 200)
    }
  }

  /// Whoever asks for the agent's state waits for it, and must leave workers to others.
  @Test(arguments: [true, false])
  func statusAsksNoAgentIfItMayNotWait(mayWait: Bool) throws {
    try withAgent { site in
      let paired = try site.pair()
      let application = site.sibling(
        settings: .ofTests(agent: TestApplication.agent, relaySocket: "/nonexistent"),
        beginWaiting: { mayWait })
      let answer = application.send("GET", "/api/status", token: paired.access)
      #expect(answer.string("agent") == (mayWait ? "away" : "unknown"))
    }
  }

  private func ticket(_ site: TestApplication, _ token: String?) throws -> String {
    let answer = site.send("POST", "/api/auth/ticket", token: token)
    try #require(answer.status == 200, "\(answer.text)")
    #expect(answer.string("expires_at") == (site.now + .seconds(60)).rfc3339)
    return try #require(answer.string("ticket"))
  }

  @Test func aTicketAdmitsOnceAndOnlyInAURL() throws {
    try withAgent { site in
      for token in [try site.pair().access, try site.pairingToken()] {
        let ticket = try ticket(site, token)
        #expect(site.ask(bearer: ticket) == 401)
        #expect(site.ask("/ws?token=\(ticket)") == 204)
        #expect(site.ask("/ws?token=\(ticket)") == 401)
        #expect(!site.sql("SELECT * FROM pairing_tickets").contains(ticket))
      }
    }
  }

  @Test func aTicketExpiresAfterAMinute() throws {
    try withAgent { site in
      let access = try site.pair().access
      let (early, late, status) = (
        try ticket(site, access), try ticket(site, access), try ticket(site, access)
      )
      // Each of them was issued a millisecond after the one before.
      site.advance(by: .milliseconds(59_998))
      #expect(site.ask("/ws?token=\(early)") == 204)
      site.advance(by: .milliseconds(2))
      #expect(site.ask("/ws?token=\(late)") == 403)
      #expect(site.ask("/api/file?token=\(status)") == 401)
    }
  }

  @Test func aTicketDiesWithItsToken() throws {
    try withAgent { site in
      let paired = try site.pair()
      let pairing = try site.pairingToken()
      let tickets = [try ticket(site, paired.access), try ticket(site, pairing)]
      _ = site.revokePairing(paired.refresh)
      _ = site.replaceTokens()
      for ticket in tickets { #expect(site.ask("/ws?token=\(ticket)") == 401) }
    }
  }

  /// The status is the responder's own answer; the relay would refuse the other requests.
  @Test func aTicketDoesNotOutliveItsPairingOrPairingToken() throws {
    try withAgent { site in
      for makeToken in [{ try site.pair().access }, { try site.pairingToken() }] {
        let token = try makeToken()
        let (early, late) = (try ticket(site, token), try ticket(site, token))
        site.sql(
          """
          UPDATE pairings SET expires_at = rotated_at + INTERVAL 30 SECOND;
          UPDATE pairing_tokens SET expires_at = issued_at + INTERVAL 30 SECOND
          """)
        site.advance(by: .seconds(20))
        #expect(site.send("GET", "/api/status", query: "token=\(early)").status == 200)
        site.advance(by: .seconds(20))
        #expect(site.send("GET", "/api/status", query: "token=\(late)").status == 401)
      }
    }
  }

  @Test func aTicketNeedsAnAdmittedToken() throws {
    try withAgent { site in
      let paired = try site.pair()
      for token in [nil, "garbage", paired.refresh] {
        expect(site.send("POST", "/api/auth/ticket", token: token), 401, "Unauthorized")
      }
      let ticket = try ticket(site, paired.access)
      #expect(site.send("POST", "/api/auth/ticket", query: "token=\(ticket)").status == 401)
    }
  }

  @Test func aPhoneGetsThirtyTicketsAMinute() throws {
    try withAgent { site in
      let (phone, other) = (try site.pair(), try site.pair())
      let legacy = try site.pairingToken()
      for token in [phone.access, legacy] {
        for _ in 1...30 { _ = try ticket(site, token) }
        let refused = site.send("POST", "/api/auth/ticket", token: token)
        expect(refused, 429, "Too many requests")
        #expect(refused.field("Retry-After") == "60")
      }
      #expect(site.sql("SELECT COUNT(*) FROM pairing_tickets") == "60", "a refusal leaves none")
      _ = try ticket(site, other.access)
      // Refused tokens are not counted, so an attacker cannot use up a phone's tickets.
      for _ in 1...40 { _ = site.send("POST", "/api/auth/ticket", token: "cdev_s_garbage") }
      _ = try ticket(site, other.access)
      site.advance(by: .seconds(60))
      _ = try ticket(site, phone.access)
    }
  }

  @Test func ofSimultaneousUsesOfATicketOnePasses() throws {
    try withAgent { site in
      let ticket = try ticket(site, try site.pair().access)
      let statuses = inParallel(32) { _ in site.ask("/ws?token=\(ticket)") }
      #expect(statuses.filter { $0 == 204 }.count == 1)
      #expect(statuses.filter { $0 == 401 }.count == 31)
    }
  }
}

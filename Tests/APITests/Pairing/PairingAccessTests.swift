import Base
import Cryptography
import Foundation
import Store
import Testing

@testable import API

/// Who may reach the agent, and for how long.
@Suite struct PairingAccessTests {
  @Test(arguments: ["/ws", "/api/claude/run", "/api/git/status", "/api/file"])
  func anAccessOrAPairingTokenLetsThrough(_ path: String) throws {
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
      // The bearer decides.
      #expect(site.ask("\(path)?token=\(paired.access)", bearer: "garbage") == 401)
    }
  }

  @Test func whatHasExpiredIs403ForAWebSocketAnd401Else() throws {
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

  @Test func statusIsForWhoMayIn() throws {
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

  private func ticket(_ site: TestApplication, _ token: String?) throws -> String {
    let answer = site.send("POST", "/api/auth/ticket", token: token)
    try #require(answer.status == 200, "\(answer.text)")
    #expect(answer.string("expires_at") == (site.now + .seconds(60)).rfc3339)
    return try #require(answer.string("ticket"))
  }

  @Test func aTicketIsGoodOnceInAURLOnly() throws {
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

  @Test func aTicketIsGoodForAMinute() throws {
    try withAgent { site in
      let access = try site.pair().access
      let (early, late, status) = (
        try ticket(site, access), try ticket(site, access), try ticket(site, access)
      )
      site.advance(by: .seconds(60))
      #expect(site.ask("/ws?token=\(early)") == 204)
      site.advance(by: .milliseconds(1))
      #expect(site.ask("/ws?token=\(late)") == 403)
      #expect(site.ask("/api/file?token=\(status)") == 401)
    }
  }

  @Test func aTicketGoesWithWhatItStandsFor() throws {
    try withAgent { site in
      let paired = try site.pair()
      let pairing = try site.pairingToken()
      let tickets = [try ticket(site, paired.access), try ticket(site, pairing)]
      _ = site.revokePairing(paired.refresh)
      _ = site.replaceTokens()
      for ticket in tickets { #expect(site.ask("/ws?token=\(ticket)") == 401) }
    }
  }

  @Test func onlyWhoMayInGetsATicket() throws {
    try withAgent { site in
      let paired = try site.pair()
      for token in [nil, "garbage", paired.refresh] {
        expect(site.send("POST", "/api/auth/ticket", token: token), 401, "Unauthorized")
      }
      let ticket = try ticket(site, paired.access)
      #expect(site.send("POST", "/api/auth/ticket", query: "token=\(ticket)").status == 401)
    }
  }

  @Test func ofManyWhoShowATicketAtOnceOnePasses() throws {
    try withAgent { site in
      let ticket = try ticket(site, try site.pair().access)
      let statuses = simultaneously(32) { _ in site.ask("/ws?token=\(ticket)") }
      #expect(statuses.filter { $0 == 204 }.count == 1)
      #expect(statuses.filter { $0 == 401 }.count == 31)
    }
  }

  // Refreshing --------------------------------------------------------------------------------------------------

  @Test func aLostAnswerIsGivenAgainUntilItsAccessTokenIsUsed() throws {
    try withAgent { site in
      let first = try site.pair()
      let lost = try Paired(site.refreshPairing(first.refresh))
      site.advance(by: .seconds(600))
      let again = try Paired(site.refreshPairing(first.refresh))
      #expect(again.refresh == lost.refresh)
      #expect(again.access != lost.access)
      #expect(site.ask(bearer: again.access) == 204)
      site.advance(by: .seconds(61))
      expect(site.refreshPairing(first.refresh), 401, "Invalid or expired refresh token")
      #expect(site.sql("SELECT end_reason FROM pairings") == "reuse")
      #expect(site.ask(bearer: again.access) == 401)
      #expect(site.refreshPairing(again.refresh).status == 401)
    }
  }

  @Test func parallelCallsOfAPhoneGetOneSuccessor() throws {
    try withAgent { site in
      let first = try site.pair()
      let answers = simultaneously(8) { _ in site.refreshPairing(first.refresh) }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.text)))")
      let next = try Paired(answers[0])
      #expect(Set(answers.map { $0.string("refresh_token") }) == [next.refresh])
      #expect(site.ask(bearer: next.access) == 204)
      site.advance(by: .seconds(10))
      #expect(site.refreshPairing(first.refresh).string("refresh_token") == next.refresh)
      site.advance(by: .milliseconds(1))
      #expect(site.refreshPairing(first.refresh).status == 409)
      site.advance(by: .milliseconds(49_999))
      #expect(site.refreshPairing(first.refresh).status == 409)
      #expect(site.refreshPairing(next.refresh).status == 200)
    }
  }

  @Test func anOldGenerationsAccessTokenConfirmsNothing() throws {
    try withAgent { site in
      let first = try site.pair()
      let lost = try Paired(site.refreshPairing(first.refresh))
      #expect(site.ask(bearer: first.access) == 204)
      site.advance(by: .seconds(300))
      #expect(site.refreshPairing(first.refresh).string("refresh_token") == lost.refresh)
    }
  }

  @Test func aPhoneThatNeverUsesItsTokensMayGoOnRefreshing() throws {
    try withAgent { site in
      var phone = try site.pair()
      for _ in 1...40 {
        site.advance(by: .seconds(780))
        phone = try Paired(site.refreshPairing(phone.refresh))
      }
      #expect(site.ask(bearer: phone.access) == 204)
      #expect(site.sql("SELECT generation FROM pairings") == "41")
    }
  }

  @Test func aWeekWithoutAVisitEndsAPairing() throws {
    try withAgent { site in
      let (one, other) = (try site.pair(), try site.pair())
      site.advance(by: .seconds(604_800))
      #expect(site.refreshPairing(one.refresh).status == 200)
      site.advance(by: .seconds(1))
      #expect(site.refreshPairing(other.refresh).status == 401)
    }
  }

  @Test func refreshesAreLimitedToThirtyAnHour() throws {
    try withAgent { site in
      var phone = try site.pair()
      for _ in 1...30 { phone = try Paired(site.refreshPairing(phone.refresh)) }
      #expect(site.refreshPairing(phone.refresh).status == 429)
      site.advance(by: .seconds(3600))
      #expect(site.refreshPairing(phone.refresh).status == 200)
    }
  }

  @Test func tokensOfAnotherKindRefreshNothing() throws {
    try withAgent { site in
      let paired = try site.pair()
      for token in [paired.access, try site.pairingToken(), "garbage"] {
        expect(site.refreshPairing(token), 401, "Invalid or expired refresh token")
      }
    }
  }

  @Test func theLastUseIsThatOfTheNewestAccessToken() throws {
    try withAgent { site in
      let phone = try site.pair()
      site.advance(by: .seconds(60))
      #expect(site.ask(bearer: phone.access) == 204)
      let used = site.sql("SELECT TIMESTAMPDIFF(SECOND, paired_at, last_used_at) FROM pairings")
      #expect(used == "60")
    }
  }

  // Revoking ----------------------------------------------------------------------------------------------------

  @Test func aPhoneThatDisconnectsIsOutAtOnceAndItsNeighbourIsNot() throws {
    try withAgent { site in
      let (gone, other) = (try site.pair(), try site.pair())
      let answer = site.revokePairing(gone.refresh)
      #expect(
        answer[] as? NSDictionary
          == (try pairingFixture("revoke.json")["response_200"] as? NSDictionary))
      #expect(site.ask(bearer: gone.access) == 401)
      #expect(site.refreshPairing(gone.refresh).status == 401)
      #expect(site.ask(bearer: other.access) == 204)
      #expect(site.sql("SELECT end_reason FROM pairings WHERE ended_at IS NOT NULL") == "phone")
    }
  }

  @Test func revokingTwiceOrGarbageSucceedsAndAnotherKindDoesNot() throws {
    try withAgent { site in
      let paired = try site.pair()
      for token in [paired.refresh, paired.refresh, "garbage", "cdev_r_garbage"] {
        #expect(site.revokePairing(token).status == 200)
      }
      for token in [paired.access, try site.pairingToken()] {
        expect(site.revokePairing(token), 400, "refresh_token is required")
      }
      #expect(site.sql("SELECT COUNT(*) FROM audit_log WHERE event = 'pairing_ended'") == "1")
    }
  }
}

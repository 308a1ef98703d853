import Base
import Support
import Testing

@testable import API

/// A paired phone and a thief who has copied its refresh token.
@Suite struct PairingThiefTests {
  private static let thief = "203.0.113.9"

  @Test func aThiefWhoRefreshesFirstAndWaitsDoesNotStayBesideThePhone() throws {
    try withAgent { site in
      let first = try site.pair()
      site.advance(by: .seconds(750))
      let stolen = try Paired(site.refreshPairing(first.refresh, address: Self.thief))
      site.advance(by: .seconds(30))
      let own = try Paired(site.refreshPairing(first.refresh))
      #expect(own.refresh != stolen.refresh)
      #expect(site.ask(bearer: own.access) == 204)
      #expect(site.count("audit_log WHERE event = 'refresh_repeated'") == 1)
      site.advance(by: .seconds(750))
      #expect(site.refreshPairing(stolen.refresh, address: Self.thief).status == 401)
      #expect(site.sql("SELECT end_reason FROM pairings") == "reuse")
      #expect(site.refreshPairing(own.refresh).status == 401)
    }
  }

  @Test func anAccessTokenOfADeadBranchEndsThePairing() throws {
    try withAgent { site in
      let first = try site.pair()
      let dead = try Paired(site.refreshPairing(first.refresh))
      let living = try Paired(site.refreshPairing(first.refresh, address: Self.thief))
      #expect(site.ask(bearer: first.access) == 204, "the generation before is not dead")
      #expect(site.ask(bearer: dead.access) == 401)
      #expect(site.sql("SELECT end_reason FROM pairings") == "reuse")
      #expect(site.count("audit_log WHERE event = 'refresh_reuse'") == 1)
      #expect(site.ask(bearer: living.access) == 401)
    }
  }

  @Test func theEleventhLateAnswerEndsThePairing() throws {
    try withAgent { site in
      let first = try site.pair()
      #expect(site.refreshPairing(first.refresh).status == 200)
      for _ in 1...10 {
        site.advance(by: .seconds(11))
        #expect(site.refreshPairing(first.refresh).status == 200)
      }
      site.advance(by: .seconds(11))
      #expect(site.refreshPairing(first.refresh).status == 401)
      #expect(site.sql("SELECT end_reason FROM pairings") == "reuse")
    }
  }
}

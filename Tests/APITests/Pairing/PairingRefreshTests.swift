import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// Token refreshes of paired phones, and the end of pairings.
@Suite struct PairingRefreshTests {
  @Test func aLostAnswerIsReplacedUntilItsAccessTokenIsUsed() throws {
    try withAgent { site in
      let first = try site.pair()
      let lost = try Paired(site.refreshPairing(first.refresh))
      site.advance(by: .seconds(600))
      let again = try Paired(site.refreshPairing(first.refresh))
      #expect(again.refresh != lost.refresh)
      #expect(again.access != lost.access)
      #expect(site.ask(bearer: again.access) == 204)
      site.advance(by: .seconds(61))
      expect(site.refreshPairing(first.refresh), 401, "Invalid or expired refresh token")
      #expect(site.sql("SELECT end_reason FROM pairings") == "reuse")
      #expect(site.ask(bearer: again.access) == 401)
      #expect(site.refreshPairing(again.refresh).status == 401)
    }
  }

  @Test func parallelRefreshesGetTheSameToken() throws {
    try withAgent { site in
      let first = try site.pair()
      let answers = inParallel(8) { _ in site.refreshPairing(first.refresh) }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.text)))")
      let next = try Paired(answers[0])
      #expect(Set(answers.map { $0.string("refresh_token") }) == [next.refresh])
      #expect(site.ask(bearer: next.access) == 204)
      let used = try site.instant("SELECT last_used_at FROM pairings")
      let made = try site.instant("SELECT rotated_at FROM pairings")
      site.advance(to: made + .seconds(10))
      #expect(site.refreshPairing(first.refresh).string("refresh_token") == next.refresh)
      // The ten seconds begin again with each answer.
      site.advance(to: made + .seconds(20))
      #expect(site.refreshPairing(first.refresh).string("refresh_token") == next.refresh)
      site.advance(to: made + .milliseconds(30_001))
      #expect(site.refreshPairing(first.refresh).status == 409)
      site.advance(to: used + .seconds(60))
      #expect(site.refreshPairing(first.refresh).status == 409)
      #expect(site.refreshPairing(next.refresh).status == 200)
    }
  }

  /// The app refreshes by a timer and before it connects again, both at once after a long time without a network.
  @Test func aSecondRequestLongAfterALostAnswerIsNoTheft() throws {
    try withAgent { site in
      let first = try site.pair()
      #expect(site.refreshPairing(first.refresh).status == 200)  // the answer is lost
      site.advance(by: .seconds(3000))
      let again = try Paired(site.refreshPairing(first.refresh))
      #expect(site.ask(bearer: again.access) == 204)
      #expect(site.refreshPairing(first.refresh).string("refresh_token") == again.refresh)
    }
  }

  @Test func anOldGenerationsAccessTokenConfirmsNothing() throws {
    try withAgent { site in
      let first = try site.pair()
      let lost = try Paired(site.refreshPairing(first.refresh))
      #expect(site.ask(bearer: first.access) == 204)
      site.advance(by: .seconds(5))
      #expect(site.refreshPairing(first.refresh).string("refresh_token") == lost.refresh)
      #expect(site.sql("SELECT confirmed FROM pairings") == "0")
    }
  }

  @Test func aPhoneMayRefreshWithoutUsingItsTokens() throws {
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

  @Test func aPairingEndsAfterAWeekWithoutRefresh() throws {
    try withAgent { site in
      let (one, other) = (try site.pair(), try site.pair())
      site.advance(by: .seconds(604_800))
      #expect(site.refreshPairing(one.refresh).status == 200)
      site.advance(by: .seconds(1))
      #expect(site.refreshPairing(other.refresh).status == 401)
    }
  }

  @Test func aPairingEndsAfterNinetyDaysHoweverOftenItIsRefreshed() throws {
    try withAgent { site in
      var phone = try site.pair()
      for _ in 1...14 {
        site.advance(by: .seconds(6 * 86_400))
        phone = try Paired(site.refreshPairing(phone.refresh))
      }
      let answer = site.refreshPairing(phone.refresh)
      let end = (site.now + .seconds(6 * 86_400)).rfc3339
      #expect(answer.string("refresh_token_expires_at") == end)
      phone = try Paired(answer)
      site.advance(by: .seconds(6 * 86_400 - 1))
      phone = try Paired(site.refreshPairing(phone.refresh))
      #expect(site.ask(bearer: phone.access) == 204)
      site.advance(by: .seconds(1))
      #expect(site.ask(bearer: phone.access) == 401)
      #expect(site.refreshPairing(phone.refresh).status == 401)
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

  @Test func tokensOfOtherKindsCannotRefresh() throws {
    try withAgent { site in
      let paired = try site.pair()
      for token in [paired.access, try site.pairingToken(), "garbage"] {
        expect(site.refreshPairing(token), 401, "Invalid or expired refresh token")
      }
    }
  }

  @Test func usingAnAccessTokenUpdatesTheLastUse() throws {
    try withAgent { site in
      let phone = try site.pair()
      site.advance(by: .seconds(60))
      #expect(site.ask(bearer: phone.access) == 204)
      let used = site.sql("SELECT TIMESTAMPDIFF(SECOND, paired_at, last_used_at) FROM pairings")
      #expect(used == "60")
    }
  }

  @Test func aRevokedPhoneIsRefusedAtOnceAndNoOther() throws {
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

  @Test func revokingSucceedsTwiceAndForGarbageButNotForOtherKinds() throws {
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

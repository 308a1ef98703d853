import Base
import Foundation
import Support
import Testing

@testable import API

/// The clock is set back by an hour: times in the future count as now.
@Suite struct AccountClockTests {
  private let hour = Duration.seconds(3600)

  @Test func aLockLastsFifteenMinutes() throws {
    try withApplication { site in
      _ = try site.setUp(of: try site.signUp())
      for _ in 1...5 { #expect(try site.signIn(with: .two).isWrongSignature) }
      #expect(try site.signIn(with: .one).isError(429, "too_many_requests"))
      site.advance(by: .seconds(-3600))
      let locked = try site.signIn(with: .one)
      #expect(locked.isError(429, "too_many_requests"))
      #expect(try #require(locked.retryAfter) <= 900)
      site.advance(by: .seconds(900))
      #expect(try site.signIn(with: .one).status == 200)
    }
  }

  @Test func aLimitLastsAsLongAsItsWindow() throws {
    try withApplication { site in
      for _ in 1...60 { try site.registerDevice() }
      site.advance(by: .seconds(-3600))
      let body = jsonText(["deviceId": "device-1", "deviceName": "Phone", "platform": "ios"])
      let refused = site.send("POST", AccountPath.registerDevice, body)
      #expect(refused.isError(429, "too_many_requests"))
      #expect(try #require(refused.retryAfter) <= 3600)
      site.advance(by: hour)
      #expect(site.send("POST", AccountPath.registerDevice, body).status == 200)
    }
  }

  @Test func aUsedSuccessorIsNotGivenAgain() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let next = site.refresh(ann.refreshToken)
      #expect(site.summary(try #require(next.accessToken)).status == 200)
      site.advance(by: .seconds(-3600))
      for address in ["192.0.2.1", "203.0.113.9"] {
        #expect(site.refresh(ann.refreshToken, address: address).isError(409, "conflict"))
      }
      #expect(site.refresh(try #require(next.refreshToken)).status == 200, "the phone stays in")
    }
  }

  @Test func aLostAnswerIsGivenAgain() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let lost = site.refresh(ann.refreshToken)
      site.advance(by: .seconds(-3600))
      #expect(site.refresh(ann.refreshToken).refreshToken == lost.refreshToken)
      let elsewhere = site.refresh(ann.refreshToken, address: "198.51.100.7")
      #expect(elsewhere.status == 200)
      #expect(elsewhere.refreshToken != lost.refreshToken)
      #expect(site.summary(try #require(elsewhere.accessToken)).status == 200)
    }
  }

  @Test func pairedPhonesFollowTheSameRule() throws {
    try withAgent { site in
      let (used, unused) = (try site.pair(), try site.pair())
      let next = try Paired(site.refreshPairing(used.refresh))
      let lost = try Paired(site.refreshPairing(unused.refresh))
      #expect(site.ask(bearer: next.access) == 204)
      site.advance(by: .seconds(-3600))
      #expect(site.refreshPairing(used.refresh).status == 409)
      #expect(site.refreshPairing(unused.refresh).string("refresh_token") == lost.refresh)
      #expect(site.refreshPairing(next.refresh).status == 200)
    }
  }

  @Test func aTrustedKeyStillPays() throws {
    try withCheckout { checkout in
      let site = checkout.site
      let payment = try checkout.begin()
      site.advance(by: .seconds(-3600))
      let payer = try site.signIn(device: checkout.ann.deviceID)
      site.sql("UPDATE sessions SET proved_at = NULL")
      #expect(checkout.confirm(payment, by: payer).status == 200)
    }
  }

  /// A key on probation that its owner has used with a proof.
  @Test func aKeyThatBecameTrustedStillPays() throws {
    try withCheckout { checkout in
      let site = checkout.site
      site.sql(
        """
        UPDATE biometric_keys
        SET trusted_at = enrolled_at + INTERVAL 10 MINUTE, enrolled_at = enrolled_at - INTERVAL 1 MINUTE
        """)
      let payer = try site.signIn(device: checkout.ann.deviceID)
      let begun = site.initiate(checkout.order, key: checkout.key, token: payer.accessToken)
      let payment = BegunPayment(
        id: try #require(begun.string("paymentId")),
        challenge: try #require(begun.string("challenge")))
      site.sql("UPDATE sessions SET proved_at = NULL")
      #expect(checkout.confirm(payment, by: payer).status == 200)
    }
  }

  @Test func aTrustedCredentialStaysAProof() throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      let ann = try site.signUp(credential: credential)
      site.advance(by: .seconds(-3600))
      let token = try #require(site.refresh(ann.refreshToken).accessToken)
      site.sql("UPDATE sessions SET proved_at = NULL")
      let answer = site.send(
        "POST", AccountPath.passkeyOptions, token: token,
        fields: [("X-Device-Credential", credential)])
      #expect(answer.status == 200, "\(answer.text)")
    }
  }
}

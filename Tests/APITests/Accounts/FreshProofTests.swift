import Base
import Foundation
import Support
import Testing

@testable import API

/// A bearer token alone is not enough for sensitive changes.
@Suite struct FreshProofTests {
  private func setUp(
    _ key: PhoneKey, of person: SignedIn, _ site: TestApplication, credential: String? = nil
  ) -> Answer {
    site.send(
      "POST", AccountPath.setup,
      jsonText([
        "deviceId": person.deviceID, "publicKey": key.publicKey, "biometricType": "face",
      ]), token: person.accessToken,
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [])
  }

  private func isRefused(_ answer: Answer) -> Bool { answer.isError(403, "fresh_proof_required") }

  @Test func aPasskeyNeedsAProofOfTenMinutes() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .milliseconds(599_999))
      #expect(site.passkeyOptions(of: ann).status == 200)
      site.advance(by: .milliseconds(1))
      #expect(isRefused(site.passkeyOptions(of: ann)))
      let again = try site.signIn()
      #expect(site.passkeyOptions(of: again).status == 200)
    }
  }

  /// A refreshed session is as old as its sign-in.
  @Test func aRefreshProvesNothing() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(600))
      let token = try #require(site.refresh(ann.refreshToken).accessToken)
      #expect(isRefused(site.send("POST", AccountPath.passkeyOptions, token: token)))
    }
  }

  /// The clock was ahead at the sign-in. The clocks of hosts may differ by a minute.
  @Test(arguments: [(60, 200), (61, 403), (3600, 403)])
  func aProofOfTheFutureIsNone(seconds: Int, status: Int) throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(-seconds))
      let token = try #require(site.refresh(ann.refreshToken).accessToken)
      let options = site.send("POST", AccountPath.passkeyOptions, token: token)
      #expect(options.status == status, "\(options.text)")
      let again = try site.signIn()
      #expect(site.passkeyOptions(of: again).status == 200)
    }
  }

  @Test func aSignUpCountsForTheFirstAuthenticator() throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      #expect(site.passkeyOptions(of: ann).status == 200)
      let first = setUp(.one, of: ann, site)
      #expect(first.status == 200)
      #expect(isRefused(site.passkeyOptions(of: ann)))
      #expect(isRefused(setUp(.two, of: ann, site)))
      let repeated = setUp(.one, of: ann, site)
      #expect(repeated.status == 200 && repeated.text == first.text, "its answer was lost")
      #expect(site.count("biometric_keys WHERE trusted_at = enrolled_at") == 1)
    }
  }

  @Test func theDeviceCredentialIsAProof() throws {
    try withApplication { site in
      let registration = site.send(
        "POST", AccountPath.registerDevice,
        jsonText(["deviceId": "device-1", "deviceName": "Phone", "platform": "ios"]))
      let credential = try #require(registration.string("deviceCredential"))
      let ann = try site.signUp(credential: credential)
      _ = try site.setUp(of: ann)
      site.advance(by: .seconds(600))
      #expect(isRefused(setUp(.two, of: ann, site)))
      #expect(setUp(.two, of: ann, site, credential: credential).status == 200)
      #expect(setUp(.two, of: ann, site, credential: "cdev_wrong").status == 401)
      let options = site.send(
        "POST", AccountPath.passkeyOptions, token: ann.accessToken,
        fields: [(name: "X-Device-Credential", value: credential)])
      #expect(options.status == 200)
    }
  }

  @Test func aSignatureByTheOldKeyIsAProof() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.setUp(of: ann)
      site.advance(by: .seconds(600))
      let token = try #require(try site.signIn(with: .one).accessToken)
      #expect(site.send("POST", AccountPath.passkeyOptions, token: token).status == 200)
    }
  }

  /// A thief with a bearer token may set up the first key of a device. The key can pay only a day
  /// later, and until then its signature is no proof.
  @Test func aKeyOfABearerAloneWaitsADay() throws {
    try withApplication { site in
      let checkout = try Checkout(at: site)
      site.sql("DELETE FROM biometric_keys")
      site.advance(by: .seconds(600))
      let ann = checkout.ann
      #expect(setUp(.one, of: ann, site).status == 200)
      let thief = try #require(try site.signIn(with: .one).accessToken)
      #expect(isRefused(site.send("POST", AccountPath.passkeyOptions, token: thief)))
      func pay() throws -> Answer {
        let payer = SignedIn(
          email: ann.email, deviceID: ann.deviceID, accountID: ann.accountID,
          accessToken: try #require(try site.signIn(with: .one).accessToken), refreshToken: "")
        let begun = site.initiate(checkout.order, key: checkout.key, token: payer.accessToken)
        let payment = BegunPayment(
          id: try #require(begun.string("paymentId")),
          challenge: try #require(begun.string("challenge")))
        return checkout.confirm(payment, by: payer)
      }
      let start = try site.instant("SELECT enrolled_at FROM biometric_keys")
      site.advance(to: start + .milliseconds(86_399_900))  // a payment has several requests
      #expect(try pay().isError(403, "key_too_new", Messages.english.keyTooNew))
      #expect(site.count("rate_limits WHERE name = 'biometric-failed' AND hits > 0") == 0)
      site.advance(to: start + .seconds(86_400))
      #expect(try pay().status == 200)
    }
  }

  /// The key belongs to whoever pays with it right after a mailed code on that device.
  @Test func aFreshProofOnTheDeviceMakesItsKeyPay() throws {
    try withApplication { site in
      let checkout = try Checkout(at: site)
      site.sql("DELETE FROM biometric_keys")
      site.advance(by: .seconds(600))
      #expect(setUp(.one, of: checkout.ann, site).status == 200)
      let payment = try checkout.begin()
      #expect(checkout.confirm(payment).isError(403, "key_too_new"))
      let proven = try site.signIn(device: checkout.ann.deviceID)
      #expect(checkout.confirm(payment, by: proven).status == 200)
      // From then on it pays without a proof.
      site.advance(by: .seconds(3600))
      let later = try site.signIn(device: checkout.ann.deviceID)
      site.sql("UPDATE sessions SET began_by = 'sign_up', proved_at = NULL")
      let begun = site.initiate(checkout.order, key: checkout.key, token: later.accessToken)
      let second = BegunPayment(
        id: try #require(begun.string("paymentId")),
        challenge: try #require(begun.string("challenge")))
      #expect(checkout.confirm(second, by: later).status == 200)
    }
  }

  // Logout -------------------------------------------------------------------------------------------

  @Test(arguments: [
    ("revokeAll=true&authenticators=true", ""), ("", #"{"revokeAll":true,"authenticators":true}"#),
    ("revokeAll=true", #"{"authenticators":true}"#),
  ])
  func aLogoutCanRemoveAuthenticators(query: String, body: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      try site.addPasskey(Authenticator(), of: ann)
      _ = try site.setUp(of: ann)
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      try site.addPasskey(Authenticator(), of: bob)
      let answer = site.send(
        "POST", AccountPath.logout, body, token: ann.accessToken, query: query)
      #expect(answer.status == 200)
      #expect(site.count("passkeys") == 1)
      #expect(site.count("biometric_keys") == 0)
      #expect(site.count("devices WHERE credential_hash IS NOT NULL") == 0)
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'logout'")
          == "all devices and authenticators")
    }
  }

  @Test(arguments: [
    ("revokeAll=", ""), ("revokeAll", ""), ("revokeAll=1", ""), ("revokeAll=TRUE", ""),
    ("authenticators=true", ""), ("", #"{"revokeAll":"true"}"#), ("", #"{"revokeAll":1}"#),
    ("", "revokeAll=true"), ("revokeAll=yes&authenticators=true", ""),
  ])
  func aFlagThatCannotBeReadIsNotFalse(query: String, body: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.send(
        "POST", AccountPath.logout, body, token: ann.accessToken, query: query)
      #expect(answer.status == 400)
      #expect(site.summary(ann.accessToken).status == 200)
    }
  }
}

import Base
import Cryptography
import Support
import Testing

@testable import API

/// Credentials whose answer was lost, that are renewed at once, or that belong to somebody else on the phone.
@Suite struct CredentialRenewalTests {
  private func register(
    _ site: TestApplication, token: String? = nil, credential: String? = nil,
    pushToken: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    site.send(
      "POST", AccountPath.registerDevice,
      jsonText([
        "deviceId": "device-1", "deviceName": "Phone", "platform": "ios", "pushToken": pushToken,
      ]), token: token,
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [],
      address: address)
  }

  private func renewed(
    _ site: TestApplication, token: String? = nil, credential: String? = nil,
    address: String = "192.0.2.1"
  ) throws -> String {
    let answer = register(site, token: token, credential: credential, address: address)
    return try #require(answer.string("deviceCredential"), "\(answer.text)")
  }

  /// A site where Ann has signed up with a trusted credential.
  private func withCredential(
    _ body: (_ site: TestApplication, _ ann: SignedIn, _ credential: String) throws -> Void
  ) throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      let ann = try site.signUp(credential: credential)
      site.advance(by: .seconds(700))  // the sign-up is no proof any more
      try body(site, ann, credential)
    }
  }

  private func isProof(_ credential: String, _ site: TestApplication, _ ann: SignedIn) -> Bool {
    site.send(
      "POST", AccountPath.passkeyOptions, token: ann.accessToken,
      fields: [("X-Device-Credential", credential)]
    ).status == 200
  }

  private func alarms(_ site: TestApplication) -> Int {
    site.count("outbox WHERE kind = 'device_renewed'")
  }

  @Test func theOldCredentialWorksEverywhereUntilTheNewOneIsUsed() throws {
    try withCredential { site, ann, old throws in
      let new = try renewed(site, token: ann.accessToken, credential: old)
      #expect(new != old)
      #expect(site.summary(ann.accessToken, credential: old).status == 200)
      #expect(isProof(old, site, ann))
      #expect(site.requestCode(credential: old).status == 200)
      let refreshed = site.send(
        "POST", AccountPath.refresh, jsonText(["refreshToken": ann.refreshToken]),
        fields: [("X-Device-Credential", old)])
      #expect(refreshed.status == 200, "\(refreshed.text)")
      let signedIn = site.verify(code: try site.mailedCode(), credential: old)
      let token = try #require(signedIn.accessToken, "\(signedIn.text)")
      #expect(site.summary(token, credential: old).status == 200)
      #expect(site.summary(token, credential: new).status == 200)
      let refused = site.summary(token, credential: old)
      #expect(refused.isError(401, "unauthorized", wrongCredential), "\(refused.text)")
      #expect(site.summary(token, credential: new).status == 200)
    }
  }

  @Test(arguments: ["summary", "refresh", "sign-in"])
  func everyUseConfirmsTheNewCredential(use: String) throws {
    try withCredential { site, ann, old throws in
      let new = try renewed(site, token: ann.accessToken, credential: old)
      switch use {
      case "summary": #expect(site.summary(ann.accessToken, credential: new).status == 200)
      case "refresh":
        let answer = site.send(
          "POST", AccountPath.refresh, jsonText(["refreshToken": ann.refreshToken]),
          fields: [("X-Device-Credential", new)])
        #expect(answer.status == 200)
      default:
        #expect(site.requestCode(credential: new).status == 200)
        #expect(site.verify(code: try site.mailedCode(), credential: new).status == 200)
      }
      #expect(site.sql("SELECT old_credential_hash FROM devices") == "NULL")
    }
  }

  @Test(arguments: [true, false])
  func aLostAnswerIsGivenAgain(showsToken: Bool) throws {
    try withCredential { site, ann, old throws in
      let token = showsToken ? ann.accessToken : nil
      let lost = register(site, token: token, credential: old)
      site.advance(by: .seconds(9))
      #expect(register(site, token: token, credential: old).text == lost.text)
      site.advance(by: .seconds(11))
      let other = try renewed(site, token: token, credential: old)
      #expect(other != lost.string("deviceCredential"))
      #expect(isProof(other, site, ann))
      #expect(alarms(site) == 0)
    }
  }

  /// Two holders of one credential do not get one successor.
  @Test func anotherNetworkGetsAnotherCredential() throws {
    try withCredential { site, ann, old throws in
      let stolen = try renewed(site, credential: old, address: "203.0.113.9")
      let own = try renewed(site, credential: old)
      #expect(own != stolen)
      #expect(site.summary(ann.accessToken, credential: stolen).status == 401)
      #expect(isProof(own, site, ann))
    }
  }

  @Test func parallelRenewalsGetOneTrustedCredentialAndNoAlarm() throws {
    try withCredential { site, ann, old throws in
      let answers = inParallel(8) { _ in
        register(site, token: ann.accessToken, credential: old)
      }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.text)))")
      let credentials = Set(answers.map { $0.string("deviceCredential") })
      #expect(credentials.count == 1)
      #expect(alarms(site) == 0)
      #expect(isProof(try #require(credentials.first ?? nil), site, ann))
    }
  }

  /// The credential is checked in the transaction that replaces it.
  @Test func aCredentialThatIsReplacedMeanwhileReplacesNothing() throws {
    try withCredential { site, ann, old throws in
      let new = try renewed(site, token: ann.accessToken, credential: old)
      #expect(site.summary(ann.accessToken, credential: new).status == 200)
      let before = site.rows("devices", "device_registrations")
      for token in [ann.accessToken, nil] {
        let answer = register(site, token: token, credential: old)
        #expect(answer.isError(401, "unauthorized", wrongCredential), "\(answer.text)")
      }
      #expect(site.rows("devices", "device_registrations") == before)
    }
  }

  /// A thief with a stolen bearer gets no credential that proves anything, also within ten seconds.
  @Test func aBearerAloneDoesNotShareATrustedSuccessor() throws {
    try withCredential { site, ann, old throws in
      let own = try renewed(site, token: ann.accessToken, credential: old)
      let stolen = try renewed(site, token: ann.accessToken)
      #expect(stolen != own)
      #expect(isProof(old, site, ann))
      #expect(!isProof(stolen, site, ann))
      #expect(alarms(site) == 1)
    }
  }

  @Test func theCredentialOfARegistrationDowngradesNothing() throws {
    try withCredential { site, ann, trusted throws in
      let pending = try site.registerDevice()
      #expect(
        site.send(
          "GET", "/api/mobile/profile", token: ann.accessToken,
          fields: [("X-Device-Credential", pending)]
        ).status == 200)
      #expect(!isProof(pending, site, ann))
      let answer = register(site, token: ann.accessToken, credential: pending)
      #expect(answer.string("deviceCredential") == pending, "\(answer.text)")
      #expect(isProof(trusted, site, ann))
      #expect(alarms(site) == 0)
    }
  }

  @Test func aDeviceWithoutACredentialAdoptsThatOfARegistration() throws {
    try withApplication { site in
      let pending = try site.registerDevice(address: "198.51.100.7")
      let ann = try site.signUp()
      site.advance(by: .seconds(700))
      let answer = register(
        site, token: ann.accessToken, credential: pending, pushToken: pushTokenText("b"))
      #expect(answer.string("deviceCredential") == pending, "\(answer.text)")
      #expect(
        site.sql("SELECT LOWER(HEX(credential_hash)), credential_trusted_at FROM devices")
          == hexEncoded(sha256(pending)) + "\tNULL")
      #expect(site.sql("SELECT token FROM push_tokens") == pushTokenText("b"))
      #expect(site.count("device_registrations") == 0)
      #expect(alarms(site) == 1)
    }
  }

  /// An app without a session registers at each start.
  @Test func aRegistrationThatShowsItsCredentialKeepsIt() throws {
    try withApplication { site in
      let pending = try site.registerDevice()
      site.advance(by: .seconds(86_400))
      for address in ["192.0.2.1", "198.51.100.7"] {
        let answer = register(site, credential: pending, address: address)
        #expect(answer.string("deviceCredential") == pending)
        #expect(answer.string("expiresAt") == (site.now + .seconds(90 * 86_400)).rfc3339)
      }
      #expect(site.count("device_registrations") == 1)
      let ann = try site.signUp(credential: pending)
      #expect(site.summary(ann.accessToken, credential: pending).status == 200)
    }
  }

  @Test func aSecondAccountOnThePhoneMayShowTheFirstOnesCredential() throws {
    try withCredential { site, ann, own throws in
      _ = try site.signUp(email: "bob@example.org", device: "device-2")
      #expect(site.requestCode("bob@example.org", credential: own).status == 200)
      let answer = site.verify("bob@example.org", code: try site.mailedCode(), credential: own)
      let token = try #require(answer.accessToken, "\(answer.text)")
      let refresh = try #require(answer.refreshToken)
      site.advance(by: .seconds(700))
      #expect(site.isNoProof(own, of: token))
      let refreshed = site.send(
        "POST", AccountPath.refresh, jsonText(["refreshToken": refresh]),
        fields: [("X-Device-Credential", own)])
      #expect(refreshed.status == 200, "\(refreshed.text)")
      // It renews Bob's device, as with the bearer alone, and not Ann's.
      func hash() -> String {
        site.sql("SELECT credential_hash FROM devices WHERE account_id = '\(ann.accountID)'")
      }
      let before = hash()
      #expect(register(site, token: token, credential: own).status == 200)
      #expect(hash() == before)
      #expect(site.count("devices WHERE credential_hash IS NOT NULL") == 2)
    }
  }

  @Test func anOtherPhonesCredentialIsStillRefused() throws {
    try withCredential { site, ann, _ throws in
      let foreign = try site.registerDevice("device-9")
      let answer = site.summary(ann.accessToken, credential: foreign)
      #expect(answer.isError(401, "unauthorized", wrongCredential), "\(answer.text)")
    }
  }

  /// Signing out everywhere with a proof removes the credential of a bearer alone, not the trusted one
  /// that it was to replace.
  @Test func signingOutEverywhereRestoresTheTrustedCredential() throws {
    try withCredential { site, ann, trusted throws in
      _ = try renewed(site, token: ann.accessToken)
      let answer = site.send(
        "POST", AccountPath.logout, token: ann.accessToken, query: "revokeAll=true",
        fields: [("X-Device-Credential", trusted)])
      #expect(answer.status == 200, "\(answer.text)")
      #expect(
        site.sql("SELECT LOWER(HEX(credential_hash)), old_credential_hash FROM devices")
          == hexEncoded(sha256(trusted)) + "\tNULL")
    }
  }
}

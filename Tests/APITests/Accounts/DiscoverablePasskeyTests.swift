import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// Sign-ins with a passkey and without an e-mail address.
@Suite struct DiscoverablePasskeyTests {
  private func start(
    _ site: TestApplication, device: String = "device-1", members: [String: String] = [:],
    credential: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    let body = ["deviceId": device, "method": "passkey"].merging(members) { $1 }
    return site.send(
      "POST", AccountPath.login, jsonText(body),
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [], address: address)
  }

  private func challenge(_ site: TestApplication, device: String = "device-1") throws -> String {
    try #require(start(site, device: device).string("challenge"))
  }

  private func handle(_ person: SignedIn) -> [UInt8] { userHandle(ofAccount: person.accountID) }

  @Test func anyPasskeyOfTheSiteMayAnswer() throws {
    try withPasskey { site, ann, anns throws in
      let bob = try site.signUp(email: "bob@example.org", device: "device-9")
      let bobs = Authenticator()
      try site.addPasskey(bobs, of: bob)
      for (key, person, given) in [
        (anns, ann, handle(ann)), (bobs, bob, handle(bob)), (anns, ann, nil),
      ]
        as [(Authenticator, SignedIn, [UInt8]?)]
      {
        let started = start(
          site, device: "device-3", members: ["deviceName": "New", "platform": "android"])
        let challenge = try #require(started.string("challenge"))
        #expect(
          started.text
            == #"{"challenge":"\#(challenge)","method":"passkey","message":"\#(usePasskey)","#
            + #""emailFallback":true,"passkeyOptions":{"challenge":"\#(challenge)","timeout":300000,"#
            + #""rpId":"api.example.org","allowCredentials":[],"userVerification":"required"}}"#)
        let answer = site.verify(
          key.asserted(answering: challenge, userHandle: given), device: "device-3")
        #expect(answer.string("user", "id") == person.accountID, "\(answer.text)")
      }
      #expect(
        site.sql("SELECT DISTINCT name, platform FROM devices WHERE client_device_id = 'device-3'")
          == "New\tandroid")
    }
  }

  @Test func whatIsWrongIsRefused() throws {
    try withPasskey { site, ann, key throws in
      let bob = try site.signUp(email: "bob@example.org", device: "device-9")
      let other = try challenge(site)
      var answer = site.verify(key.asserted(answering: other, userHandle: handle(bob)))
      #expect(answer.isRefusedPasskey, "\(answer.text)")
      // The refused answer has used the challenge.
      answer = site.verify(key.asserted(answering: other, userHandle: handle(ann)))
      #expect(answer.isRefusedPasskey)
      answer = site.verify(
        key.asserted(answering: try challenge(site)), ["email": "bob@example.org"])
      #expect(answer.isRefusedPasskey)
      #expect(
        site.verify(key.asserted(answering: try challenge(site, device: "device-9")))
          .isRefusedPasskey)
      let late = try challenge(site)
      site.advance(by: .seconds(300))
      #expect(site.verify(key.asserted(answering: late)).isRefusedPasskey)
      #expect(site.verify(key.asserted(answering: try challenge(site))).status == 200)
    }
  }

  /// Passkeys of an unproven account may belong to a stranger.
  @Test func anAccountWhoseAddressNobodyHasProvenIsNotSignedInTo() throws {
    try withPasskey { site, ann, key throws in
      site.sql("UPDATE accounts SET email_verified_at = NULL")
      let answer = site.verify(
        key.asserted(answering: try challenge(site), userHandle: handle(ann)))
      #expect(answer.isRefusedPasskey)
      #expect(!answer.text.contains("signal"))
    }
  }

  @Test func aBiometricKeyDoesNotAnswerIt() throws {
    try withPasskey { site, ann, _ throws in
      _ = try site.setUp(of: ann)
      let text = try challenge(site)
      let bytes = base64Encoded(try #require(base64URLDecoded(text)))
      #expect(site.verify(bytes, signature: PhoneKey.one.sign(bytes)).isWrongSignature)
    }
  }

  /// The challenge of a biometric key is a text. Its UTF-8 form is the challenge that the passkey signs.
  @Test func aPasskeyDoesNotAnswerTheChallengeOfABiometricKey() throws {
    try withPasskey { site, ann, key throws in
      _ = try site.setUp(of: ann)
      let text = try site.challenge()
      let credential = key.asserted(
        answering: base64URLEncoded(Array(text.utf8)), userHandle: handle(ann))
      #expect(site.verify(credential).isRefusedPasskey)
      #expect(site.verify(text, signature: PhoneKey.one.sign(text)).status == 200)
    }
  }

  @Test func theDeviceMustBeKnownAndTheMethodNamed() throws {
    try withApplication { site in
      #expect(start(site).isError(400, "bad_request"))
      try site.registerDevice()
      #expect(start(site).status == 200)
      let unnamed = site.send("POST", AccountPath.login, jsonText(["deviceId": "device-1"]))
      #expect(unnamed.complaint == "email: missing")
      #expect(start(site, credential: "garbage").isError(401, "unauthorized"))
    }
  }

  @Test func startsAreLimited() throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      _ = try site.signUp(credential: credential)
      let statuses = (1...21).map { _ in start(site).status }
      #expect(statuses == Array(repeating: 200, count: 20) + [429])
      #expect(site.count("phone_challenges") == 10)
      #expect(start(site, credential: credential).status == 200)
    }
  }

  // MARK: - Signals to the browser's authenticators

  @Test func aPasskeyThatNoAccountHasIsSignaled() throws {
    try withPasskey { site, _, key throws in
      let forgotten = Authenticator()
      let id = base64URLEncoded(forgotten.credentialID)
      for challenge in [try challenge(site), try site.signInChallenge()] {
        let answer = site.verify(forgotten.asserted(answering: challenge))
        #expect(answer.status == 401)
        #expect(
          answer.text
            == #"{"error":"unauthorized","message":"\#(refusedPasskey)","#
            + #""signalUnknownCredential":{"rpId":"api.example.org","credentialId":"\#(id)"}}"#)
      }
      // Without a live challenge the answer does not reveal which passkeys exist.
      let dead = site.verify(forgotten.asserted(answering: base64URLEncoded(randomBytes(32))))
      #expect(!dead.text.contains("signal"))
      // A passkey of another account still exists, so there is no signal.
      let bob = try site.signUp(email: "bob@example.org", device: "device-9")
      let bobs = Authenticator()
      try site.addPasskey(bobs, of: bob)
      let foreign = site.verify(bobs.asserted(answering: try site.signInChallenge()))
      #expect(foreign.isRefusedPasskey && !foreign.text.contains("signal"))
    }
  }

  @Test func aRemovalNamesThePasskeysThatStay() throws {
    try withPasskey { site, ann, key throws in
      let second = try site.addPasskey(Authenticator(), of: ann)
      let answer = site.send(
        "DELETE", "\(AccountPath.passkeys)/\(second)", token: ann.accessToken)
      #expect(
        answer.text
          == #"{"success":true,"signalAllAcceptedCredentials":{"rpId":"api.example.org","#
          + #""userId":"\#(base64URLEncoded(handle(ann)))","#
          + #""allAcceptedCredentialIds":["\#(base64URLEncoded(key.credentialID))"]}}"#)
    }
  }
}

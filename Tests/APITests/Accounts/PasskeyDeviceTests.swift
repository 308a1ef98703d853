import Cryptography
import Foundation
import Store
import Support
import Synchronization
import Testing

@testable import API

/// Passkeys together with mailed codes and devices.
@Suite struct PasskeyDeviceTests {
  @Test func aCodeIsMailedOnRequest() throws {
    try withPasskey { site, _, _ throws in
      let answer = site.startSignIn(method: "email")
      let challenge = try #require(answer.string("challenge"))
      #expect(
        answer.text
          == #"{"challenge":"\#(challenge)","method":"email","message":"\#(codeSent)"}"#
      )
      #expect(site.verify(code: try site.mailedCode()).status == 200)
      #expect(site.count("passkey_challenges WHERE purpose = 'authentication'") == 0)
    }
  }

  @Test(arguments: [nil, "passkey", "email"])
  func accountsWhosePasskeysWereRemovedGetMailedCodes(method: String?) throws {
    try withPasskey { site, ann, authenticator throws in
      let challenge = try site.signInChallenge()
      let id = site.sql("SELECT id FROM passkeys")
      let removed = site.send("DELETE", "\(AccountPath.passkeys)/\(id)", token: ann.accessToken)
      #expect(removed.status == 200)
      #expect(site.verify(authenticator.asserted(answering: challenge)).isRefusedPasskey)
      #expect(site.startSignIn(method: method).string("method") == "email")
      #expect(site.verify(code: try site.mailedCode()).status == 200)
    }
  }

  @Test func unknownDevicesMustBeDescribed() throws {
    try withPasskey { site, _, authenticator throws in
      func start() -> Answer {
        site.send(
          "POST", AccountPath.login,
          jsonText(["email": "ann@example.org", "deviceId": "device-2"]))
      }
      #expect(start().isError(400, "bad_request"))
      let credential = try site.registerDevice("device-2", pushToken: pushTokenText())
      let challenge = try #require(start().string("passkeyOptions", "challenge"))
      let answer = site.verify(
        authenticator.asserted(answering: challenge), device: "device-2",
        fields: [("X-Device-Credential", credential)])
      #expect(site.summary(try #require(answer.accessToken), credential: credential).status == 200)
      #expect(site.sql("SELECT token FROM push_tokens") == pushTokenText())
    }
  }

  /// The refusal rolls back the use of the passkey, so the same sign count works again.
  @Test func wrongDeviceCredentialsAreRefused() throws {
    try withPasskey { site, ann, authenticator throws in
      var key = authenticator
      key.signCount = 3
      let answer = site.verify(
        key.asserted(answering: try site.signInChallenge()),
        fields: [("X-Device-Credential", "another's")])
      #expect(answer.isError(401, "unauthorized", wrongCredential))
      #expect(site.count("audit_log WHERE event = 'credential_refused'") == 1)
      #expect(site.sql("SELECT sign_count, uses FROM passkeys") == "0\t0")
      #expect(try site.signIn(with: key).string("user", "id") == ann.accountID)
    }
  }

  @Test func passkeysSurviveRevokedDevicesAndLogoutsEverywhere() throws {
    try withPasskey { site, ann, authenticator throws in
      let path = AccountPath.devices + "/device-1"
      #expect(site.send("DELETE", path, token: ann.accessToken).status == 200)
      let again = try #require(try site.signIn(with: authenticator).accessToken)
      let everywhere = site.send(
        "POST", AccountPath.logout, token: again, query: "revokeAll=true")
      #expect(everywhere.status == 200)
      #expect(try site.signIn(with: authenticator).status == 200)
    }
  }

  @Test func thePasskeysOwnerSignsInOnASharedPhone() throws {
    try withPasskey { site, ann, anns throws in
      let bob = try site.signUp(email: "bob@example.org")
      let bobs = Authenticator()
      try site.addPasskey(bobs, of: bob)
      for (key, person) in [(anns, ann), (bobs, bob)] {
        let answer = try site.signIn(with: key, email: person.email)
        #expect(answer.string("user", "id") == person.accountID)
      }
    }
  }

  @Test func noSecretIsInTheDatabase() throws {
    try withPasskey { site, ann, authenticator throws in
      let live = try site.signInChallenge()
      let spent = try site.signInChallenge()
      let credential = authenticator.asserted(answering: spent)
      let registration = try #require(site.passkeyOptions(of: ann).string("challenge"))
      #expect(site.verify(credential).status == 200)
      let dump = site.rows("passkey_challenges", "passkeys", "rate_limits", "audit_log")
      let response = credential["response"] as? [String: any Sendable]
      for secret in [live, spent, registration, response?["signature"] as? String ?? ""] {
        #expect(!secret.isEmpty && !dump.contains(secret))
        let bytes = try #require(base64URLDecoded(secret))
        let hex = hexEncoded(bytes).uppercased()
        #expect(
          site.count("passkey_challenges WHERE LOCATE('\(hex)', HEX(challenge_hash)) > 0") == 0)
      }
    }
  }
}

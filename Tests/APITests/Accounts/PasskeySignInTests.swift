import Base
import Cryptography
import Foundation
import Store
import Support
import Synchronization
import Testing

@testable import API

/// `POST /api/mobile/auth/login` and `…/verify` for accounts with passkeys
@Suite struct PasskeySignInTests {
  @Test func passkeysAreOfferedAndNoMailIsSent() throws {
    try withPasskey { site, ann, authenticator throws in
      site.forgetPasskeyStarts()
      let answer = site.startSignIn(" ANN@example.org", device: "device-2")
      let challenge = try #require(answer.string("challenge"))
      let id = base64URLEncoded(authenticator.credentialID)
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"challenge":"\#(challenge)","method":"passkey","message":"\#(usePasskey)","#
          + #""emailFallback":true,"passkeyOptions":{"challenge":"\#(challenge)","timeout":300000,"#
          + #""rpId":"api.example.org","allowCredentials":[{"type":"public-key","id":"\#(id)"}],"#
          + #""userVerification":"required"}}"#)
      #expect(answer.field("Cache-Control") == "no-store")
      let hash = sha256(try #require(base64URLDecoded(challenge)))
      #expect(
        site.sql(
          """
          SELECT HEX(challenge_hash), account_id, client_device_id, device_name, platform
          FROM passkey_challenges WHERE purpose = 'authentication'
          """) == "\(hexEncoded(hash).uppercased())\t\(ann.accountID)\tdevice-2\tPhone\tios")
      #expect(
        ["login_codes", "outbox WHERE kind = 'login_code'"].map { site.count($0) } == [0, 0])
      #expect(
        site.sql("SELECT name, hits FROM rate_limits WHERE name REGEXP 'code|passkey'")
          == "passkey-start\t1")
    }
  }

  @Test func passkeysSignInOnAnyDevice() throws {
    try withPasskey { site, ann, authenticator throws in
      let challenge = try site.signInChallenge(device: "device-2")
      site.advance(by: .milliseconds(299_999))
      let answer = site.verify(authenticator.asserted(answering: challenge), device: "device-2")
      let walletID = site.sql("SELECT wallet_id FROM accounts")
      let (access, refresh) = (
        try #require(answer.accessToken), try #require(answer.refreshToken)
      )
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"user":{"id":"\#(ann.accountID)","email":"ann@example.org","name":"Ann","#
          + #""walletId":"\#(walletID)"},"tokens":{"accessToken":"\#(access)","#
          + #""refreshToken":"\#(refresh)","expiresIn":3600}}"#)
      #expect(answer.field("Cache-Control") == "no-store")
      #expect(site.summary(access).status == 200)
      #expect(tokenClaims(access)["deviceId"] as? String == "device-2")
      let device = site.sql(
        "SELECT id, name, platform FROM devices WHERE client_device_id = 'device-2'"
      ).split(separator: "\t").map(String.init)
      #expect(Array(device.dropFirst()) == ["Phone", "ios"])
      #expect(
        site.sql(
          "SELECT account_id, device_id, detail FROM audit_log WHERE event = 'sign_in' ORDER BY id DESC LIMIT 1"
        ) == "\(ann.accountID)\t\(device[0])\tpasskey")
      let list = site.send("GET", AccountPath.passkeys, token: access)
      #expect(list["passkeys", 0, "lastUsedAt"] as? String == iso8601(site.now))
      #expect(site.sql("SELECT sign_count, uses FROM passkeys") == "0\t1")
    }
  }

  @Test(arguments: Authenticator.Algorithm.allCases)
  func everyOfferedAlgorithmIsAccepted(algorithm: Authenticator.Algorithm) throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let authenticator = Authenticator(algorithm: algorithm)
      try site.addPasskey(authenticator, of: ann)
      #expect(try site.signIn(with: authenticator).status == 200)
    }
  }

  /// Apps may repeat values that the challenge already contains.
  @Test(arguments: ["", "email", "challenge", "userHandle", "emptyHandle", "all", "null"])
  func optionalMembersAreAcceptedIfTheyMatch(members: String) throws {
    try withPasskey { site, ann, authenticator throws in
      let challenge = try site.signInChallenge()
      let handle = hexDecoded(ann.accountID.replacing("-", with: ""))
      var body: [String: any Sendable] = ["deviceName": "Mac", "platform": "macos"]
      if ["email", "all"].contains(members) { body["email"] = " Ann@Example.org" }
      if ["challenge", "all"].contains(members) { body["challenge"] = challenge }
      if members == "null" {
        body.merge(["email": NSNull(), "challenge": NSNull(), "code": NSNull()]) { $1 }
      }
      let credential = authenticator.asserted(
        answering: challenge,
        userHandle: ["userHandle", "all"].contains(members)
          ? handle : members == "emptyHandle" ? [] : nil)
      #expect(site.verify(credential, body).status == 200)
      #expect(site.sql("SELECT name, platform FROM devices") == "Mac\tmacos")
    }
  }

  @Test func appsOfConfiguredOriginsMaySignIn() throws {
    try withPasskey { site, _, authenticator throws in
      var app = authenticator
      app.origin = "android:apk-key-hash:\(base64URLEncoded(sha256("certificate")))"
      #expect(try site.signIn(with: app).isRefusedPasskey)
      let challenge = try site.signInChallenge()
      let body = jsonText([
        "deviceId": "device-1", "credential": app.asserted(answering: challenge),
      ])
      let other = site.sibling(
        settings: .ofTests(passkeyOrigins: ["https://app.example.org", app.origin]))
      #expect(other.send("POST", AccountPath.verify, body).status == 200)
    }
  }

  @Test func signCountsThatDoNotRiseAreRefusedAsCopies() throws {
    try withPasskey { site, _, authenticator throws in
      var (original, copy) = (authenticator, authenticator)
      original.signCount = 5
      #expect(try site.signIn(with: original).status == 200)
      copy.signCount = 5
      #expect(try site.signIn(with: copy).isRefusedPasskey)
      copy.signCount = 0
      #expect(try site.signIn(with: copy).isRefusedPasskey)
      original.signCount = .max
      #expect(try site.signIn(with: original).status == 200)
      #expect(site.sql("SELECT sign_count, uses FROM passkeys") == "4294967295\t2")
      #expect(
        site.passkeyEvents.dropFirst()
          == ["passkey_cloned sign-in: signCount", "passkey_cloned sign-in: signCount"])
    }
  }

  @Test func authenticatorsThatDoNotCountSignInRepeatedly() throws {
    try withPasskey { site, _, authenticator throws in
      for _ in 1...3 { #expect(try site.signIn(with: authenticator).status == 200) }
      var single = authenticator
      single.flags &= ~Authenticator.Flag.backedUp
      #expect(try site.signIn(with: single).status == 200)
      #expect(site.sql("SELECT sign_count, is_backed_up, uses FROM passkeys") == "0\t0\t4")
    }
  }

  @Test func oneOf64SimultaneousSignInsWins() throws {
    try withPasskey { site, _, authenticator throws in
      for round in 1...rounds(default: 3) {
        let credential = authenticator.asserted(answering: try site.signInChallenge())
        let answers = inParallel(64) { _ in site.verify(credential) }
        #expect(answers.filter { $0.status == 200 }.count == 1)
        #expect(answers.filter(\.isRefusedPasskey).count == 63, "\(Set(answers.map(\.text)))")
        #expect(site.count("audit_log WHERE event = 'sign_in' AND detail = 'passkey'") == round)
      }
    }
  }

  /// Each sign-in answers its own challenge, so only the sign count decides.
  @Test func oneOf32SimultaneousSignInsWithTheSameCountWins() throws {
    try withPasskey { site, _, authenticator throws in
      var counting = authenticator
      counting.signCount = 9
      let key = counting
      let credentials = try (1...32).map { _ in
        key.asserted(answering: try site.signInChallenge())
      }
      let answers = inParallel(32) { site.verify(credentials[$0]) }
      #expect(answers.filter { $0.status == 200 }.count == 1)
      #expect(answers.filter(\.isRefusedPasskey).count == 31, "\(Set(answers.map(\.text)))")
      #expect(site.sql("SELECT sign_count, uses FROM passkeys") == "9\t1")
      #expect(site.count("audit_log WHERE event = 'passkey_cloned'") == 31)
    }
  }
}

import Base
import Cryptography
import Foundation
import Store
import Testing

@testable import API

/// `POST /api/mobile/auth/biometric/setup`, `…/challenge`, `…/verify`
@Suite struct BiometricTests {
  /// A site where Ann has set up the first key on `device-1`.
  private func withKey(_ body: (TestApplication, SignedIn) throws -> Void) throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.setUp(of: ann)
      try body(site, ann)
    }
  }

  @Test(arguments: ["face", "fingerprint"])
  func keysAreSetUp(type: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.send(
        "POST", AccountPath.setup,
        jsonText([
          "deviceId": "device-1", "publicKey": PhoneKey.one.publicKey, "biometricType": type,
        ]), token: ann.accessToken)
      #expect(answer.status == 200)
      let id = site.sql("SELECT id FROM biometric_keys")
      #expect(answer.text == #"{"biometricId":"\#(id)","status":"enabled"}"#)
      #expect(
        site.sql("SELECT type, public_key FROM biometric_keys")
          == "\(type)\t\(PhoneKey.one.publicKey)")
    }
  }

  @Test func summaryAndDevicesShowWhichDeviceHasAKey() throws {
    try withKey { site, ann in
      let other = try site.signIn(device: "device-2")
      _ = try site.signUp(email: "bob@example.org")
      #expect(site.summary(ann.accessToken)["biometricEnabled"] as? Bool == true)
      #expect(site.summary(other.accessToken)["biometricEnabled"] as? Bool == false)
      let devices = site.send("GET", AccountPath.devices, token: ann.accessToken)["devices"]
      let enabled = (devices as? [[String: Any]] ?? []).filter {
        $0["biometricEnabled"] as? Bool == true
      }
      #expect(enabled.map { $0["deviceId"] as? String } == ["device-1"])
    }
  }

  /// Each key is mailed to the owner: a stolen bearer must not fill the mailbox.
  @Test func tenKeysAnHourAreSetUpOnADevice() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      for _ in 1...10 {
        _ = try site.setUp(of: ann)
        #expect(
          site.send("DELETE", "/api/mobile/auth/biometric", token: ann.accessToken).status == 200)
      }
      let body = jsonText([
        "deviceId": "device-1", "publicKey": PhoneKey.one.publicKey, "biometricType": "face",
      ])
      let refused = site.send("POST", AccountPath.setup, body, token: ann.accessToken)
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(site.count("outbox WHERE kind = 'biometric_key_added'") == 10)
      _ = try site.setUp(of: elsewhere)
      site.advance(by: .seconds(3600))
      let access = try #require(site.refresh(ann.refreshToken).accessToken)
      #expect(site.send("POST", AccountPath.setup, body, token: access).status == 200)
    }
  }

  @Test func aNewKeyReplacesTheOldOne() throws {
    try withKey { site, ann in
      let first = site.sql("SELECT id FROM biometric_keys")
      let second = try site.setUp(.two, of: ann)
      #expect(first != second)
      #expect(site.sql("SELECT id FROM biometric_keys") == second)
      #expect(try site.signIn(with: .one).isWrongSignature)
      #expect(try site.signIn(with: .two).status == 200)
    }
  }

  /// An access token sets up only its own device, whoever owns the other device.
  @Test(arguments: ["device-2", "bobs-device", "device-9", "DEVICE-1"])
  func setupOfAnotherDeviceIs404(device: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.signIn(device: "device-2")
      _ = try site.signUp(email: "bob@example.org", device: "bobs-device")
      let answer = site.send(
        "POST", AccountPath.setup,
        jsonText([
          "deviceId": device, "publicKey": PhoneKey.one.publicKey, "biometricType": "face",
        ]), token: ann.accessToken)
      #expect(answer.isError(404, "not_found", noDevice), "\(answer.text)")
      #expect(site.count("biometric_keys") == 0)
    }
  }

  @Test func setupNeedsALiveSession() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let body = jsonText([
        "deviceId": "device-1", "publicKey": PhoneKey.one.publicKey, "biometricType": "face",
      ])
      #expect(site.send("POST", AccountPath.setup, body).isError(401, "unauthorized"))
      #expect(site.send("POST", AccountPath.logout, token: ann.accessToken).status == 200)
      let answer = site.send("POST", AccountPath.setup, body, token: ann.accessToken)
      #expect(answer.isError(401, "unauthorized", "Invalid or expired access token"))
      #expect(site.count("biometric_keys") == 0)
    }
  }

  /// Invalid keys, such as keys of an app that cannot sign, of P-384, of Ed25519, and of P-256 with
  /// explicit curve parameters (RFC 3279 §2.3.5).
  static let badKeys = [
    "mwsim_device-1_1763733600000", "", "AAAA", PhoneKey.one.publicKey + "\n",
    String(PhoneKey.one.publicKey.dropLast(4)),
    "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEu2XIjFZ8AW1sT7yN2XFFZr0qvqDFzBwSW/0WSbYOaYwgHjQ9NBVkzCvYECWY5hPpfNWx/Th5RQM75RxUKurypYlKtvNt4x5MDhN7EREUz/0D/Kq3d3IbxSzg8WMTYOva",
    "MCowBQYDK2VwAyEASkyzBpABL/cNRAQeJWVkRx2HMoo3whERA/TQmAPpXTI=",
    "MIIBSzCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA//////////+85vqtpxeehPO5ysL8YyVRAgEBA0IABFKkcgMggDp/fpn2dbgQtMVqc56we1COGGKBkW4v+f7lsUhwNew2BbOu1DpCQUBFqP9Mno45efnEYCaLx4sfe8k=",
  ]

  @Test(
    arguments: badKeys.map { ("publicKey", $0) } + [
      ("publicKey", nil), ("publicKey", 5), ("biometricType", nil), ("biometricType", "iris"),
      ("biometricType", "none"), ("biometricType", ""), ("deviceId", nil), ("deviceId", ""),
    ] as [(String, (any Sendable)?)])
  func malformedMembersOfASetupAreNamed(member: String, value: (any Sendable)?) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let body: [String: any Sendable] = [
        "deviceId": "device-1", "publicKey": PhoneKey.one.publicKey, "biometricType": "face",
      ]
      let answer = site.send(
        "POST", AccountPath.setup, jsonText(body, but: member, is: value), token: ann.accessToken)
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(member):") == true, "\(answer.text)")
      #expect(site.count("biometric_keys") == 0)
    }
  }

  @Test func challengesAre32RandomBytesStoredAsHashes() throws {
    try withKey { site, _ in
      let answer = site.requestChallenge()
      let challenge = try #require(answer.string("challenge"))
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"challenge":"\#(challenge)","expiresAt":"\#(iso8601(site.now + .seconds(300)))"}"#
      )
      #expect(base64Decoded(challenge)?.count == 32)
      #expect(
        site.count("phone_challenges WHERE challenge_hash = UNHEX(SHA2('\(challenge)', 256))")
          == 1)
      #expect(try site.challenge() != challenge)
      #expect(site.count("phone_challenges") == 2)
    }
  }

  @Test(arguments: ["device-9", "device-2"])
  func devicesWithoutAKeyGetNoChallengeAndVerifyIs404(device: String) throws {
    try withKey { site, _ in
      _ = try site.signIn(device: "device-2")
      #expect(site.requestChallenge(device).isError(400, "bad_request", noBiometricKey))
      let challenge = try site.challenge()
      let answer = site.verify(
        challenge, signature: PhoneKey.one.sign(challenge), device: device)
      #expect(answer.isError(404, "not_found", noBiometricKey), "\(answer.text)")
      #expect(site.count("rate_limits WHERE subject = '\(device)' AND name LIKE 'biometric%'") == 0)
    }
  }

  @Test(arguments: PhoneKey.Reading.allCases)
  func signaturesOfTheBytesOrTheTextSignIn(reading: PhoneKey.Reading) throws {
    try withKey { site, ann in
      site.advance(by: .seconds(60))
      let challenge = try site.challenge()
      let answer = site.verify(challenge, signature: PhoneKey.one.sign(challenge, as: reading))
      #expect(answer.status == 200)
      let (access, refresh) = (
        try #require(answer.accessToken), try #require(answer.refreshToken)
      )
      #expect(
        answer.text
          == #"{"accessToken":"\#(access)","refreshToken":"\#(refresh)","expiresIn":3600,"#
          + #""user":{"id":"\#(ann.accountID)","email":"ann@example.org","name":"Ann"}}"#)
      #expect(tokenClaims(access)["deviceId"] as? String == "device-1")
      #expect(site.summary(access).status == 200)
      #expect(site.summary(ann.accessToken).status == 401)
      #expect(site.refresh(refresh).status == 200)
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'sign_in' ORDER BY id")
          == "NULL\nbiometric")
      #expect(site.sql("SELECT last_used_at FROM devices").contains(" 11:07:40."))
    }
  }

  /// Early apps name the key as well, and send a stale Authorization field with every request.
  @Test func unknownMembersAndStaleTokensAreIgnored() throws {
    try withKey { site, _ in
      let asked = site.send(
        "POST", AccountPath.challenge, jsonText(["deviceId": "device-1", "x": 1]), token: "stale")
      let challenge = try #require(asked.string("challenge"))
      let answer = site.send(
        "POST", AccountPath.biometricVerify,
        jsonText([
          "deviceId": "device-1", "challenge": challenge, "biometricId": ["not", "a", "uuid"],
          "signature": PhoneKey.one.sign(challenge),
        ]), token: "stale")
      #expect(answer.status == 200, "\(answer.text)")
    }
  }

  @Test func theKeySignsInAfterALogout() throws {
    try withKey { site, ann in
      for query in ["", "revokeAll=true"] {
        let person = try #require(try site.signIn(with: .one).accessToken)
        #expect(site.send("POST", AccountPath.logout, token: person, query: query).status == 200)
        #expect(site.summary(ann.accessToken).status == 401)
      }
      #expect(try site.signIn(with: .one).status == 200)
    }
  }

  @Test func revokingADeviceRemovesItsKeyForever() throws {
    try withKey { site, ann in
      let challenge = try site.challenge()
      let path = AccountPath.devices + "/device-1"
      #expect(site.send("DELETE", path, token: ann.accessToken).status == 200)
      let answer = site.verify(challenge, signature: PhoneKey.one.sign(challenge))
      #expect(answer.isError(404, "not_found"), "\(answer.text)")
      #expect(site.requestChallenge().status == 400)
      #expect(site.count("devices WHERE revoked_at IS NOT NULL") == 1)
      let again = try site.signIn()
      #expect(site.requestChallenge().status == 400)
      #expect(site.summary(again.accessToken)["biometricEnabled"] as? Bool == false)
      #expect(site.count("biometric_keys") == 0)
    }
  }

  @Test func theKeyThatVerifiesDecidesWhichAccountSignsIn() throws {
    try withKey { site, ann in
      let bob = try site.signUp(email: "bob@example.org")
      _ = try site.setUp(.two, of: bob)
      var tokens: [String] = []
      for (key, person) in [(PhoneKey.one, ann), (.two, bob)] {
        let answer = try site.signIn(with: key)
        #expect(answer.string("user", "id") == person.accountID, "\(answer.text)")
        tokens.append(try #require(answer.accessToken))
      }
      let path = AccountPath.devices + "/device-1"
      #expect(site.send("DELETE", path, token: tokens[0]).status == 200)
      #expect(try site.signIn(with: .one).isWrongSignature)
      #expect(try site.signIn(with: .two).string("user", "id") == bob.accountID)
    }
  }

  @Test func signInsAdoptARegistrationOfTheDevice() throws {
    try withKey { site, _ in
      let credential = try site.registerDevice(pushToken: pushTokenText())
      let challenge = try site.challenge()
      let answer = site.verify(
        challenge, signature: PhoneKey.one.sign(challenge), credential: credential)
      #expect(site.summary(try #require(answer.accessToken), credential: credential).status == 200)
      #expect(site.sql("SELECT token FROM push_tokens") == pushTokenText())
    }
  }

  @Test func noSecretIsInTheDatabase() throws {
    try withKey { site, _ in
      let (spent, live) = (try site.challenge(), try site.challenge())
      let signature = PhoneKey.one.sign(live)
      let tokens = site.verify(live, signature: signature)
      #expect(tokens.status == 200)
      let dump = site.rows("phone_challenges", "biometric_keys", "rate_limits", "audit_log")
      for secret in [spent, live, signature, tokens.refreshToken ?? ""] {
        #expect(!secret.isEmpty && !dump.contains(secret))
      }
    }
  }
}

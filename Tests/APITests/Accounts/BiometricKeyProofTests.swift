import Support
import Testing

@testable import API

/// The proof of the private half when a biometric key is set up.
@Suite struct BiometricKeyProofTests {
  private func setUp(
    _ key: PhoneKey, of person: SignedIn, at site: TestApplication, challenge: String? = nil,
    signature: String? = nil
  ) -> Answer {
    site.send(
      "POST", AccountPath.setup,
      jsonText([
        "deviceId": person.deviceID, "publicKey": key.publicKey, "biometricType": "face",
        "challenge": challenge, "signature": signature,
      ]), token: person.accessToken)
  }

  /// A challenge for a phone that may have no key yet.
  private func challenge(for person: SignedIn, at site: TestApplication) throws -> String {
    let answer = site.send(
      "POST", AccountPath.challenge, jsonText(["deviceId": person.deviceID]),
      token: person.accessToken)
    return try #require(answer.string("challenge"), "\(answer.text)")
  }

  /// Ann's public key is no secret: with it, Eve would get Ann's sign-ins into her own account.
  @Test func theKeyOfAnotherAccountOnThePhoneNeedsASignature() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.setUp(of: ann)
      let eve = try site.signUp(email: "eve@example.org")
      let before = site.rows("biometric_keys")
      #expect(setUp(.one, of: eve, at: site).isError(409, "key_in_use"))
      #expect(site.rows("biometric_keys") == before)
      #expect(try site.signIn(with: .one).string("user", "id") == ann.accountID)
    }
  }

  /// The same point in another encoding.
  @Test func anotherTextOfTheKeyIsTheSameKey() throws {
    try withApplication { site in
      _ = try site.setUp(of: try site.signUp())
      let eve = try site.signUp(email: "eve@example.org")
      // Explicit base64 whitespace is not part of the key.
      let text = PhoneKey.one.publicKey.prefix(64) + "\r\n" + PhoneKey.one.publicKey.dropFirst(64)
      let answer = site.send(
        "POST", AccountPath.setup,
        jsonText([
          "deviceId": eve.deviceID, "publicKey": String(text), "biometricType": "face",
        ]), token: eve.accessToken)
      #expect(
        answer.isError(409, "key_in_use") || answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(site.count("biometric_keys") == 1)
    }
  }

  @Test func whoHasThePrivateHalfMayUseItForASecondAccount() throws {
    try withApplication { site in
      _ = try site.setUp(of: try site.signUp())
      let second = try site.signUp(email: "ann2@example.org")
      let text = try challenge(for: second, at: site)
      let answer = setUp(
        .one, of: second, at: site, challenge: text, signature: PhoneKey.one.sign(text))
      #expect(answer.status == 200, "\(answer.text)")
      #expect(site.count("biometric_keys") == 2)
    }
  }

  /// Other phones do not matter: a sign-in names its phone.
  @Test func theSameKeyOnAnotherPhoneIsNotInUse() throws {
    try withApplication { site in
      _ = try site.setUp(of: try site.signUp())
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      #expect(setUp(.one, of: bob, at: site).status == 200)
    }
  }

  @Test func theFirstKeyOfAPhoneMayBeProven() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.requestChallenge().status == 400, "without the access token")
      let text = try challenge(for: ann, at: site)
      let signature = PhoneKey.one.sign(text)
      let answer = setUp(.one, of: ann, at: site, challenge: text, signature: signature)
      #expect(answer.status == 200, "\(answer.text)")
      let again = setUp(.one, of: ann, at: site, challenge: text, signature: signature)
      #expect(again.complaint == "signature: not_of_a_live_challenge", "\(again.text)")
    }
  }

  enum Wrong: CaseIterable { case otherKey, otherChallenge, expired, ofAnotherPhone, garbage }

  @Test(arguments: Wrong.allCases)
  func aWrongProofSetsNoKey(wrong: Wrong) throws {
    try withApplication { site in
      let ann = try site.signUp()
      var text = try challenge(for: ann, at: site)
      var signature = PhoneKey.one.sign(text)
      switch wrong {
      case .otherKey: signature = PhoneKey.two.sign(text)
      case .otherChallenge: signature = PhoneKey.one.sign(try challenge(for: ann, at: site))
      case .expired: site.advance(by: .seconds(300))
      case .ofAnotherPhone:
        text = try challenge(
          for: try site.signUp(email: "bob@example.org", device: "device-2"), at: site)
        signature = PhoneKey.one.sign(text)
      case .garbage: signature = "garbage"
      }
      let answer = setUp(.one, of: ann, at: site, challenge: text, signature: signature)
      #expect(answer.complaint == "signature: not_of_a_live_challenge", "\(answer.text)")
      #expect(site.count("biometric_keys") == 0)
    }
  }

  @Test(arguments: ["challenge", "signature"])
  func halfAProofIsRefused(missing: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = setUp(
        .one, of: ann, at: site, challenge: missing == "challenge" ? nil : "x",
        signature: missing == "signature" ? nil : "x")
      #expect(answer.complaint == "\(missing): missing", "\(answer.text)")
    }
  }

  /// Of two accounts that set one key in the same instant, one gets it.
  @Test func twoAccountsThatSetOneKeyAtOnceDoNotBothGetIt() throws {
    try withApplication { site in
      for round in 1...5 {
        let people = try ["ann", "eve"].map {
          try site.signUp(email: "\($0)\(round)@example.org", device: "phone-\(round)")
        }
        let statuses = inParallel(2) { setUp(.one, of: people[$0], at: site).status }
        #expect(statuses.sorted() == [200, 409])
      }
    }
  }
}

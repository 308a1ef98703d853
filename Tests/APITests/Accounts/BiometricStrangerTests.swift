import Testing

@testable import API

/// A stranger who knows a phone's id cannot keep its owner from signing in with the key.
@Suite struct BiometricStrangerTests {
  private let stranger = "203.0.113.9"

  /// A site with Ann's phone, which has a key and a credential.
  private func withPhone(
    _ body: (_ site: TestApplication, _ credential: String) throws -> Void
  ) throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      _ = try site.setUp(of: try site.signUp(credential: credential))
      try body(site, credential)
    }
  }

  @Test func challengesOfAStrangerDisplaceNone() throws {
    try withPhone { site, _ throws in
      let challenge = try site.challenge()
      for _ in 1...10 { #expect(site.requestChallenge(address: stranger).status == 200) }
      #expect(site.requestChallenge(address: stranger).isError(429, "too_many_requests"))
      site.sql("DELETE FROM rate_limits")
      for _ in 1...5 { #expect(site.requestChallenge(address: stranger).status == 200) }
      #expect(site.count("phone_challenges") == 11)
      #expect(site.requestChallenge().status == 200)
      #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).status == 200)
    }
  }

  @Test func severalChallengesOfAPhoneAreLive() throws {
    try withPhone { site, _ throws in
      let challenges = try (1...10).map { _ in try site.challenge() }
      for challenge in challenges.reversed() {
        #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).status == 200)
      }
    }
  }

  @Test func wrongSignaturesOfAStrangerLockOnlyTheStranger() throws {
    try withPhone { site, _ throws in
      for _ in 1...5 {
        #expect(try site.signIn(with: .two, address: stranger).isWrongSignature)
      }
      #expect(try site.signIn(with: .two, address: stranger).isLocked(for: 900))
      #expect(try site.signIn(with: .one).status == 200)
    }
  }

  @Test func aStrangerInTheSameNetworkDoesNotLockThePhoneThatShowsItsCredential() throws {
    try withPhone { site, credential throws in
      for _ in 1...5 { #expect(try site.signIn(with: .two).isWrongSignature) }
      #expect(try site.signIn(with: .one).isLocked(for: 900))
      for _ in 1...10 { _ = site.requestChallenge() }
      #expect(try site.signIn(with: .one, credential: credential).status == 200)
    }
  }

  @Test func aPhoneWithItsCredentialIsLockedByItsOwnWrongSignatures() throws {
    try withPhone { site, credential throws in
      for _ in 1...5 {
        #expect(try site.signIn(with: .two, credential: credential).isWrongSignature)
      }
      #expect(try site.signIn(with: .one, credential: credential).isLocked(for: 900))
    }
  }

  /// A sign-in with one key takes back the attempt that was counted for the other key.
  @Test func aRightSignatureDoesNotCountForTheOtherAccountsOfThePhone() throws {
    try withPhone { site, _ throws in
      _ = try site.setUp(.two, of: try site.signUp(email: "bob@example.org"))
      for _ in 1...6 { #expect(try site.signIn(with: .one).status == 200) }
      #expect(try site.signIn(with: .two).string("user", "email") == "bob@example.org")
      #expect(site.count("rate_limits WHERE name = 'biometric-failed' AND hits > 0") == 0)
    }
  }

  @Test func aNewKeyIsNotLocked() throws {
    try withPhone { site, _ throws in
      for _ in 1...5 { _ = try site.signIn(with: .two) }
      _ = try site.setUp(.two, of: try site.signIn())
      #expect(try site.signIn(with: .two).status == 200)
    }
  }
}

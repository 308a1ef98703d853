import Base
import Foundation
import Support
import Testing

@testable import API

/// Expired or used challenges, wrong signatures, and the lock after five wrong signatures.
@Suite struct BiometricLockTests {
  private func withKey(_ body: (TestApplication) throws -> Void) throws {
    try withApplication { site in
      _ = try site.setUp(of: try site.signUp())
      try body(site)
    }
  }

  /// The details of an event's rows.
  private func details(_ site: TestApplication, _ event: String) -> [String] {
    site.sql("SELECT detail FROM audit_log WHERE event = '\(event)' ORDER BY id")
      .split(separator: "\n").map(String.init)
  }

  enum Dead: CaseIterable {
    case spent, expired, displaced, unknown, otherDevices, none, notBase64
  }

  /// A correct signature does not count against the device, even with a dead challenge.
  @Test(arguments: Dead.allCases)
  func deadChallengesAreRefusedAndNotCounted(dead: Dead) throws {
    try withKey { site in
      var challenge = try site.challenge()
      switch dead {
      case .spent:
        #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).status == 200)
        site.advance(by: .seconds(1))
      case .expired: site.advance(by: .seconds(300))
      case .displaced:
        for _ in 1...10 {
          site.advance(by: .seconds(1))
          _ = try site.challenge()
        }
      case .unknown: challenge = Data(repeating: 7, count: 32).base64EncodedString()
      case .otherDevices:
        _ = try site.setUp(.two, of: try site.signIn(device: "device-2"))
        challenge = try site.challenge("device-2")
      case .none: site.sql("DELETE FROM phone_challenges")
      case .notBase64: challenge = "no challenge"
      }
      let sessions = site.count("sessions")
      for _ in 1...6 {
        #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).isWrongSignature)
      }
      #expect(site.count("sessions") == sessions)
      #expect(site.count("rate_limits WHERE name = 'biometric-failed' AND hits > 0") == 0)
      #expect(try site.signIn(with: .one).status == 200)
    }
  }

  @Test func challengesLiveFiveMinutes() throws {
    try withKey { site in
      let challenge = try site.challenge()
      site.advance(by: .milliseconds(299_999))
      #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).status == 200)
    }
  }

  @Test func aWrongSignatureSpendsTheChallenge() throws {
    try withKey { site in
      let challenge = try site.challenge()
      let wrong = "signed_\(challenge)_1763733600000"
      #expect(site.verify(challenge, signature: wrong).isWrongSignature)
      #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).isWrongSignature)
      #expect(site.count("rate_limits WHERE name = 'biometric-failed' AND hits = 1") == 1)
    }
  }

  @Test func whoNamesAnotherChallengeSpendsNone() throws {
    try withKey { site in
      let challenge = try site.challenge()
      #expect(site.verify("another", signature: "none").isWrongSignature)
      #expect(site.count("rate_limits WHERE name = 'biometric-failed'") == 0)
      #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).status == 200)
    }
  }

  @Test(
    arguments: [
      ("deviceId", nil), ("deviceId", ""), ("deviceId", 5), ("signature", nil), ("signature", 5),
      ("challenge", nil), ("challenge", NSNull()),
    ] as [(String, (any Sendable)?)])
  func malformedMembersAreNamedAndSpendNothing(member: String, value: (any Sendable)?) throws {
    try withKey { site in
      let challenge = try site.challenge()
      let body: [String: any Sendable] = [
        "deviceId": "device-1", "challenge": challenge, "signature": PhoneKey.one.sign(challenge),
      ]
      let answer = site.send(
        "POST", AccountPath.biometricVerify, jsonText(body, but: member, is: value))
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(member):") == true, "\(answer.text)")
      #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).status == 200)
    }
  }

  @Test func fiveWrongSignaturesLockTheKeyForFifteenMinutes() throws {
    try withKey { site in
      for _ in 1...4 {
        #expect(try site.signIn(with: .two).isWrongSignature)
        site.advance(by: .seconds(60))
      }
      #expect(try site.signIn(with: .two).isWrongSignature)
      let lock = site.now
      site.advance(to: lock + .seconds(60))
      #expect(try site.signIn(with: .one).isLocked(for: 840))
      #expect(site.verify("no challenge", signature: "none").isLocked(for: 840))
      // A sign-in has two requests.
      site.advance(to: lock + .milliseconds(899_998))
      #expect(try site.signIn(with: .one).isLocked(for: 1))
      site.advance(to: lock + .milliseconds(899_999))
      let challenge = try site.challenge()
      site.advance(to: lock + .seconds(900))
      #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).status == 200)
      #expect(details(site, "biometric_refused") == (1...4).map { "try \($0)" })
      #expect(details(site, "biometric_locked") == ["try 5"])
    }
  }

  @Test func fiveWrongSignaturesAfterALockLockAgain() throws {
    try withKey { site throws in
      for _ in 1...2 {
        for _ in 1...5 { #expect(try site.signIn(with: .two).isWrongSignature) }
        #expect(try site.signIn(with: .one).isLocked(for: 900))
        site.advance(by: .seconds(900))
      }
      #expect(try site.signIn(with: .one).status == 200)
    }
  }

  @Test func verificationsOfALockedDeviceSpendTheChallenge() throws {
    try withKey { site in
      for _ in 1...5 { _ = try site.signIn(with: .two) }
      site.advance(by: .seconds(899))
      let challenge = try site.challenge()
      #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).isLocked(for: 1))
      site.advance(by: .seconds(1))
      #expect(site.verify(challenge, signature: PhoneKey.one.sign(challenge)).isWrongSignature)
    }
  }

  @Test func rightSignaturesResetTheCount() throws {
    try withKey { site throws in
      for _ in 1...2 {
        for _ in 1...4 { #expect(try site.signIn(with: .two).isWrongSignature) }
        #expect(try site.signIn(with: .one).status == 200)
      }
    }
  }

  /// The signature is right although the sign-in is refused.
  @Test func wrongDeviceCredentialsAreNotCounted() throws {
    try withKey { site in
      for _ in 1...6 {
        let challenge = try site.challenge()
        let answer = site.verify(
          challenge, signature: PhoneKey.one.sign(challenge), credential: "garbage")
        #expect(answer.isError(401, "unauthorized", wrongCredential))
      }
      #expect(try site.signIn(with: .one).status == 200)
    }
  }

  @Test func aLockIsForOneDeviceAndAllItsAccounts() throws {
    try withKey { site in
      _ = try site.setUp(.two, of: try site.signIn(device: "device-2"))
      let bob = try site.signUp(email: "bob@example.org")
      _ = try site.setUp(.two, of: bob)
      for _ in 1...5 {
        let challenge = try site.challenge()
        #expect(site.verify(challenge, signature: "").isWrongSignature)
      }
      #expect(try site.signIn(with: .two).isLocked(for: 900))
      #expect(try site.signIn(with: .two, device: "device-2").status == 200)
      #expect(
        site.sql(
          """
          SELECT COUNT(*), COUNT(DISTINCT account_id), COUNT(DISTINCT device_id) FROM audit_log
          WHERE event IN ('biometric_refused', 'biometric_locked')
          """) == "10\t2\t2")
      #expect(site.summary(bob.accessToken).status == 200)
    }
  }

  @Test func aDeviceGetsTenChallengesAMinute() throws {
    try withKey { site in
      _ = try site.setUp(.two, of: try site.signIn(device: "device-2"))
      for _ in 1...10 { #expect(site.requestChallenge().status == 200) }
      site.advance(by: .seconds(20))
      let answer = site.requestChallenge()
      #expect(answer.isError(429, "too_many_requests"))
      #expect(answer.retryAfter == 40)
      #expect(site.requestChallenge("device-2").status == 200)
      site.advance(by: .seconds(40))
      #expect(site.requestChallenge().status == 200)
    }
  }

  @Test func oneOf64SimultaneousRightSignaturesSignsIn() throws {
    try withKey { site in
      let challenge = try site.challenge()
      let answers = inParallel(64) { _ in
        site.verify(challenge, signature: PhoneKey.one.sign(challenge))
      }
      #expect(answers.filter { $0.status == 200 }.count == 1)
      #expect(
        answers.filter(\.isWrongSignature).count == 63, "\(Set(answers.map(\.text)))")
      #expect(site.count("sessions") == 2)
    }
  }

  /// The trigger keeps the challenge open for each guess.
  @Test func fiveOf100SimultaneousGuessesAreCompared() throws {
    try withKey { site in
      let challenge = try site.challenge()
      site.sql(
        """
        CREATE TRIGGER revive BEFORE UPDATE ON phone_challenges FOR EACH ROW
        SET NEW.spent_at = NULL, NEW.expires_at = OLD.expires_at + INTERVAL 1 SECOND
        """)
      let answers = inParallel(100) { _ in
        site.verify(challenge, signature: PhoneKey.two.sign(challenge))
      }
      #expect(
        // A request may have begun before the one that locked.
        answers.allSatisfy {
          $0.isWrongSignature || $0.isLocked(for: 900) || $0.isLocked(for: 901)
        },
        "\(Set(answers.map(\.text)))")
      #expect(answers.filter { $0.status == 429 }.count > 0)
      #expect(details(site, "biometric_refused").sorted() == (1...4).map { "try \($0)" })
      #expect(details(site, "biometric_locked") == ["try 5"])
      #expect(site.sql("SELECT hits FROM rate_limits WHERE name = 'biometric-failed'") == "5")
      #expect(try site.signIn(with: .one).isLocked(for: 900))
    }
  }
}

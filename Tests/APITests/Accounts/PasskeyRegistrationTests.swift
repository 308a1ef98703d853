import Base
import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// `POST /api/mobile/auth/passkey/register/options`, `…/verify`
@Suite struct PasskeyRegistrationTests {
  private static let refusal = "The passkey was not accepted. Add it again."

  @Test func registrationStartsWithOptionsForABrowser() throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let answer = site.passkeyOptions(of: ann)
      let challenge = try #require(answer.string("challenge"))
      let handle = try #require(hexDecoded(ann.accountID.replacing("-", with: "")))
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"challenge":"\#(challenge)","rp":{"id":"api.example.org","name":"api.example.org"},"#
          + #""user":{"id":"\#(base64URLEncoded(handle))","name":"ann@example.org","displayName":"Ann"},"#
          + #""pubKeyCredParams":[{"type":"public-key","alg":-7},{"type":"public-key","alg":-8},"#
          + #"{"type":"public-key","alg":-257}],"timeout":300000,"excludeCredentials":[],"#
          + #""authenticatorSelection":{"residentKey":"preferred","userVerification":"required"},"#
          + #""attestation":"none"}"#)
      #expect(answer.field("Cache-Control") == "no-store")
      let bytes = try #require(base64URLDecoded(challenge))
      #expect(bytes.count == 32)
      #expect(
        site.sql(
          "SELECT HEX(challenge_hash), purpose, account_id, client_device_id, spent_at FROM passkey_challenges"
        )
          == "\(hexEncoded(sha256(bytes)).uppercased())\tregistration\t\(ann.accountID)\tdevice-1\tNULL"
      )
      #expect(site.passkeyOptions(of: ann).string("challenge") != challenge)
    }
  }

  @Test(
    arguments: [
      (nil, "Passkey"), (NSNull(), "Passkey"), (" x ", "x"),
      (String(repeating: "n", count: 200), String(repeating: "n", count: 200)),
      (String(repeating: "n", count: 201), nil), ("", nil), (" ", nil), ("a\u{0}b", nil), (5, nil),
      (["x"], nil),
    ] as [((any Sendable)?, String?)])
  func namesAreOptionalAndChecked(name: (any Sendable)?, expected: String?) throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      let answer = site.register(
        Authenticator().created(answering: challenge), name: name, of: ann)
      if let expected {
        #expect(answer.string("name") == expected, "\(answer.text)")
      } else {
        #expect(answer.isError(400, "bad_request"), "\(answer.text)")
        #expect(answer.complaint?.hasPrefix("name:") == true)
        #expect(site.count("passkeys") == 0)
        #expect(site.count("passkey_challenges WHERE spent_at IS NULL") == 1)
      }
    }
  }

  private static let members: [(String, (any Sendable)?)] = [
    ("", nil), ("", NSNull()), ("", "x"), ("id", nil), ("id", ""), ("id", "AA=="), ("id", "A"),
    ("id", "+/+/"), ("id", 5), ("id", String(repeating: "A", count: 1366)), ("rawId", nil),
    ("rawId", "AAAA"), ("type", nil), ("type", "password"), ("type", 5), ("response", nil),
    ("response", ["x"]), ("response.clientDataJSON", nil), ("response.clientDataJSON", ""),
    ("response.clientDataJSON", "{}"), ("response.clientDataJSON", NSNull()),
    ("response.clientDataJSON", String(repeating: "A", count: 5464)),
    ("response.attestationObject", nil), ("response.attestationObject", "o2M="),
    ("response.attestationObject", String(repeating: "A", count: 21_848)),
  ]

  @Test(arguments: members)
  func malformedMembersAreNamed(member: String, value: (any Sendable)?) throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      let credential = Authenticator().created(answering: challenge)
      let answer = site.send(
        "POST", AccountPath.passkeyVerify, passkeyBody(credential, but: member, is: value),
        token: ann.accessToken)
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      let path = member.isEmpty ? "credential" : "credential.\(member)"
      #expect(answer.complaint?.hasPrefix("\(path):") == true, "\(answer.text)")
      #expect(site.count("passkeys") == 0)
      #expect(site.count("passkey_challenges WHERE spent_at IS NULL") == 1)
    }
  }

  enum Wrong: CaseIterable {
    case type, origin, party, verification, presence, frame, backup, challenge, noChallenge
    case expired, spent, device, account, signInChallenge, object
  }

  @Test(arguments: Wrong.allCases)
  func everyRefusalHasTheSameAnswer(wrong: Wrong) throws {
    try withPasskey { site, ann, _ throws in
      site.forgetPasskeyStarts()
      var challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      var (person, authenticator, type) = (ann, Authenticator(), "webauthn.create")
      var isLive = true
      switch wrong {
      case .type: type = "webauthn.get"
      case .origin: authenticator.origin = "https://example.org"
      case .party: authenticator.partyID = "example.org"
      case .verification: authenticator.flags &= ~Authenticator.Flag.verified
      case .presence: authenticator.flags &= ~Authenticator.Flag.present
      case .frame: authenticator.extraClientData = #","crossOrigin":true"#
      case .backup: authenticator.flags &= ~Authenticator.Flag.backupEligible
      case .challenge: (challenge, isLive) = (base64URLEncoded(randomBytes(32)), false)
      case .noChallenge: (challenge, isLive) = ("?", false)
      case .expired:
        site.advance(by: .seconds(300))
        isLive = false
      case .spent:
        #expect(site.register(authenticator.created(answering: challenge), of: ann).status == 200)
        authenticator = Authenticator()
        isLive = false
      case .device:
        person = try secondDevice(of: site)
        isLive = false
      case .account:
        person = try site.signUp(email: "bob@example.org")
        isLive = false
      case .signInChallenge: (challenge, isLive) = (try site.signInChallenge(), false)
      case .object: authenticator.credentialID = [UInt8](repeating: 1, count: 1024)
      }
      var credential = authenticator.created(answering: challenge, type: type)
      if wrong == .object { (credential["id"], credential["rawId"]) = ("AAAA", "AAAA") }
      let (count, events) = (site.count("passkeys"), site.passkeyEvents)
      let answer = site.register(credential, of: person)
      #expect(answer.isError(400, "bad_request", Self.refusal), "\(answer.text)")
      #expect(site.count("passkeys") == count)
      #expect(site.passkeyEvents.count == events.count + (isLive ? 1 : 0))
      if isLive {
        #expect(site.passkeyEvents.last?.hasPrefix("passkey_refused registration: ") == true)
        // The refused answer has used the challenge.
        let again = site.register(Authenticator().created(answering: challenge), of: ann)
        #expect(again.isError(400, "bad_request", Self.refusal))
      }
    }
  }

  private func secondDevice(of site: TestApplication) throws -> SignedIn {
    #expect(site.startSignIn(device: "device-2", method: "email").status == 200)
    let answer = site.verify(code: try site.mailedCode(), device: "device-2")
    return SignedIn(
      email: "ann@example.org", deviceID: "device-2",
      accountID: try #require(answer.string("user", "id")),
      accessToken: try #require(answer.accessToken),
      refreshToken: try #require(answer.refreshToken))
  }

  @Test func challengesLiveFiveMinutes() throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      site.advance(by: .milliseconds(299_999))
      #expect(site.register(Authenticator().created(answering: challenge), of: ann).status == 200)
    }
  }

  @Test func credentialsAreRegisteredOnce() throws {
    try withPasskey { site, ann, authenticator throws in
      for person in [ann, try site.signUp(email: "bob@example.org")] {
        let challenge = try #require(site.passkeyOptions(of: person).string("challenge"))
        let answer = site.register(authenticator.created(answering: challenge), of: person)
        #expect(
          answer.isError(409, "conflict", "This passkey is in use already. Add another one."),
          "\(answer.text)")
      }
      #expect(site.count("passkeys") == 1)
      let id = site.sql("SELECT id FROM passkeys")
      let removed = site.send("DELETE", "\(AccountPath.passkeys)/\(id)", token: ann.accessToken)
      #expect(removed.status == 200)
      try site.addPasskey(authenticator, of: ann)
    }
  }

  @Test func oneOf64SimultaneousRegistrationsWins() throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      let credential = Authenticator().created(answering: challenge)
      let answers = inParallel(64) { _ in site.register(credential, of: ann) }
      #expect(answers.filter { $0.status == 200 }.count == 1)
      #expect(answers.filter { $0.isError(400, "bad_request", Self.refusal) }.count == 63)
      #expect(site.count("passkeys") == 1)
    }
  }

  @Test func accountsHaveAtMost20Passkeys() throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      for _ in 1...17 { try site.addPasskey(Authenticator(), of: ann) }
      site.forgetPasskeyStarts()
      let credentials = try (1...8).map { _ in
        Authenticator().created(
          answering: try #require(site.passkeyOptions(of: ann).string("challenge")))
      }
      let answers = inParallel(8) { site.register(credentials[$0], of: ann) }
      #expect(answers.filter { $0.status == 200 }.count == 3, "\(answers.map(\.text))")
      let full = "Your account has as many passkeys as it may have. Remove one first."
      #expect(answers.filter { $0.isError(409, "too_many_passkeys", full) }.count == 5)
      #expect(site.passkeyOptions(of: ann).isError(409, "too_many_passkeys", full))
      #expect(site.count("passkeys") == 20)
    }
  }

  @Test func anAddressGets20ChallengesAMinuteForAnyPurpose() throws {
    try withPasskey { site, ann, _ throws in
      site.forgetPasskeyStarts()
      for _ in 1...10 {
        #expect(site.passkeyOptions(of: ann).status == 200)
        #expect(site.startSignIn().string("method") == "passkey")
      }
      let challenges = site.count("passkey_challenges")
      site.advance(by: .seconds(20))
      for answer in [site.passkeyOptions(of: ann), site.startSignIn()] {
        #expect(answer.isError(429, "too_many_requests"), "\(answer.text)")
        #expect(answer.retryAfter == 40)
      }
      #expect(site.count("passkey_challenges") == challenges)
      #expect(site.startSignIn(method: "email").string("method") == "email")
      #expect(site.passkeyOptions(of: ann, address: "198.51.100.7").status == 200)
      site.advance(by: .seconds(40))
      #expect(site.passkeyOptions(of: ann).status == 200)
    }
  }

  @Test func anAccountMayRegister60PasskeysAnHour() throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let credentials = try (1...2).map { _ in
        Authenticator().created(
          answering: try #require(site.passkeyOptions(of: ann).string("challenge")))
      }
      #expect(site.register(credentials[0], of: ann).status == 200)
      site.sql("UPDATE rate_limits SET hits = 60 WHERE name = 'passkey-register'")
      let refused = site.register(credentials[1], of: ann)
      #expect(refused.isError(429, "too_many_requests"))
      #expect(refused.retryAfter == 3600)
      #expect(site.count("passkeys") == 1)
    }
  }
}

import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// Enrollment of keys: `/api/app-attestation/…`.
@Suite struct AttestationTests {
  /// The member names of object, key id, challenge id and bundle id.
  private static let spellings = [
    ["attestation_object", "key_id", "challenge_id", "bundle_id"],
    ["attestationObject", "keyId", "challengeId", "bundleId"],
    ["attestation", "keyId", "challengeId", "bundleId"],
    ["attestation", "key_id", "challengeId", "bundle_id"],
  ]

  @Test(arguments: spellings)
  func aKeyIsEnrolledInEverySpellingWithoutSignIn(_ names: [String]) throws {
    try withApplication(attestation: .ofTests()) { site in
      let phone = AttestedPhone(appID: ourApp)
      let issued = site.send(
        "POST", AttestationPath.challenge,
        jsonText(["platform": "ios", names[3]: ourBundle, "purpose": "attestation"]),
        token: "nonsense")
      #expect(issued.status == 200)
      let id = try #require(issued.string("challenge_id"))
      #expect(issued.string("challengeId") == id)
      #expect(issued["success"] as? Bool == true)
      let challenge = try #require(base64Decoded(issued.string("challenge") ?? ""))
      #expect(challenge.count == 32)

      let body = [
        names[0]: phone.attestation(of: challenge), names[1]: phone.keyID, names[2]: id,
        names[3]: ourBundle, "platform": "ios",
      ]
      let answer = site.send(
        "POST", AttestationPath.verify, jsonText(body), token: "nonsense")
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      let key = jsonText([names[1]: phone.keyID])
      #expect(
        site.send("POST", AttestationPath.verifyKey, key, token: "nonsense").text
          == #"{"valid":true}"#)
      #expect(
        site.sql(
          """
          SELECT app_id, environment, counter, HEX(receipt), device_id FROM attestation_keys
          """) == "\(ourApp)\tproduction\t0\t010203\tNULL")
    }
  }

  @Test(arguments: ["AAAA", base64Encoded([UInt8](repeating: 7, count: 32)), "no base64", ""])
  func anUnknownKeyIsNotValid(keyID: String) throws {
    try withApplication(attestation: .ofTests()) { site in
      try site.enroll(AttestedPhone(appID: ourApp))
      let answer = site.send(
        "POST", AttestationPath.verifyKey, jsonText(["key_id": keyID]))
      #expect(answer.status == 200)
      #expect(answer.text == #"{"valid":false}"#)
    }
  }

  private struct Refused: CustomTestStringConvertible {
    let reason: String
    let text: String
    var policy = AttestationPolicy.ofTests()
    var phone = AttestedPhone(appID: ourApp)
    /// Replacements for values that the phone would send.
    var object: String?
    var keyID: String?
    var bundle: String?
    /// A value that the phone attests instead of the challenge.
    var challenge: [UInt8]?
    var testDescription: String { "\(reason) \(text)" }
  }

  private static func refused() -> [Refused] {
    var development = AttestedPhone(appID: ourApp)
    development.isProduction = false
    let (mismatch, invalid) = ("Bundle ID mismatch", "Invalid attestation")
    return [
      Refused(reason: "app", text: mismatch, bundle: "app.hamrah.other"),
      Refused(reason: "app", text: mismatch, policy: .ofTests(bundleIDs: ["app.other"])),
      Refused(reason: "app", text: mismatch, phone: AttestedPhone(appID: "\(ourTeam).app.other")),
      Refused(
        reason: "app", text: mismatch, phone: AttestedPhone(appID: "TEAM999999.\(ourBundle)")),
      Refused(
        reason: "environment", text: invalid, policy: .ofTests(environments: [.production]),
        phone: development),
      Refused(reason: "nonce", text: invalid, challenge: [1]),
      Refused(reason: "key_id", text: invalid, keyID: AttestedPhone(appID: ourApp).keyID),
      Refused(reason: "malformed", text: invalid, object: "AAAA"),
      Refused(
        reason: "untrusted", text: invalid,
        policy: AttestationPolicy(
          mode: .enforce, apps: AttestedApps(teamID: ourTeam, environments: [.production]))),
    ]
  }

  @Test(arguments: refused().indices)
  func anAttestationThatIsNotApplesOrNotForOurAppIsRefused(number: Int) throws {
    let wrong = Self.refused()[number]
    try withApplication(attestation: wrong.policy) { site in
      let challenge = try site.attestationChallenge()
      let bundle = wrong.bundle ?? ourBundle
      let answer = site.verify(
        wrong.object ?? wrong.phone.attestation(of: wrong.challenge ?? challenge.bytes),
        keyID: wrong.keyID ?? wrong.phone.keyID, challenge, bundle: bundle)
      #expect(answer.isRefusedEnrollment(403, wrong.text), "\(answer.text)")
      #expect(
        site.sql(
          """
          SELECT platform, bundle_id, attestation, attestation_reason, address, account_id, detail
          FROM audit_log WHERE event = 'attestation_refused'
          """) == "iOS\t\(bundle)\trefused\t\(wrong.reason)\t192.0.2.1\tNULL\tNULL")
      #expect(site.sql("SELECT COUNT(*) FROM attestation_keys") == "0")
      // The refusal has used the challenge.
      let phone = AttestedPhone(appID: ourApp)
      let again = site.verify(
        phone.attestation(of: challenge.bytes), keyID: phone.keyID, challenge)
      #expect(again.isRefusedEnrollment(403, "Invalid challenge"))
      #expect(site.lastOutcome == "attestation_refused\trefused\tchallenge_spent")
    }
  }

  @Test func aChallengeExpiresAfterTenMinutes() throws {
    try withApplication(attestation: .ofTests()) { site in
      let (early, late) = (try site.attestationChallenge(), try site.attestationChallenge())
      let phone = AttestedPhone(appID: ourApp)
      // The second was issued a millisecond after the first.
      site.advance(by: .milliseconds(599_998))
      let inTime = site.verify(phone.attestation(of: early.bytes), keyID: phone.keyID, early)
      #expect(inTime.status == 200)
      site.advance(by: .milliseconds(2))
      let tooLate = site.verify(phone.attestation(of: late.bytes), keyID: phone.keyID, late)
      #expect(tooLate.isRefusedEnrollment(403, "Challenge expired"))
      #expect(site.lastOutcome == "attestation_refused\trefused\tchallenge_expired")
    }
  }

  @Test(arguments: ["", "garbage", "01890a5d-ac96-774b-bcce-b302099a8001", "' OR ''='"])
  func aChallengeThatWasNeverIssuedIsRefused(id: String) throws {
    try withApplication(attestation: .ofTests()) { site in
      _ = try site.attestationChallenge()
      let phone = AttestedPhone(appID: ourApp)
      let unknown = IssuedChallenge(id: id, bytes: [])
      let answer = site.verify(phone.attestation(of: []), keyID: phone.keyID, unknown)
      #expect(answer.isRefusedEnrollment(403, "Invalid challenge"), "\(answer.text)")
      #expect(site.lastOutcome == "attestation_refused\trefused\tchallenge_unknown")
    }
  }

  @Test func oneOfManyAttestationsWithTheSameChallengeWins() throws {
    try withApplication(attestation: .ofTests()) { site in
      for _ in 1...rounds(default: 1) {
        let challenge = try site.attestationChallenge()
        let phone = AttestedPhone(appID: ourApp)
        let object = phone.attestation(of: challenge.bytes)
        let answers = inParallel(64) { number in
          site.verify(object, keyID: phone.keyID, challenge, address: "192.0.2.\(number)")
        }
        #expect(answers.filter { $0.status == 200 }.count == 1)
        #expect(
          answers.filter { $0.isRefusedEnrollment(403, "Invalid challenge") }.count == 63)
      }
    }
  }

  @Test func aKeyThatIsAttestedAgainKeepsCounterAndDevice() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: 7, by: ann).status == 200)
      try site.enroll(phone)
      #expect(site.keyState(phone) == "7\tann@example.org")
      #expect(
        site.post(provenBy: phone, counter: 7, by: ann).isUnproved("assertion_out_of_order"))
      #expect(site.post(provenBy: phone, counter: 8, by: ann).status == 200)
    }
  }

  @Test func sixtyChallengesAMinuteAreIssuedToOneAddress() throws {
    try withApplication(attestation: .ofTests()) { site in
      let body = jsonText(["platform": "ios", "bundle_id": ourBundle])
      for _ in 1...60 { _ = try site.attestationChallenge() }
      let refused = site.send("POST", AttestationPath.challenge, body)
      #expect(refused.isRefusedEnrollment(429, "Too many requests"))
      #expect(refused.field("Retry-After") == "60")
      #expect(
        site.send("POST", AttestationPath.challenge, body, address: "192.0.2.2").status == 200)
      site.advance(by: .seconds(60))
      #expect(site.send("POST", AttestationPath.challenge, body).status == 200)
    }
  }

  private static let malformed: [(String, String, String)] = [
    (AttestationPath.challenge, "{", "The body is not valid JSON. Update the app and try again."),
    (AttestationPath.challenge, #"{"bundle_id":"a"}"#, "platform: missing"),
    (AttestationPath.challenge, #"{"platform":"ios"}"#, "bundle_id: missing"),
    (AttestationPath.challenge, #"{"platform":"ios","bundleId":5}"#, "bundleId: wrong_type"),
    (
      AttestationPath.challenge, #"{"platform":"ios","bundleId":"a b"}"#,
      "bundleId: not_a_bundle_id"
    ),
    (
      AttestationPath.challenge, #"{"platform":"macos","bundle_id":"a"}"#,
      "Only iOS platform is supported"
    ),
    (AttestationPath.verify, "{}", "attestation_object: missing"),
    (AttestationPath.verify, #"{"attestation":"?"}"#, "attestation: not_base64"),
    (AttestationPath.verify, #"{"attestation":"AAAA"}"#, "key_id: missing"),
    (AttestationPath.verify, #"{"attestation":"AAAA","keyId":"A"}"#, "keyId: not_base64"),
    (AttestationPath.verify, #"{"attestation":"AAAA","keyId":"AAAA"}"#, "challenge_id: missing"),
    (
      AttestationPath.verify, #"{"attestation":"AAAA","keyId":"AAAA","challengeId":"x"}"#,
      "bundle_id: missing"
    ),
    (AttestationPath.verifyKey, "{}", "key_id: missing"),
    (AttestationPath.verifyKey, "[]", ": wrong_type"),
  ]

  @Test(arguments: malformed)
  func aMalformedRequestIs400AndSpendsNothing(
    path: String, body: String, text: String
  ) throws {
    try withApplication(attestation: .ofTests()) { site in
      let answer = site.send("POST", path, body)
      #expect(answer.status == 400)
      #expect(answer["success"] as? Bool == false)
      if text != ": wrong_type" { #expect(answer.string("error") == text) }
      #expect(site.audited("attestation_refused") == 0)
    }
  }

  @Test(arguments: [AttestationPath.challenge, AttestationPath.verify, AttestationPath.verifyKey])
  func withoutATeamEnrollmentIs503(path: String) throws {
    try withApplication { site in
      let answer = site.send("POST", path, "{}")
      #expect(
        answer.isRefusedEnrollment(
          503, "App attestation is not configured here: there is no Apple team id"))
    }
  }

  @Test func anEnrollmentIsAudited() throws {
    try withApplication(attestation: .ofTests()) { site in
      let phone = try site.enrolledPhone()
      #expect(
        site.sql(
          """
          SELECT detail, platform, bundle_id, attestation, attestation_reason, address, request_id
          FROM audit_log WHERE event = 'key_attested'
          """)
          == "production key \(phone.keyID)\tiOS\t\(ourBundle)\tverified\tNULL\t192.0.2.1\trequest-1"
      )
    }
  }

  @Test func onlyTheHashOfAChallengeIsStored() throws {
    try withApplication(attestation: .ofTests()) { site in
      let challenge = try site.attestationChallenge()
      #expect(
        site.sql("SELECT LOWER(HEX(challenge_hash)), bundle_id FROM attestation_challenges")
          == "\(hexEncoded(sha256(challenge.bytes)))\t\(ourBundle)")
    }
  }
}

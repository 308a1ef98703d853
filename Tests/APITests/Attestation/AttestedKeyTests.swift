import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// The device of a key, from the first assertion to the end.
@Suite struct AttestedKeyTests {
  private func twoPeople(_ site: TestApplication) throws -> (SignedIn, SignedIn) {
    (
      try site.signUp(),
      try site.signUp(email: "bob@example.org", device: "device-2")
    )
  }

  @Test func theFirstWriteBindsAKeyToItsDevice() throws {
    try withApplication(attestation: .ofTests()) { site in
      let (ann, bob) = try twoPeople(site)
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      #expect(site.keyState(phone) == "1\tann@example.org")
      let foreign = site.post(provenBy: phone, counter: 2, by: bob)
      #expect(foreign.isUnproved("key_of_another_device"))
      #expect(foreign.complaint == "X-iOS-App-Attest-Key: key_of_another_device")
      #expect(site.keyState(phone) == "1\tann@example.org")
      #expect(site.post(provenBy: phone, counter: 2, by: ann).status == 200)
      #expect(
        site.sql("SELECT account_id, detail FROM audit_log WHERE event = 'key_bound'")
          == "\(ann.accountID)\tkey \(phone.keyID)")
    }
  }

  @Test func aKeyIsOfItsPhoneWhateverAccountIsSignedIn() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org")
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      #expect(site.post(provenBy: phone, counter: 2, by: bob).status == 200)
      // Removes Ann's device; the phone is Bob's too.
      let path = AccountPath.devices + "/device-1"
      #expect(site.send("DELETE", path, token: ann.accessToken).status == 200)
      #expect(site.post(provenBy: phone, counter: 3, by: bob).status == 200)
      #expect(site.count("audit_log WHERE event = 'key_bound'") == 1)
      let other = try site.signIn("bob@example.org", device: "device-2")
      #expect(
        site.post(provenBy: phone, counter: 4, by: other).isUnproved("key_of_another_device"))
    }
  }

  @Test func whoAsksWithABearerIsToldWhetherTheKeyIsForThem() throws {
    try withApplication(attestation: .ofTests()) { site in
      let (ann, bob) = try twoPeople(site)
      let phone = try site.enrolledPhone()
      let ask = { (token: String?) in
        site.send(
          "POST", AttestationPath.verifyKey, jsonText(["key_id": phone.keyID]), token: token
        ).text
      }
      for token in [nil, ann.accessToken, bob.accessToken, "garbage"] {
        #expect(ask(token) == #"{"valid":true}"#)
      }
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      for token in [nil, ann.accessToken, "garbage"] { #expect(ask(token) == #"{"valid":true}"#) }
      #expect(ask(bob.accessToken) == #"{"valid":false}"#)
    }
  }

  @Test func aReadBindsAKey() throws {
    try withApplication(attestation: .ofTests()) { site in
      let (ann, bob) = try twoPeople(site)
      let phone = try site.enrolledPhone()
      let signed = site.signedRequest("GET")
      #expect(
        site.preferences(of: ann, fields: phone.proof(of: signed, counter: 3)).status == 200)
      #expect(site.keyState(phone) == "3\tann@example.org")
      #expect(
        site.post(provenBy: phone, counter: 4, by: bob).isUnproved("key_of_another_device"))
    }
  }

  @Test func anAssertionForAReadIsRefusedForAWrite() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      let signed = site.signedRequest("GET")
      #expect(
        site.post(provenBy: phone, counter: 1, by: ann, signed: signed)
          .isUnproved("challenge_mismatch"))
    }
  }

  @Test(arguments: ["challenge", "key", "signature", "mismatch", "app"])
  func aReadIsNeverRefusedForItsAssertion(wrong: String) throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      var fields = phone.proof(of: site.signedRequest("GET"), counter: 1)
      switch wrong {
      case "challenge": fields[0].value = "no base64"
      case "key": fields[1].value = AttestedPhone(appID: ourApp).keyID
      case "signature": fields[2].value = "AAAA"
      case "mismatch": fields = phone.proof(of: site.signedRequest("POST"), counter: 1)
      default:
        fields[2].value = AttestedPhone(appID: "\(ourTeam).other").assertion(
          of: Array(site.signedRequest("GET").utf8), counter: 1)
      }
      #expect(site.preferences(of: ann, fields: fields).status == 200)
      #expect(site.keyState(phone) == "0\tNULL")
    }
  }

  @Test func aReadIgnoresTheAssertionOfABoundKey() throws {
    try withApplication(attestation: .ofTests()) { site in
      let (ann, bob) = try twoPeople(site)
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      for who in [ann, bob] {
        let fields = phone.proof(of: site.signedRequest("GET"), counter: 9)
        #expect(site.preferences(of: who, fields: fields).status == 200)
      }
      #expect(site.keyState(phone) == "1\tann@example.org")
    }
  }

  @Test func oneOfManyDevicesBindsAKey() throws {
    try withApplication(attestation: .ofTests()) { site in
      let people = try (1...8).map {
        try site.signUp(email: "p\($0)@example.org", device: "device-\($0)")
      }
      let phone = try site.enrolledPhone()
      let signed = site.signedRequest()
      let answers = inParallel(8) { number in
        site.post(
          provenBy: phone, counter: UInt32(number) + 1, by: people[number], signed: signed)
      }
      #expect(answers.filter { $0.status == 200 }.count == 1)
      #expect(answers.filter { $0.isUnproved("key_of_another_device") }.count == 7)
    }
  }

  @Test func revokingADeviceRemovesItsKeys() throws {
    try withApplication(attestation: .ofTests()) { site in
      let (ann, bob) = try twoPeople(site)
      let (phone, other) = (try site.enrolledPhone(), try site.enrolledPhone())
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      #expect(site.post(provenBy: other, counter: 1, by: bob).status == 200)
      let path = AccountPath.devices + "/\(ann.deviceID)"
      #expect(site.send("DELETE", path, token: ann.accessToken).status == 200)
      #expect(
        site.post(provenBy: phone, counter: 2, by: bob).isUnproved("key_unknown"))
      let answer = site.send(
        "POST", AttestationPath.verifyKey, jsonText(["key_id": phone.keyID]))
      #expect(answer.text == #"{"valid":false}"#)
      #expect(site.post(provenBy: other, counter: 2, by: bob).status == 200)
    }
  }

  @Test func aKeySurvivesASignOut() throws {
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      let phone = try site.enrolledPhone()
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
      #expect(site.send("POST", AccountPath.logout, "{}", token: ann.accessToken).status == 200)
      #expect(site.keyState(phone) == "1\tann@example.org")
    }
  }

  @Test func aKeyThatWouldNotBeEnrolledTodayIsNotAccepted() throws {
    var phone = AttestedPhone(appID: ourApp)
    phone.isProduction = false
    let policies: [AttestationPolicy] = [
      .ofTests(environments: [.production]), .ofTests(bundleIDs: ["app.other"]),
      AttestationPolicy(
        mode: .enforce, apps: AttestedApps(teamID: "TEAM", environments: [.development])),
    ]
    try withApplication(attestation: .ofTests()) { site in
      let ann = try site.signUp()
      try site.enroll(phone)
      for policy in policies {
        let changed = TestApplication(site.root, settings: .ofTests(attestation: policy))
        let answer = changed.post(provenBy: phone, counter: 1, by: ann)
        #expect(answer.isUnproved("key_not_accepted"), "\(answer.text)")
        let valid = changed.send(
          "POST", AttestationPath.verifyKey, jsonText(["key_id": phone.keyID]))
        #expect(valid.text == #"{"valid":false}"#)
      }
      #expect(site.post(provenBy: phone, counter: 1, by: ann).status == 200)
    }
  }
}

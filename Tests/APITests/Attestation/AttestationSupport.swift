import Base
import Cryptography
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

enum AttestationPath {
  static let challenge = "/api/app-attestation/challenge"
  static let verify = "/api/app-attestation/verify"
  static let verifyKey = "/api/app-attestation/verify-key"
}

/// The apps whose keys ``FakeApple`` attests to.
let ourTeam = "TEAM123456"
let ourBundle = "app.hamrah.ios"
let ourApp = "\(ourTeam).\(ourBundle)"

extension AttestationPolicy {
  static func ofTests(
    _ mode: Mode = .enforce, acceptsStubs: Bool = false, bundleIDs: Set<String> = [],
    environments: Set<AppAttest.Environment> = [.production, .development]
  ) -> AttestationPolicy {
    let root = try! Certificate(pem: FakeApple.shared.rootCertificate)
    return AttestationPolicy(
      mode: mode, acceptsStubs: acceptsStubs,
      apps: AttestedApps(
        teamID: ourTeam, bundleIDs: bundleIDs, environments: environments, root: root))
  }
}

/// An issued challenge.
struct IssuedChallenge {
  let id: String
  let bytes: [UInt8]
}

extension TestApplication {
  func attestationChallenge(bundle: String = ourBundle) throws -> IssuedChallenge {
    let answer = send(
      "POST", AttestationPath.challenge, jsonText(["platform": "ios", "bundle_id": bundle]))
    try #require(answer.status == 200, "\(answer.text)")
    return IssuedChallenge(
      id: try #require(answer.string("challenge_id")),
      bytes: try #require(base64Decoded(answer.string("challenge") ?? "")))
  }

  func verify(
    _ object: String, keyID: String, _ challenge: IssuedChallenge, bundle: String = ourBundle,
    address: String = "192.0.2.1"
  ) -> Answer {
    let body: [String: Any] = [
      "attestation_object": object, "key_id": keyID, "challenge_id": challenge.id,
      "bundle_id": bundle,
    ]
    return send("POST", AttestationPath.verify, jsonText(body), address: address)
  }

  @discardableResult
  func enroll(_ phone: AttestedPhone) throws -> Answer {
    let challenge = try attestationChallenge()
    let answer = verify(
      phone.attestation(of: challenge.bytes), keyID: phone.keyID, challenge)
    try #require(answer.text == #"{"success":true}"#)
    return answer
  }

  /// A phone with an enrolled key.
  func enrolledPhone() throws -> AttestedPhone {
    let phone = AttestedPhone(appID: ourApp)
    try enroll(phone)
    return phone
  }

  /// The text that the app signs with a request.
  func signedRequest(
    _ method: String = "POST", _ path: String = "/api/v1/device-prefs", body: String = "",
    after delay: Duration = .zero
  ) -> String {
    let milliseconds = (now + delay).milliseconds
    let time = "\(milliseconds / 1000).\(String(1000 + milliseconds % 1000).dropFirst())"
    return "\(method):\(Self.publicURL)\(path)\(body):\(time)"
  }

  /// Sends a write with `phone`'s assertion of `signed`.
  func post(
    provenBy phone: AttestedPhone, counter: UInt32, by who: SignedIn, signed: String? = nil
  ) -> Answer {
    post("{}", by: who, fields: phone.proof(of: signed ?? signedRequest(), counter: counter))
  }

  /// The counter of the key, and the e-mail of its account.
  func keyState(_ phone: AttestedPhone) -> String {
    sql("SELECT counter, email FROM attested_keys WHERE key_id = '\(phone.keyID)'")
  }

  /// The event, outcome and reason of the newest row of the audit log with an outcome.
  var lastOutcome: String {
    sql(
      """
      SELECT event, attestation, attestation_reason FROM audit_log WHERE attestation IS NOT NULL
      ORDER BY id DESC LIMIT 1
      """)
  }
}

extension AttestedPhone {
  typealias Fields = [(name: String, value: String)]

  /// The header fields of a request for which the app signs `text`.
  func proof(of text: String, counter: UInt32) -> Fields {
    let clientData = Array(text.utf8)
    return [
      ("X-Request-Challenge", base64Encoded(clientData)), ("X-iOS-App-Attest-Key", keyID),
      ("X-iOS-App-Attest-Assertion", assertion(of: clientData, counter: counter)),
      ("X-iOS-App-Bundle-ID", ourBundle),
    ]
  }
}

extension Answer {
  /// Whether the answer refuses a write for `reason`.
  func isUnproved(_ reason: String) -> Bool {
    status == 403 && string("error", "code") == "forbidden"
      && string("error", "details", "reason") == reason
  }

  /// Whether the answer refuses an enrollment with `text`.
  func isRefusedEnrollment(_ status: Int, _ text: String) -> Bool {
    self.status == status && self.text == #"{"success":false,"error":"\#(text)"}"#
  }
}

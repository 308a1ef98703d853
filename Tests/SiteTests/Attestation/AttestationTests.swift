import Base
import Cryptography
import Foundation
import Support
import Testing

/// Attestation on the whole site.
@Suite(.serialized) struct AttestationTests {
  private static let bundle = "app.hamrah.ios"

  /// Calls `body` with a site that trusts ``FakeApple`` and refuses writes without an assertion.
  private func withEnforcingSite(_ body: (Site) async throws -> Void) async throws {
    let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FakeApple.shared.rootCertificate.write(to: root, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: root) }
    let environment = [
      "SWITCHBOARD_ENV": "development", "SWITCHBOARD_ATTESTATION": "enforce",
      "SWITCHBOARD_APPLE_TEAM_ID": "TEAM123456", "SWITCHBOARD_ATTESTATION_ROOT": root.path(),
    ]
    try await withSite(environment: environment) { try await body($0) }
  }

  /// A phone with an enrolled key, and the challenge of the enrollment.
  private func enroll(on site: Site) throws -> (AttestedPhone, challenge: String) {
    let issued = site.post(
      "/api/app-attestation/challenge", #"{"platform":"ios","bundle_id":"\#(Self.bundle)"}"#)
    let (challenge, id) = (try issued.string("challenge"), try issued.string("challengeId"))
    let phone = AttestedPhone(appID: "TEAM123456.\(Self.bundle)")
    let object = phone.attestation(of: try #require(base64Decoded(challenge)))
    let answer = site.post(
      "/api/app-attestation/verify",
      """
      {"attestation":"\(object)","keyId":"\(phone.keyID)","challengeId":"\(id)",
       "bundleId":"\(Self.bundle)","platform":"ios"}
      """)
    #expect(answer.status == 200)
    #expect(answer.body == #"{"success":true}"#)
    return (phone, challenge)
  }

  /// Statuses of `count` parallel requests with the same proof, each over its own connection.
  private func statuses(
    of count: Int = 1, _ method: String, provenBy phone: AttestedPhone, counter: UInt32,
    by person: Person, to site: Site
  ) -> [Int] {
    let url = "\(site.url)/api/v1/device-prefs"
    let clientData = Array("\(method):\(url):\(Date().timeIntervalSince1970)".utf8)
    let fields = [
      person.bearer, "X-Request-Challenge: \(base64Encoded(clientData))",
      "X-iOS-App-Attest-Key: \(phone.keyID)",
      "X-iOS-App-Attest-Assertion: \(phone.assertion(of: clientData, counter: counter))",
      "X-iOS-App-Bundle-ID: \(Self.bundle)",
    ]
    let printed = Site.run(
      ["curl", "--silent", "--noproxy", "*", "--write-out", "%{http_code}\n"]
        + ["--parallel", "--parallel-immediate", "--request", method]
        + (method == "POST" ? ["--data", "{}"] : []) + fields.flatMap { ["--header", $0] }
        + Array(repeating: ["--output", "/dev/null", url], count: count).joined()
    ).output
    return printed.split(separator: "\n").compactMap { Int($0) }
  }

  @Test func oneOfManyWritesWithTheSameAssertionWins() async throws {
    try await withEnforcingSite { site in
      let person = try site.signUp()
      let (phone, challenge) = try enroll(on: site)
      for round in 1...rounds(default: 3) {
        let statuses = statuses(
          of: 8, "POST", provenBy: phone, counter: UInt32(round), by: person, to: site)
        #expect(statuses.sorted() == [200] + Array(repeating: 403, count: 7))
        let read = site.curl("/api/v1/device-prefs", "--header", person.bearer)
        #expect(read.body.contains(#""version":\#(round)}"#), "\(read.body)")
        _ = try site.sql("UPDATE rate_limits SET hits = 0")
      }

      let dump = site.dump()
      #expect(dump.contains("INSERT INTO `attestation_challenges`"))
      let bytes = try #require(base64Decoded(challenge))
      for text in [challenge, hexEncoded(bytes), hexEncoded(bytes).uppercased()] {
        #expect(!dump.contains(text))
        for log in Site.logs { #expect(try !site.log(log).contains(text)) }
      }
    }
  }

  @Test func aWriteNeedsTheKeyOfItsOwnDevice() async throws {
    try await withEnforcingSite { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "phone-2")
      let (phone, _) = try enroll(on: site)
      let unproved = site.post("/api/v1/device-prefs", "{}", ann.bearer)
      #expect(unproved.status == 403)
      #expect(unproved.body.contains(#""reason":"assertion_missing""#))
      #expect(statuses("GET", provenBy: phone, counter: 1, by: ann, to: site) == [200])
      #expect(statuses("POST", provenBy: phone, counter: 2, by: bob, to: site) == [403])
      #expect(statuses("POST", provenBy: phone, counter: 3, by: ann, to: site) == [200])
      #expect(
        try site.sql("SELECT email, app_id, environment, counter FROM attested_keys").trimmed
          == "\(ann.email)\tTEAM123456.\(Self.bundle)\tproduction\t3")
      #expect(
        try site.sql(
          """
          SELECT event, attestation, attestation_reason FROM audit_trail
          WHERE attestation IS NOT NULL ORDER BY at
          """
        ).trimmed.split(separator: "\n") == [
          "key_attested\tverified\tNULL", "write_refused\trefused\tassertion_missing",
          "write_refused\trefused\tkey_of_another_device", "preferences_written\tverified\tNULL",
        ])
    }
  }
}

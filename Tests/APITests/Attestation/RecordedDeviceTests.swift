import Cryptography
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

/// Recordings of real phones, replayed with the recorded time and Apple's root certificate.
@Suite struct RecordedDeviceTests {
  private struct Recording: Decodable {
    struct Attestation: Decodable {
      let attestationObject: String
      let keyId: String
      let clientData: String?
      let clientDataHash: String?
      let verifyAt: String
    }
    struct Assertion: Decodable {
      let assertionObject: String
      let clientData: String
      let expectedCounter: Int
    }
    let teamId: String
    let bundleId: String
    let environment: String
    let attestation: Attestation
    let assertions: [Assertion]?
  }

  private static func recording(_ name: String) throws -> Recording {
    try JSONDecoder().decode(
      Recording.self, from: Data(try fixture("appattest/\(name).json").utf8))
  }

  /// Calls `body` with the recorded challenge and a responder that requires attestation, at the
  /// time of the recording.
  private func with(
    _ recording: Recording, _ body: (TestApplication, IssuedChallenge) throws -> Void
  ) throws {
    let environment = try #require(AppAttest.Environment(rawValue: recording.environment))
    let policy = AttestationPolicy(
      mode: .enforce,
      apps: AttestedApps(teamID: recording.teamId, environments: [environment]))
    let signed = recording.attestation.clientData ?? recording.attestation.clientDataHash
    let challenge = try #require(base64Decoded(signed ?? ""))
    // Before a sign-in, only the challenge uses 32 random bytes.
    let random: @Sendable (Int) -> [UInt8] = { $0 == 32 ? challenge : randomBytes($0) }
    try withApplication(attestation: policy, random: random) { site in
      let text = recording.attestation.verifyAt
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
      let then = try style.parse(text).timeIntervalSince1970
      site.advance(by: .seconds(Int64(then) - site.now.seconds))
      try body(site, try site.attestationChallenge(bundle: recording.bundleId))
    }
  }

  @Test(arguments: [
    "uebelack-2024-production", "webauthn4j-ios-14.0-2020", "veehaitch-ios-14.2",
    "veehaitch-ios-14.3", "veehaitch-ios-14.4", "bas-d-2021-development",
    "srinivas1729-2024-development",
  ])
  func aRecordedPhoneEnrollsAndProvesItself(name: String) throws {
    let recording = try Self.recording(name)
    try with(recording) { site, challenge in
      let attestation = recording.attestation
      let enrolled = site.verify(
        attestation.attestationObject, keyID: attestation.keyId, challenge,
        bundle: recording.bundleId)
      #expect(enrolled.text == #"{"success":true}"#)
      let ann = try site.signUp()
      for assertion in recording.assertions ?? [] {
        let fields = [
          (name: "X-Request-Challenge", value: assertion.clientData),
          ("X-iOS-App-Attest-Key", attestation.keyId),
          ("X-iOS-App-Attest-Assertion", assertion.assertionObject),
        ]
        #expect(site.post("{}", by: ann, fields: fields).status == 200)
        #expect(
          site.sql("SELECT app_id, environment, counter, email FROM attested_keys")
            == "\(recording.teamId).\(recording.bundleId)\t\(recording.environment)\t\(assertion.expectedCounter)\tann@example.org"
        )
        #expect(
          site.post("{}", by: ann, fields: fields).isUnproved("assertion_out_of_order"))
      }
    }
  }

  /// In Apple's own sample the app signed the challenge itself instead of its digest.
  @Test func anAttestationOverTheUnhashedChallengeIsRefused() throws {
    let recording = try Self.recording("apple-guide-2026-production")
    try with(recording) { site, challenge in
      let answer = site.verify(
        recording.attestation.attestationObject, keyID: recording.attestation.keyId, challenge,
        bundle: recording.bundleId)
      #expect(answer.isRefusedEnrollment(403, "Invalid attestation"))
      #expect(site.lastOutcome == "attestation_refused\trefused\tnonce")
    }
  }

  @Test func anAttestationWithAnExpiredCertificateIsRefused() throws {
    let recording = try Self.recording("uebelack-2024-production")
    try with(recording) { site, _ in
      site.advance(by: .seconds(365 * 86_400))
      let challenge = try site.attestationChallenge(bundle: recording.bundleId)
      let answer = site.verify(
        recording.attestation.attestationObject, keyID: recording.attestation.keyId, challenge,
        bundle: recording.bundleId)
      #expect(answer.isRefusedEnrollment(403, "Invalid attestation"))
      #expect(site.lastOutcome == "attestation_refused\trefused\tvalidity")
    }
  }
}

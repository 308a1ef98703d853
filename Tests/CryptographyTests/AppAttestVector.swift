import Cryptography
import Foundation
import Testing

/// A file of `Tests/Fixtures/appattest`.
struct AppAttestVector: Decodable, CustomTestStringConvertible {
  struct Attestation: Decodable {
    let attestationObject: Base64Bytes
    let keyId: Base64Bytes
    let clientData: Base64Bytes?
    let clientDataHash: Base64Bytes?
    let clientDataHashForm: String
    let verifyAt: String
  }

  struct Assertion: Decodable {
    let assertionObject: Base64Bytes
    let clientData: Base64Bytes
    let previousCounter: UInt32
    let expectedCounter: UInt32
    let challengeOk: Bool?
  }

  struct Extensions: Decodable {
    let bundleVersion: String
    let category: UInt32

    enum CodingKeys: String, CodingKey {
      case bundleVersion = "apple_bundle_version_01"
      case category = "apple_validation_category_01"
    }
  }

  let id: String
  let expect: String
  let reason: String?
  let teamId: String
  let bundleId: String
  let environment: String
  let trustAnchor: String?
  let publicKeyPem: String?
  let attestation: Attestation?
  let assertions: [Assertion]?
  let expectedExtensions: Extensions?

  static let all = try! vectors(in: "appattest", "appattest/negative", as: Self.self)

  static func named(_ id: String) throws -> Self {
    try #require(all.first { $0.id == id })
  }

  var testDescription: String { id }
  var isAccepted: Bool { expect == "accept" }
  var appID: String { "\(teamId).\(bundleId)" }

  func verifier(refusing categories: Set<UInt32> = []) throws -> AppAttest {
    AppAttest(
      appIDs: ["TEAM.other", appID],
      environments: [try #require(AppAttest.Environment(rawValue: environment))],
      refusedCategories: categories,
      root: try trustAnchor.map { try Certificate(pem: $0) } ?? .appleAppAttestationRoot)
  }

  /// Verifies the vector's attestation, or `object` instead.
  func attest(
    _ object: [UInt8]? = nil, refusing categories: Set<UInt32> = [], at clock: String? = nil
  ) throws -> Result<AppAttest.Attestation, AppAttestError> {
    let attestation = try #require(attestation)
    let digest =
      switch attestation.clientDataHashForm {
      case "raw": try #require(attestation.clientDataHash).bytes
      default: sha256(try #require(attestation.clientData).bytes)
      }
    let verifier = try verifier(refusing: categories)
    let milliseconds = try milliseconds(clock ?? attestation.verifyAt)
    return Result { () throws(AppAttestError) in
      try verifier.verifyAttestation(
        object ?? attestation.attestationObject.bytes, keyID: attestation.keyId.bytes,
        challengeDigest: digest, at: milliseconds)
    }
  }

  /// Verifies one of the vector's assertions, or `object` instead.
  func assert(
    _ assertion: Assertion, _ object: [UInt8]? = nil, refusing categories: Set<UInt32> = []
  ) throws -> Result<AppAttest.Assertion, AppAttestError> {
    let publicKey =
      try publicKeyPem.map { try P256PublicKey(pem: $0).uncompressedPoint }
      ?? attest().get().publicKey
    let key = AppAttest.Key(
      publicKey: publicKey, appID: appID, counter: assertion.previousCounter)
    let verifier = try verifier(refusing: categories)
    return Result { () throws(AppAttestError) in
      try verifier.verifyAssertion(
        object ?? assertion.assertionObject.bytes, of: assertion.clientData.bytes, by: key
      ) { $0 == assertion.clientData.bytes && assertion.challengeOk ?? true }
    }
  }

  private func milliseconds(_ text: String) throws -> Int64 {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
    return Int64(try style.parse(text).timeIntervalSince1970 * 1000)
  }
}

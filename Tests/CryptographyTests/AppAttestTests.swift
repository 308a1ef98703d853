import Cryptography
import Testing

@Suite struct AppAttestTests {
  static let attestations = AppAttestVector.all.filter { $0.attestation != nil }
  static let assertions = AppAttestVector.all.filter { $0.assertions != nil }

  /// The failing step for each reason in vectors.
  static let steps: [String: AppAttestError] = [
    "authdata-short": .authenticatorData, "aaguid": .environment, "authority": .authority,
    "cbor": .malformed, "cbor-trailing": .malformed, "chain": .untrusted, "challenge": .challenge,
    "cose": .publicKey, "counter": .counter, "credid": .credentialID,
    "credid-length": .credentialID, "curve": .curve, "ext-not-map": .extensions, "fmt": .format,
    "keyid": .keyID, "nonce": .nonce,
    "nonce-der": .nonceForm, "nonce-missing": .nonceMissing, "receipt": .receipt, "rpid": .app,
    "signature": .signature, "validity": .validity, "x5c-count": .certificateCount,
  ]
  /// The failing step for vectors without a reason.
  static let openSteps: [String: AppAttestError] = [
    "r19-leaf-of-other-key": .nonce, "r25-impostor-leaf": .nonceMissing,
    "r27-webauthn-apple-chain": .nonce, "s47-indefinite-length-map": .malformed,
    "s48-deep-nesting": .malformed,
  ]

  @Test func allVectorsAreRead() {
    #expect(AppAttestVector.all.count == 65)
    #expect(Self.attestations.filter(\.isAccepted).count == 13)
  }

  @Test(arguments: attestations)
  func attestationsPassOrFailAtTheExpectedStep(_ vector: AppAttestVector) throws {
    // If only an assertion is wrong, the attestation is valid.
    let isRefused = !vector.isAccepted && vector.assertions == nil
    switch try vector.attest() {
    case .success(let attestation):
      #expect(!isRefused)
      #expect(attestation.keyID == vector.attestation?.keyId.bytes)
      #expect(sha256(attestation.publicKey) == attestation.keyID)
      #expect(attestation.appID == vector.appID)
      #expect(attestation.environment.rawValue == vector.environment)
      #expect(!attestation.receipt.isEmpty)
    case .failure(let error):
      #expect(isRefused)
      #expect(error == vector.reason.flatMap { Self.steps[$0] } ?? Self.openSteps[vector.id])
    }
  }

  @Test(arguments: assertions)
  func assertionsPassOrFailAtTheExpectedStep(_ vector: AppAttestVector) throws {
    for assertion in try #require(vector.assertions) {
      switch try vector.assert(assertion) {
      case .success(let use):
        #expect(vector.isAccepted)
        #expect(use.counter == assertion.expectedCounter)
      case .failure(let error):
        #expect(!vector.isAccepted)
        let step =
          vector.reason == "counter" ? .outOfOrder : vector.reason.flatMap { Self.steps[$0] }
        #expect(error == step)
      }
    }
  }

  @Test func applesExtensionsAreReadInBothForms() throws {
    let sample = try AppAttestVector.named("apple-guide-2026-production")
    let extensions = try sample.attest().get().extensions
    #expect(extensions.bundleVersion == sample.expectedExtensions?.bundleVersion)
    #expect(extensions.category == sample.expectedExtensions?.category)
    let integer = try AppAttestVector.named("s04-valid-category-as-integer").attest().get()
    #expect(integer.extensions.category == 2)
    #expect(integer.extensions.bundleVersion == nil)
  }

  @Test(arguments: [
    ("apple-guide-2026-production", 1), ("s02-valid-extensions-ed-set", 4),
    ("s04-valid-category-as-integer", 2),
  ])
  func refusedCategoriesMatterOnlyIfSent(_ id: String, _ category: UInt32) throws {
    let vector = try AppAttestVector.named(id)
    #expect(try vector.attest(refusing: [category]) == .failure(.category))
    _ = try vector.attest(refusing: [category + 1]).get()
    _ = try AppAttestVector.named("s00-minimal-valid").attest(refusing: Set(0...10)).get()
  }

  @Test func assertionsOfARefusedCategoryAreRefused() throws {
    let vector = try AppAttestVector.named("t10-assertion-with-category")
    let assertion = try #require(vector.assertions?.first)
    let category = try #require(try vector.assert(assertion).get().extensions.category)
    #expect(try vector.assert(assertion, refusing: [category]) == .failure(.category))
  }

  /// The leaf is valid from 2026-01-01 to 2026-01-04, the other certificates from 2016 to 2036.
  @Test(arguments: [
    ("2015-12-31T00:00:00Z", false), ("2025-12-31T23:59:59Z", false),
    ("2026-01-01T00:00:01Z", true),
    ("2026-01-03T23:59:59Z", true), ("2026-01-04T00:00:01Z", false),
    ("2036-01-02T00:00:00Z", false),
    ("2100-01-01T00:00:00Z", false), ("1969-12-31T00:00:00Z", false),
  ])
  func validityIsCheckedAtTheGivenTime(_ clock: String, _ isValid: Bool) throws {
    let result = try AppAttestVector.named("t00-minimal-valid").attest(at: clock)
    if isValid {
      _ = try result.get()
    } else {
      #expect(result == .failure(.validity))
    }
  }

  @Test func malformedCertificatesAreRefused() throws {
    let vector = try AppAttestVector.named("t00-minimal-valid")
    let object = try #require(vector.attestation?.attestationObject.bytes)
    // 30 82 …: the leaf's SEQUENCE becomes a SET.
    let start = try #require(object.indices.first { object[$0...].starts(with: [0x30, 0x82]) })
    var changed = object
    changed[start] = 0x31
    #expect(try vector.attest(changed) == .failure(.certificate))
  }

  @Test func assertionsAreValidForTheAppOfTheKeyOnly() throws {
    let vector = try AppAttestVector.named("s61-assertion-valid-extensions")
    let assertion = try #require(vector.assertions?.first)
    let publicKey = try P256PublicKey(pem: try #require(vector.publicKeyPem)).uncompressedPoint
    let verifier = try vector.verifier()
    func verify(_ key: [UInt8], _ appID: String) throws -> AppAttest.Assertion {
      try verifier.verifyAssertion(
        assertion.assertionObject.bytes, of: assertion.clientData.bytes,
        by: AppAttest.Key(publicKey: key, appID: appID, counter: 0), where: { _ in true })
    }
    _ = try verify(publicKey, vector.appID)
    #expect(throws: AppAttestError.app) { try verify(publicKey, "TEAM.other") }
    #expect(throws: AppAttestError.publicKey) { try verify(publicKey + [0], vector.appID) }
  }

  @Test func theCounterMustRise() throws {
    let vector = try AppAttestVector.named("s61-assertion-valid-extensions")
    let assertion = try #require(vector.assertions?.first)
    let publicKey = try P256PublicKey(pem: try #require(vector.publicKeyPem)).uncompressedPoint
    for (counter, isAccepted) in [(0, true), (1, false), (2, false), (UInt32.max, false)] {
      let key = AppAttest.Key(publicKey: publicKey, appID: vector.appID, counter: counter)
      let use = try? vector.verifier().verifyAssertion(
        assertion.assertionObject.bytes, of: assertion.clientData.bytes, by: key,
        where: { _ in true })
      #expect((use != nil) == isAccepted)
    }
  }
}

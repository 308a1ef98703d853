import Cryptography
import Support
import Testing

/// The examples of Web Authentication Level 3, §16: each a registration and a sign-in.
///
/// Attestation statements are ignored, so `packed`, `tpm`, `android-key`, `apple`, `fido-u2f` and `none` register
/// alike: we ask for no attestation, and any maker's authenticator is welcome.
@Suite struct WebAuthnExampleTests {
  /// Our rules that refuse examples.
  private enum Policy: String {
    /// The options offer ES256, EdDSA with Ed25519, and RS256.
    case algorithmNotOffered
    /// No page of another origin may frame ours.
    case framedByAnotherSite
    /// A passkey verifies its user.
    case noUserVerification
  }

  private func policy(
    _ vector: WebAuthnVector, _ flags: UInt8, _ clientData: [UInt8]
  ) -> Policy? {
    if vector.algorithm == nil { return .algorithmNotOffered }
    let isFramed = String(decoding: clientData, as: UTF8.self).contains(#""crossOrigin":true"#)
    if isFramed { return .framedByAnotherSite }
    return flags & 0x04 == 0 ? .noUserVerification : nil
  }

  /// The ceremonies at a party with our rules.
  @Test func ceremoniesPassOrAreRefusedByARule() throws {
    let party = RelyingParty(id: "example.org", origins: ["https://example.org"])
    var tally = ForeignTally()
    for vector in WebAuthnVector.examples {
      let registration = try #require(vector.registration)
      let id = try #require(vector.credentialId).bytes
      let object = registration.attestationObject.bytes
      let hash = try #require(object.firstRange(of: sha256("example.org")))
      tally.add(
        "\(vector.id) registration", (try? vector.register(at: party)) != nil, isValid: true,
        policy: policy(vector, object[hash.upperBound], registration.clientDataJSON.bytes)?.rawValue
      )
      let assertion = try vector.assertion()
      // The passkey as a party without these rules has stored it, except for an algorithm that no party of ours reads.
      let passkey = try? vector.passkey()
      #expect(passkey == nil || passkey?.credentialID == id)
      let result = try vector.authenticate(at: party, by: passkey)
      tally.add(
        "\(vector.id) sign-in", (try? result.get()) != nil, isValid: true,
        policy: policy(vector, assertion.authenticatorData[32], assertion.clientDataJSON)?.rawValue)
    }
    #expect(try tally.total == foreignCounts()["webauthn"])
    #expect(tally.unexplained == [])
    #expect(
      tally.counts == [
        "accepted": 8, "algorithmNotOffered": 6, "framedByAnotherSite": 4, "noUserVerification": 12,
      ])
  }

  @Test(arguments: WebAuthnVector.examples.filter { $0.algorithm == nil })
  func algorithmsThatAreNotOfferedAreInvalidKeys(_ vector: WebAuthnVector) {
    #expect(throws: WebAuthnError.publicKey) { try vector.register() }
  }
}

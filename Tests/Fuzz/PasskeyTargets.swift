import Base

@testable import Cryptography

extension FuzzTarget {
  static let ofPasskeys = [
    FuzzTarget("client-data", atMost: 1024, testClientData),
    FuzzTarget("registration", atMost: 2048, testRegistration),
    FuzzTarget("attestation", atMost: 8192, testAttestation),
    FuzzTarget("assertion", atMost: 1024, testAssertion),
  ]

  private static let challenge = [UInt8](repeating: 7, count: 32)

  /// Another reader of JSON gives the same members.
  private static func testClientData(_ input: [UInt8]) {
    guard let data = try? ClientData(input) else { return }
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let json = input.starts(with: mark) ? Array(input.dropFirst(mark.count)) : input
    guard let value = try? JSONValue(json), case .object(let members) = value else {
      fatalError("not an object")
    }
    let texts = members.filter { $0.name == "challenge" }.compactMap { member in
      if case .string(let text) = member.value { text } else { nil as String? }
    }
    require(texts == [data.challenge], "another challenge")
    if let bytes = Cryptography.challenge(inClientData: input) {
      require(base64URLEncoded(bytes) == data.challenge, "the challenge has two texts")
    }
  }

  private static let party = RelyingParty(
    id: "example.org", origins: ["https://example.org"], requiresUserVerification: false)

  private static let createdData = clientData("webauthn.create")
  private static let gottenData = clientData("webauthn.get")

  private static func clientData(_ type: String) -> [UInt8] {
    JSONWriter.object {
      $0.member("type", type)
      $0.member("challenge", base64URLEncoded(challenge))
      $0.member("origin", "https://example.org")
    }
  }

  /// An attestation object of WebAuthn for ``party``.
  private static func testRegistration(_ input: [UInt8]) {
    guard
      let passkey = try? party.verifyRegistration(
        clientDataJSON: createdData, attestationObject: input, challengeDigest: sha256(challenge))
    else { return }
    require((1...1023).contains(passkey.credentialID.count), "an id without limit")
    require(
      (try? COSEKey(CBOR(decoding: passkey.publicKey[...]))) != nil, "the key cannot be used")
  }

  /// An attestation object of App Attest.
  private static func testAttestation(_ input: [UInt8]) {
    let verifier = AppAttest(appIDs: ["TEAM.app"], environments: [.production, .development])
    let result = try? verifier.verifyAttestation(
      input, keyID: challenge, challengeDigest: sha256(challenge), at: 1_700_000_000_000)
    require(result == nil, "a forged attestation")
  }

  /// Authenticator data of a sign-in, or an assertion of App Attest, as the first byte says. No
  /// signature is right.
  private static func testAssertion(_ input: [UInt8]) {
    let bytes = Array(input.dropFirst())
    guard input.first == 0 else {
      let key = AppAttest.Key(publicKey: [], appID: "TEAM.app", counter: 0)
      let verifier = AppAttest(appIDs: ["TEAM.app"], environments: [.production])
      let result = try? verifier.verifyAssertion(bytes, of: challenge, by: key) { _ in true }
      return require(result == nil, "a forged assertion")
    }
    let assertion = PasskeyAssertion(
      credentialID: [1], clientDataJSON: gottenData, authenticatorData: bytes, signature: bytes)
    let result = try? party.verifyAuthentication(
      assertion, by: nil, of: [1], offered: [], challengeDigest: sha256(challenge))
    require(result == nil, "a forged sign-in")
  }
}

import Cryptography
import Testing

/// Registrations of passkeys (WebAuthn §7.1).
@Suite struct WebAuthnRegistrationTests {
  static let registrations = WebAuthnVector.all.filter { $0.registration != nil }

  let vector: WebAuthnVector

  init() throws { vector = try WebAuthnVector.named("w3c-none-es256") }

  @Test(arguments: registrations)
  func registrationsGiveTheirPasskey(_ vector: WebAuthnVector) throws {
    let party = vector.party
    let open = RelyingParty(
      id: party.id, origins: party.origins, topOrigins: ["https://example.com"],
      requiresUserVerification: false)
    let passkey = try vector.register(at: open)
    #expect(passkey.credentialID == vector.credentialId?.bytes)
    #expect(passkey.signCount == 0)
  }

  /// The start of the authenticator data, which are the last part of the vector's attestation
  /// object.
  static let start = 30

  @Test(
    arguments: [
      (start, 0x80, .relyingParty), (start + 32, 0x01, .userPresence), (start + 32, 0x08, .backup),
      (start + 32, 0x40, .authenticatorData), (start + 32, 0x80, .authenticatorData),
      (start + 53, 0x80, .authenticatorData), (start + 54, 0x01, .publicKey), (0, 0x20, .malformed),
      (1, 0x80, .malformed), (start + 87, 0x01, .publicKey), (start + 91, 0x01, .publicKey),
      (start + 163, 0x01, .publicKey),
    ] as [(Int, UInt8, WebAuthnError)])
  func inconsistentRegistrationsAreRefused(
    _ index: Int, _ bit: UInt8, _ expected: WebAuthnError
  ) throws {
    #expect(throws: expected) { try vector.register { $0[index] ^= bit } }
  }

  @Test(
    arguments: [(0, .credentialID), (1, nil), (1023, nil), (1024, .credentialID)]
      as [(Int, WebAuthnError?)])
  func credentialIDsHave1To1023Bytes(_ size: Int, _ expected: WebAuthnError?) throws {
    func register() throws -> Passkey {
      try vector.register { object in
        let data = Array(object[Self.start...])
        let id = [UInt8(size >> 8), UInt8(size & 0xFF)] + [UInt8](repeating: 1, count: size)
        let longer = Array(data[..<53]) + id + data[87...]
        object = Array(object[..<(Self.start - 2)])
        object +=
          longer.count < 256
          ? [0x58, UInt8(longer.count)]
          : [0x59, UInt8(longer.count >> 8), UInt8(longer.count & 0xFF)]
        object += longer
      }
    }
    if let expected {
      #expect(throws: expected) { try register() }
    } else {
      #expect(try register().credentialID.count == size)
    }
  }

  @Test func onlyOfferedAlgorithmsAreRegistered() throws {
    for (id, algorithm) in [
      ("w3c-packed-es256", COSEKey.Algorithm.es256), ("w3c-packed-eddsa", .edDSA),
      ("w3c-packed-rs256", .rs256),
    ] {
      let vector = try WebAuthnVector.named(id)
      for offered in [COSEKey.Algorithm.es256, .edDSA, .rs256] {
        let party = RelyingParty(
          id: vector.rpId, origins: vector.origin.list, algorithms: [offered],
          requiresUserVerification: false)
        #expect(((try? vector.register(at: party)) != nil) == (offered == algorithm))
      }
    }
  }

  @Test func signInsAndRegistrationsAreNotInterchangeable() throws {
    let registration = try #require(vector.registration)
    let assertion = try vector.assertion()
    #expect(throws: WebAuthnError.type) {
      try vector.party.verifyRegistration(
        clientDataJSON: assertion.clientDataJSON,
        attestationObject: registration.attestationObject.bytes,
        challengeDigest: vector.challengeDigest())
    }
    #expect(throws: WebAuthnError.challenge) {
      try vector.party.verifyRegistration(
        clientDataJSON: registration.clientDataJSON.bytes,
        attestationObject: registration.attestationObject.bytes,
        challengeDigest: vector.challengeDigest())
    }
  }
}

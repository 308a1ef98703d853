import Cryptography
import Testing

/// A file of `Tests/Fixtures/webauthn` or `Tests/Fixtures/foreign/webauthn`.
struct WebAuthnVector: Decodable, CustomTestStringConvertible {
  struct Registration: Decodable {
    let challenge: Base64Bytes
    let clientDataJSON: Base64Bytes
    let attestationObject: Base64Bytes
  }

  struct Authentication: Decodable {
    let challenge: Base64Bytes
    let clientDataJSON: Base64Bytes
    let authenticatorData: Base64Bytes
    let signature: Base64Bytes
  }

  /// A credential in a browser's JSON.
  struct Credential: Decodable {
    struct Response: Decodable {
      let clientDataJSON: Base64Bytes
      let authenticatorData: Base64Bytes
      let signature: Base64Bytes
      let userHandle: Base64Bytes?
    }
    let rawId: Base64Bytes
    let response: Response
  }

  struct Origins: Decodable {
    let list: [String]

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let one = try? container.decode(String.self) {  // otherwise a list
        list = [one]
      } else {
        list = try container.decode([String].self)
      }
    }
  }

  let id: String
  let expect: String
  let reason: String?
  let rpId: String
  let origin: Origins
  let topOrigin: String?
  let registration: Registration?
  let authentication: Authentication?
  let credentialId: Base64Bytes?
  let credential: Credential?
  let challenge: Base64Bytes?
  let credentialPublicKeyCose: Base64Bytes?
  let storedSignCount: UInt32?
  let requireUserVerification: Bool?
  let allowCrossOrigin: Bool?

  /// The examples of the standard (WebAuthn Level 3 §16).
  static let examples = try! vectors(in: "foreign/webauthn", as: Self.self)
  /// All vectors but the examples of algorithms that we do not offer.
  static let all =
    try! vectors(in: "webauthn", "webauthn/negative", as: Self.self)
    + examples.filter { $0.algorithm != nil }
  static let owner = Array("owner".utf8)

  static func named(_ id: String) throws -> Self {
    try #require(all.first { $0.id == id })
  }

  var testDescription: String { id }

  /// Our name of an example's algorithm; nil if we do not offer it.
  var algorithm: COSEKey.Algorithm? {
    if id.hasSuffix("eddsa") { return .edDSA }
    if id.hasSuffix("rs256") { return .rs256 }
    return ["es384", "es512", "ed448"].contains { id.hasSuffix($0) } ? nil : .es256
  }
  var isAccepted: Bool { expect == "accept" }

  var party: RelyingParty {
    RelyingParty(
      id: rpId, origins: origin.list,
      topOrigins: allowCrossOrigin ?? true ? topOrigin.map { [$0] } ?? [] : [],
      requiresUserVerification: requireUserVerification ?? false)
  }

  func register(
    at party: RelyingParty? = nil, _ change: (inout [UInt8]) -> Void = { _ in }
  ) throws(any Error) -> Passkey {
    let registration = try #require(registration)
    var object = registration.attestationObject.bytes
    change(&object)
    return try (party ?? self.party).verifyRegistration(
      clientDataJSON: registration.clientDataJSON.bytes, attestationObject: object,
      challengeDigest: sha256(registration.challenge.bytes))
  }

  /// The stored passkey before the vector's sign-in.
  func passkey() throws -> Passkey {
    if let credential {
      let key = try #require(credentialPublicKeyCose)
      return Passkey(
        credentialID: credential.rawId.bytes, publicKey: key.bytes,
        signCount: try #require(storedSignCount), isBackupEligible: false, isBackedUp: false)
    }
    // The registration may have required less than the sign-in.
    let passkey = try register(
      at: RelyingParty(
        id: rpId, origins: origin.list, topOrigins: party.topOrigins,
        requiresUserVerification: false))
    return Passkey(
      credentialID: passkey.credentialID, publicKey: passkey.publicKey,
      signCount: storedSignCount ?? passkey.signCount,
      isBackupEligible: passkey.isBackupEligible, isBackedUp: passkey.isBackedUp)
  }

  func assertion() throws -> PasskeyAssertion {
    if let response = credential?.response {
      return PasskeyAssertion(
        credentialID: try #require(credential).rawId.bytes,
        clientDataJSON: response.clientDataJSON.bytes,
        authenticatorData: response.authenticatorData.bytes, signature: response.signature.bytes,
        userHandle: response.userHandle?.bytes)
    }
    let authentication = try #require(authentication)
    return PasskeyAssertion(
      credentialID: try #require(credentialId).bytes,
      clientDataJSON: authentication.clientDataJSON.bytes,
      authenticatorData: authentication.authenticatorData.bytes,
      signature: authentication.signature.bytes)
  }

  func challengeDigest() throws -> [UInt8] {
    sha256(try #require(challenge ?? authentication?.challenge).bytes)
  }

  /// Verifies the vector's sign-in after `change`.
  func authenticate(
    at party: RelyingParty? = nil, by passkey: Passkey?, offered: [[UInt8]]? = nil,
    owner: [UInt8]? = nil, _ change: (inout PasskeyAssertion) -> Void = { _ in }
  ) throws -> Result<PasskeyUse, WebAuthnError> {
    var assertion = try assertion()
    let owner = owner ?? assertion.userHandle ?? Self.owner
    let digest = try challengeDigest()
    let offered = offered ?? [assertion.credentialID]
    change(&assertion)
    return Result { () throws(WebAuthnError) in
      try (party ?? self.party).verifyAuthentication(
        assertion, by: passkey, of: owner, offered: offered, challengeDigest: digest)
    }
  }
}

import Cryptography
import Testing

@Suite struct WebAuthnTests {
  /// Where each reason that a vector names makes a sign-in fail.
  static let steps: [String: WebAuthnError] = [
    "be-changed": .backup, "challenge": .challenge, "crossOrigin": .crossOrigin, "origin": .origin,
    "rpid": .relyingParty, "short": .authenticatorData, "signature": .signature,
    "signcount": .signCount, "type": .type, "uv": .userVerification,
  ]
  static let registrations = WebAuthnVector.all.filter { $0.registration != nil }

  let vector: WebAuthnVector
  let passkey: Passkey

  init() throws {
    vector = try WebAuthnVector.named("w3c-none-es256")
    passkey = try vector.passkey()
  }

  @Test func everyVectorIsThere() {
    #expect(WebAuthnVector.all.count == 25)
  }

  @Test(arguments: WebAuthnVector.all)
  func aSignInIsAcceptedOrRefusedAtItsStep(_ vector: WebAuthnVector) throws {
    switch try vector.authenticate(by: vector.passkey()) {
    case .success: #expect(vector.isAccepted)
    case .failure(let error):
      #expect(!vector.isAccepted)
      #expect(error == vector.reason.map { Self.steps[$0] } ?? .userVerification)
    }
  }

  @Test(arguments: registrations)
  func aRegistrationGivesItsPasskey(_ vector: WebAuthnVector) throws {
    let party = vector.party
    let open = RelyingParty(
      id: party.id, origins: party.origins, topOrigins: ["https://example.com"],
      requiresUserVerification: false)
    let passkey = try vector.register(at: open)
    #expect(passkey.credentialID == vector.credentialId?.bytes)
    #expect(passkey.signCount == 0)
  }

  // MARK: client data

  static let challenge = base64URLEncoded(Array(repeating: 7, count: 32))

  /// Client data that are good but for what a test puts into `members`.
  static func clientData(_ members: String) -> String {
    #"{"type":"webauthn.get","challenge":"\#(challenge)","origin":"https://example.org"\#(members)}"#
  }

  /// What a sign-in with this text as client data meets; nobody signed it.
  func refusal(_ text: String, framedBy topOrigins: [String] = []) throws -> WebAuthnError? {
    let party = RelyingParty(
      id: "example.org", origins: ["https://example.org"], topOrigins: topOrigins,
      requiresUserVerification: false)
    var assertion = try vector.assertion()
    assertion.clientDataJSON = Array(text.utf8)
    do {
      _ = try party.verifyAuthentication(
        assertion, by: passkey, of: WebAuthnVector.owner, offered: [],
        challengeDigest: sha256(Array(repeating: 7, count: 32)))
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    "", #","crossOrigin":false"#, #","type2":"x","tokenBinding":{"status":"supported"}"#,
    ",\"a\":[1e5]",
    #","crossOrigin" : false "#,
  ])
  func clientDataThatAreGoodFailAtTheSignature(_ members: String) throws {
    #expect(try refusal(Self.clientData(members)) == .signature)
    #expect(try refusal("\u{FEFF}" + Self.clientData(members)) == .signature)
  }

  @Test(arguments: [
    #","type":"webauthn.get""#, #","origin":"https://example.org""#, #","x":1,"x":1"#,
    #","t\u0079pe":"webauthn.get""#, #","crossOrigin":"false""#, #","crossOrigin":0"#,
    #","topOrigin":null"#, #","x":01"#, #","x":"#, ",", #","x":"\#u{1}""#, #"},{"x":1"#,
    #","x":"# + String(repeating: "[", count: 200) + String(repeating: "]", count: 200),
    #","x":""# + String(repeating: "x", count: 4096) + #"""#,
  ])
  func clientDataThatAreNotStrictAreRefused(_ members: String) throws {
    #expect(try refusal(Self.clientData(members)) == .clientData)
  }

  @Test(arguments: [
    "", "null", "[]", "{}", #""type""#, #"{"type":"webauthn.get"}"#, clientData("") + "x",
    "\u{FEFF}\u{FEFF}" + clientData(""), clientData("").replacing("challenge", with: "Challenge"),
    clientData("").replacing(#""webauthn.get""#, with: "1"),
  ])
  func clientDataThatAreNoSuchObjectAreRefused(_ text: String) throws {
    #expect(try refusal(text) == .clientData)
  }

  @Test(arguments: ["webauthn.create", "webauthn.get ", "WebAuthn.get", "", "payment.get"])
  func theTypeIsThatOfTheCeremony(_ type: String) throws {
    #expect(try refusal(Self.clientData("").replacing("webauthn.get", with: type)) == .type)
  }

  @Test(arguments: [
    "", "=", challenge + "=", String(challenge.dropLast()), challenge + "A",
    String(challenge.dropLast()) + "d", challenge.replacing("c", with: "d"), " " + challenge,
  ])
  func theChallengeHasOneSpelling(_ text: String) throws {
    #expect(try refusal(Self.clientData("").replacing(Self.challenge, with: text)) == .challenge)
  }

  @Test(arguments: [
    "http://example.org", "https://example.org/", "https://example.org:443", "https://Example.org",
    "https://example.org.", "https://example.com", "https://a.example.org", "null", "",
    "https://example.org\\u0000",
  ])
  func theOriginIsOneOfTheListToTheLetter(_ origin: String) throws {
    #expect(
      try refusal(Self.clientData("").replacing("https://example.org", with: origin)) == .origin)
  }

  @Test(
    arguments: [
      (#","crossOrigin":true"#, [], .crossOrigin),
      (#","topOrigin":"https://example.com""#, [], .crossOrigin),
      (#","crossOrigin":true"#, ["https://example.com"], .signature),
      (
        #","crossOrigin":true,"topOrigin":"https://example.com""#, ["https://example.com"],
        .signature
      ),
      (
        #","crossOrigin":true,"topOrigin":"https://example.net""#, ["https://example.com"],
        .crossOrigin
      ),
    ] as [(String, [String], WebAuthnError)])
  func onlyThePagesOfTheListMayFrame(
    _ members: String, _ topOrigins: [String], _ expected: WebAuthnError
  ) throws {
    #expect(try refusal(Self.clientData(members), framedBy: topOrigins) == expected)
  }

  // MARK: sign-in

  @Test func thePasskeyIsTheOneThatWasOfferedOrTheOwnersThatIsNamed() throws {
    func outcome(
      _ offered: [[UInt8]], handle: [UInt8]?, by passkey: Passkey?
    ) throws -> WebAuthnError? {
      let result = try vector.authenticate(by: passkey, offered: offered) { $0.userHandle = handle }
      if case .failure(let error) = result { return error }
      return nil
    }
    let (id, owner) = (passkey.credentialID, WebAuthnVector.owner)
    #expect(try outcome([[1], id], handle: nil, by: passkey) == nil)
    #expect(try outcome([id], handle: owner, by: passkey) == nil)
    #expect(try outcome([], handle: owner, by: passkey) == nil)
    #expect(try outcome([], handle: nil, by: passkey) == .credential)
    #expect(try outcome([], handle: [1], by: passkey) == .credential)
    #expect(try outcome([id], handle: [1], by: passkey) == .credential)
    #expect(try outcome([[1]], handle: owner, by: passkey) == .credential)
  }

  @Test func anotherPasskeysIdIsRefused() throws {
    let result = try vector.authenticate(by: passkey, offered: [passkey.credentialID, [1]]) {
      $0.credentialID = [1]
    }
    #expect(result == .failure(.credential))
  }

  @Test func anUnknownPasskeyIsRefusedLikeAWrongSignature() throws {
    #expect(try vector.authenticate(by: nil) == .failure(.signature))
    #expect(try vector.authenticate(by: passkey) { $0.signature[10] ^= 1 } == .failure(.signature))
  }

  @Test(
    arguments: [
      (0x00, .userPresence), (0x10, .userPresence), (0x01, .signature), (0x05, .signature),
      (0x11, .backup), (0x09, .signature), (0x59, .authenticatorData), (0x99, .authenticatorData),
      (0x3B, .signature),
    ] as [(UInt8, WebAuthnError)])
  func theFlagsAreThoseOfASignIn(_ flags: UInt8, _ expected: WebAuthnError) throws {
    let result = try vector.authenticate(by: passkey) { $0.authenticatorData[32] = flags }
    #expect(result == .failure(expected))
  }

  @Test(
    arguments: [
      (0x19, [0], .authenticatorData), (0x19, [0xA0], .authenticatorData),
      (0x99, [0xA0], .signature),
      (0x99, [], .authenticatorData), (0x99, [0x80], .authenticatorData),
      (0x99, [0xA0, 0], .authenticatorData), (0x99, [0xA1], .authenticatorData),
    ] as [(UInt8, [UInt8], WebAuthnError)])
  func nothingFollowsThatIsNotDeclared(
    _ flags: UInt8, _ tail: [UInt8], _ expected: WebAuthnError
  ) throws {
    let result = try vector.authenticate(by: passkey) {
      $0.authenticatorData[32] = flags
      $0.authenticatorData += tail
    }
    #expect(result == .failure(expected))
  }

  /// The vector's counter is 4.
  @Test(
    arguments: [(0, true), (3, true), (4, false), (5, false), (.max, false)]
      as [(UInt32, Bool)])
  func aCounterMustGoUp(_ stored: UInt32, _ isAccepted: Bool) throws {
    let vector = try WebAuthnVector.named("n17-sign-count-lower")
    let passkey = Passkey(
      credentialID: passkey.credentialID, publicKey: passkey.publicKey, signCount: stored,
      isBackupEligible: true, isBackedUp: true)
    switch try vector.authenticate(by: passkey) {
    case .success(let use):
      #expect(isAccepted)
      #expect(use.signCount == 4)
    case .failure(let error):
      #expect(!isAccepted)
      #expect(error == .signCount)
    }
  }

  @Test(arguments: [(0, true), (1, false), (.max, false)] as [(UInt32, Bool)])
  func aCounterOfZeroCountsOnlyWhereItAlwaysWas(_ stored: UInt32, _ isAccepted: Bool) throws {
    let passkey = Passkey(
      credentialID: passkey.credentialID, publicKey: passkey.publicKey, signCount: stored,
      isBackupEligible: true, isBackedUp: false)
    switch try vector.authenticate(by: passkey) {
    case .success(let use):
      #expect(isAccepted)
      #expect(use.signCount == 0)
      #expect(use.isBackedUp)
    case .failure(let error):
      #expect(!isAccepted)
      #expect(error == .signCount)
    }
  }

  // MARK: registration

  /// Where authenticator data begin in the vector's attestation object: they end it.
  static let start = 30

  @Test(
    arguments: [
      (start, 0x80, .relyingParty), (start + 32, 0x01, .userPresence), (start + 32, 0x08, .backup),
      (start + 32, 0x40, .authenticatorData), (start + 32, 0x80, .authenticatorData),
      (start + 53, 0x80, .authenticatorData), (start + 54, 0x01, .publicKey), (0, 0x20, .malformed),
      (1, 0x80, .malformed), (start + 87, 0x01, .publicKey), (start + 91, 0x01, .publicKey),
      (start + 163, 0x01, .publicKey),
    ] as [(Int, UInt8, WebAuthnError)])
  func aRegistrationThatDoesNotHoldTogetherIsRefused(
    _ index: Int, _ bit: UInt8, _ expected: WebAuthnError
  ) throws {
    #expect(throws: expected) { try vector.register { $0[index] ^= bit } }
  }

  /// The length of the id of a credential, and what its bytes then are.
  @Test(
    arguments: [(0, .credentialID), (1, nil), (1023, nil), (1024, .credentialID)]
      as [(Int, WebAuthnError?)])
  func aCredentialsIdHas1To1023Bytes(_ size: Int, _ expected: WebAuthnError?) throws {
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

  @Test func onlyAlgorithmsThatWereOfferedAreEnrolled() throws {
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

  @Test func aSignInIsNoRegistrationAndTheReverse() throws {
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

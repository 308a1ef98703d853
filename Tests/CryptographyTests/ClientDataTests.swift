import Cryptography
import Testing

/// The client data of a browser (WebAuthn §5.8.1).
@Suite struct ClientDataTests {
  let vector: WebAuthnVector
  let passkey: Passkey

  init() throws {
    vector = try WebAuthnVector.named("w3c-none-es256")
    passkey = try vector.passkey()
  }

  static let challenge = base64URLEncoded(Array(repeating: 7, count: 32))

  /// Valid client data, with `members` added.
  static func clientData(_ members: String) -> String {
    #"{"type":"webauthn.get","challenge":"\#(challenge)","origin":"https://example.org"\#(members)}"#
  }

  /// The error of a sign-in with this text as unsigned client data.
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
  func validClientDataFailOnlyAtTheSignature(_ members: String) throws {
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
  func malformedClientDataAreRefused(_ members: String) throws {
    #expect(try refusal(Self.clientData(members)) == .clientData)
  }

  @Test(arguments: [
    "", "null", "[]", "{}", #""type""#, #"{"type":"webauthn.get"}"#, clientData("") + "x",
    "\u{FEFF}\u{FEFF}" + clientData(""), clientData("").replacing("challenge", with: "Challenge"),
    clientData("").replacing(#""webauthn.get""#, with: "1"),
  ])
  func clientDataWithoutTheirMembersAreRefused(_ text: String) throws {
    #expect(try refusal(text) == .clientData)
  }

  @Test(arguments: ["webauthn.create", "webauthn.get ", "WebAuthn.get", "", "payment.get"])
  func otherTypesAreRefused(_ type: String) throws {
    #expect(try refusal(Self.clientData("").replacing("webauthn.get", with: type)) == .type)
  }

  @Test(arguments: [
    "", "=", challenge + "=", String(challenge.dropLast()), challenge + "A",
    String(challenge.dropLast()) + "d", challenge.replacing("c", with: "d"), " " + challenge,
  ])
  func otherSpellingsOfTheChallengeAreRefused(_ text: String) throws {
    #expect(try refusal(Self.clientData("").replacing(Self.challenge, with: text)) == .challenge)
  }

  @Test(arguments: [
    "http://example.org", "https://example.org/", "https://example.org:443", "https://Example.org",
    "https://example.org.", "https://example.com", "https://a.example.org", "null", "",
    "https://example.org\\u0000",
  ])
  func originsMustMatchExactly(_ origin: String) throws {
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
  func onlyListedPagesMayFrame(
    _ members: String, _ topOrigins: [String], _ expected: WebAuthnError
  ) throws {
    #expect(try refusal(Self.clientData(members), framedBy: topOrigins) == expected)
  }
}

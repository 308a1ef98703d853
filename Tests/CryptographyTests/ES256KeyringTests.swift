import Cryptography
import Foundation
import Support
import Testing

@Suite struct ES256KeyringTests {
  /// The private keys of RFC 7515 A.3 and RFC 6979 A.2.5.
  static let newerEntry = "2026-11:jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"
  static let olderEntry = "next_KEY:ya-p2EW6dRZrXCFXZ7HWk05Qw9s26JsSe4piKxIPZyE"
  private static let payload = #"{"iss":"joe","exp":1300819380,"http://example.com/is_root":true}"#

  let keyring: ES256Keyring
  let older: ES256Keyring

  init() throws {
    keyring = try ES256Keyring(parsing: "\(Self.newerEntry),\(Self.olderEntry)")
    older = try ES256Keyring(parsing: Self.olderEntry)
  }

  // MARK: Keys

  @Test func theKeySetHasThePublicHalvesOfTheRFCs() {
    let expected =
      #"{"keys":[{"kty":"EC","use":"sig","alg":"ES256","kid":"2026-11","crv":"P-256","#
      + #""x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
      + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},"#
      + #"{"kty":"EC","use":"sig","alg":"ES256","kid":"next_KEY","crv":"P-256","#
      + #""x":"YP7UuiVanTHJYet0xjVtaMBJuJI7Yfps5mliLmDyn7Y","#
      + #""y":"eQP-EAi4vJmkGunpVii8ZPLxsgwtfp9Rd6PClNRGIpk"}]}"#
    #expect(String(decoding: keyring.jwks, as: UTF8.self) == expected)
  }

  /// RFC 7518 §6.2.1.2: a coordinate has all its octets.
  @Test func coordinatesKeepTheirLeadingZeros() throws {
    let scalar = Array(repeating: 0, count: 30) + [UInt8(1), 123]
    let keyring = try ES256Keyring(parsing: "k1:\(base64URLEncoded(scalar))")
    let x = #""x":"AFVDiUrz0A7X10Cr29dclrBod7eH219w7qeLkKjXwAo""#
    #expect(String(decoding: keyring.jwks, as: UTF8.self).contains(x))
  }

  /// SEC 2 §2.4.2: the order of the curve.
  private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"

  @Test(arguments: [String(repeating: "0", count: 63) + "1", "\(order.dropLast())0"])
  func theLeastAndTheGreatestScalarAreKeys(_ scalar: String) throws {
    let text = "k1:\(base64URLEncoded(try #require(hexDecoded(scalar))))"
    let keyring = try ES256Keyring(parsing: text)
    #expect(try keyring.verify(keyring.sign([1])) == [1])
  }

  @Test(arguments: [
    String(repeating: "0", count: 64), order, "\(order.dropLast())2",
    String(repeating: "f", count: 64), "", "01", String(repeating: "01", count: 31),
    String(repeating: "01", count: 33), String(repeating: "01", count: 40),
  ])
  func otherScalarsAreInvalid(_ scalar: String) throws {
    let text = "k1:\(base64URLEncoded(try #require(hexDecoded(scalar))))"
    #expect(throws: CryptographyError.invalidKey) { try ES256Keyring(parsing: text) }
    #expect(throws: CryptographyError.invalidKey) {
      try ES256Keyring(parsing: "\(Self.newerEntry)\n\(text)")
    }
  }

  @Test(arguments: [
    ("", CryptographyError.invalidKey), (" ,\n", .invalidKey),
    ("\(newerEntry)\n\(newerEntry)", .invalidKey), ("a.b:\(newerEntry.suffix(43))", .invalidKey),
    ("k1", .malformed), ("\(newerEntry)=", .malformed), ("\(newerEntry);\(olderEntry)", .malformed),
    ("public:\(newerEntry)", .malformed),
  ])
  func malformedListsAreRefused(_ text: String, _ error: CryptographyError) {
    #expect(throws: error) { try ES256Keyring(parsing: text) }
  }

  @Test func randomScalarsAreKeys() throws {
    for _ in 0..<100 {
      let scalar = P256PrivateKey.randomScalar()
      #expect(scalar.count == 32)
      _ = try P256PrivateKey(scalar: scalar.span)
    }
  }

  @Test func descriptionsOfKeysShowNoScalar() {
    var descriptions = ["\(keyring)", String(reflecting: keyring), ""]
    dump(keyring, to: &descriptions[2])
    for description in descriptions {
      #expect(!description.contains("jpsQnnGQ") && !description.contains("8e9b109e"))
    }
  }

  // MARK: Tokens

  @Test func theHeaderAndThePayloadAreExact() throws {
    let parts = keyring.sign(Array(Self.payload.utf8)).split(separator: ".").map(String.init)
    try #require(parts.count == 3)
    let header = try #require(base64URLDecoded(parts[0]))
    #expect(
      String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","kid":"2026-11","typ":"JWT"}"#)
    #expect(base64URLDecoded(parts[1]) == Array(Self.payload.utf8))
    #expect(base64URLDecoded(parts[2])?.count == 64)
  }

  /// The signature of "sample" in RFC 6979 A.2.5 and that of RFC 7515 A.3.
  @Test func theSignaturesOfTheRFCsAreOfTheseKeys() throws {
    let scalars = [Self.olderEntry, Self.newerEntry].compactMap {
      base64URLDecoded(String($0.suffix(43)))
    }
    let keys = try scalars.map { try P256PrivateKey(scalar: $0.span).publicKey() }
    let sample = try #require(
      hexDecoded(
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
          + "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"))
    #expect(keys[0].isES256(sample, of: Array("sample".utf8)))
    let signature = try #require(
      base64URLDecoded(
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
    let input = """
      eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmN\
      vbS9pc19yb290Ijp0cnVlfQ
      """
    #expect(keys[1].isES256(signature, of: Array(input.utf8)))
  }

  /// Python's cryptography made this token.
  @Test func tokensOfAnotherImplementationVerify() throws {
    let token = """
      eyJhbGciOiJFUzI1NiIsImtpZCI6IjIwMjYtMTEiLCJ0eXAiOiJKV1QifQ.eyJpc3MiOiJqb2UiLCJleHAiOjEzMDA4M\
      TkzODAsImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.3RLF2nwP0bITjN5y6NGhLb7Q1lqrATpdZR5UhK\
      uMsqZGRhHzdFIxEDpX-dnTrhZ42WiS1pBem0PEpPrT6DpoqA
      """
    #expect(try keyring.verify(token) == Array(Self.payload.utf8))
  }

  /// PyJWT gets the token and the key set, and nothing else of ours.
  @Test func anotherImplementationVerifiesWithTheKeySet() throws {
    let script = """
      import jwt, sys
      keys = jwt.PyJWKSet.from_json(sys.argv[1])
      for token in sys.argv[2:]:
        kid = jwt.get_unverified_header(token)["kid"]
        key = next(key for key in keys.keys if key.key_id == kid)
        try:
          print(jwt.decode(token, key.key, algorithms=["ES256"], audience="merchant")["amount"])
        except jwt.InvalidTokenError as error:
          print(type(error).__name__)
      """
    let payload = Array(#"{"aud":"merchant","amount":"12.50"}"#.utf8)
    let other = try ES256Keyring(
      parsing: "2026-11:\(base64URLEncoded(P256PrivateKey.randomScalar()))")
    let tokens = [keyring, older, other].map { $0.sign(payload) }
    let keySet = String(decoding: keyring.jwks, as: UTF8.self)
    let outcome = runProgram("/usr/bin/python3", ["-c", script, keySet] + tokens)
    #expect(outcome.output == "12.50\n12.50\nInvalidSignatureError\n")
  }

  @Test func theNewestKeySignsAndOlderKeysVerify() throws {
    let token = older.sign([1, 2, 3])
    #expect(try keyring.verify(token) == [1, 2, 3])
    #expect(throws: CryptographyError.unknownKey) { try older.verify(keyring.sign([1])) }
  }

  @Test func tokensOfAnotherScalarWithTheSameIDAreRefused() throws {
    let other = try ES256Keyring(parsing: "2026-11:\(Self.olderEntry.suffix(43))")
    #expect(throws: CryptographyError.unauthentic) { try keyring.verify(other.sign([1])) }
  }

  @Test func tokensHaveAtMost4096Bytes() throws {
    let around = keyring.sign([]).utf8.count
    let fits = try #require(
      (0..<4096).last {
        base64URLEncoded([UInt8](repeating: 0, count: $0)).utf8.count <= 4096 - around
      })
    #expect(try keyring.verify(keyring.sign(randomBytes(fits))).count == fits)
    let longer = keyring.sign(randomBytes(fits + 2))
    #expect(throws: CryptographyError.malformed) { try keyring.verify(longer) }
  }

  @Test(arguments: ["", ".", "..", "eyJhbGciOiJFUzI1NiJ9", "not a token", "é.é.é", "\0"])
  func textsThatNameNoKeyAreUnknown(_ token: String) {
    #expect(throws: CryptographyError.unknownKey) { try keyring.verify(token) }
  }

  /// Each is signed by the key, so only its header can be the reason.
  @Test(
    arguments: ForgedHeaderTests.headers.map { $0.replacing("HS256", with: "ES256") } + [
      #"{"alg":"HS256","kid":"2026-11","typ":"JWT"}"#
    ])
  func forgedHeadersAreRefused(_ header: String) throws {
    guard header != Self.header else { return }
    #expect(throws: CryptographyError.unknownKey) { try keyring.verify(try signed(header, "e30")) }
  }

  private static let header = #"{"alg":"ES256","kid":"2026-11","typ":"JWT"}"#

  private func signed(_ header: String, _ payload: String) throws -> String {
    let scalar = try #require(base64URLDecoded(String(Self.newerEntry.suffix(43))))
    let input = "\(base64URLEncoded(Array(header.utf8))).\(payload)"
    let signature = try P256PrivateKey(scalar: scalar.span).signES256(input)
    return "\(input).\(base64URLEncoded(signature))"
  }

  /// The attack of a token with an HMAC under the public key (RFC 8725 §2.1).
  @Test func aMACUnderThePublicKeyIsNoSignature() throws {
    let secret = Secret(copying: keyring.jwks.span)
    let token = JSONWebToken.sign(
      Array("{}".utf8), with: try Key(id: "2026-11", secret: secret))
    #expect(throws: CryptographyError.unknownKey) { try keyring.verify(token) }
  }

  @Test(arguments: ["e30=", "e3", "e 30", "e30.", ".e30", "e31", "+/+/", "Z", "é"])
  func signedPayloadsThatAreNotBase64URLAreMalformed(_ payload: String) throws {
    #expect(throws: CryptographyError.malformed) {
      try keyring.verify(try signed(Self.header, payload))
    }
  }

  @Test func tokensWithoutAWholeSignatureAreMalformed() {
    let token = keyring.sign(Array("{}".utf8))
    let header = "\(token.prefix { $0 != "." })."
    let shortened = [1, 85, 86, 87].map { String(token.dropLast($0)) }
    let lengthened = ["A", "=", " ", "\n", "."].map { "\(token)\($0)" }
    for malformed in shortened + lengthened + [header, "\(header)\(token.suffix(86))"] {
      #expect(throws: CryptographyError.malformed, "\(malformed)") { try keyring.verify(malformed) }
    }
  }

  @Test func tokensWithAFlippedBitAreRefused() {
    for flipped in bitFlips(of: keyring.sign(Array(#"{"sub":"1"}"#.utf8))) {
      #expect(throws: CryptographyError.self, "\(flipped)") { try keyring.verify(flipped) }
    }
  }
}

import Cryptography
import Testing

@Suite struct JSONWebTokenTests {
  let keyring: Keyring
  let older: Keyring

  init() throws {
    keyring = try Keyring(parsing: "\(newerEntry),\(olderEntry)")
    older = try Keyring(parsing: olderEntry)
  }

  /// The payload of RFC 7515 A.1 without its line breaks, and an empty payload. Another
  /// implementation of HMAC made both tokens.
  @Test(arguments: [
    (
      "2026-11", #"{"iss":"joe","exp":1300819380,"http://example.com/is_root":true}"#,
      """
      eyJhbGciOiJIUzI1NiIsImtpZCI6IjIwMjYtMTEiLCJ0eXAiOiJKV1QifQ.eyJpc3MiOiJqb2UiLCJleHAiOjEzMDA4M\
      TkzODAsImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.wvGNI7DkiT7DgjNACoZt1V9aO-HiPNhuTrlMR5z\
      lHho
      """
    ),
    (
      "next_KEY", "",
      """
      eyJhbGciOiJIUzI1NiIsImtpZCI6Im5leHRfS0VZIiwidHlwIjoiSldUIn0..6oxWFsCpeVCQfm8teD9HIPMhnHjZ63l\
      F6FvLqFcCHzo
      """
    ),
  ])
  func tokensMatchAnotherImplementation(_ id: String, _ payload: String, _ token: String) throws {
    let key = try #require(keyring[id])
    #expect(JSONWebToken.sign(Array(payload.utf8), with: key) == token)
    #expect(try JSONWebToken.verify(token, with: keyring) == Array(payload.utf8))
  }

  @Test func olderKeysStillVerify() throws {
    let token = JSONWebToken.sign(Array("{}".utf8), with: older.newest)
    #expect(try JSONWebToken.verify(token, with: keyring) == Array("{}".utf8))
  }

  @Test func tokensOfARemovedKeyAreRefused() {
    let token = JSONWebToken.sign(Array("{}".utf8), with: keyring.newest)
    #expect(throws: CryptographyError.unknownKey) { try JSONWebToken.verify(token, with: older) }
  }

  @Test func tokensOfAnotherSecretWithTheSameIDAreRefused() throws {
    let token = JSONWebToken.sign(
      Array("{}".utf8), with: try makeKey("next_KEY", secret: Array(0..<32)))
    #expect(throws: CryptographyError.unauthentic) { try JSONWebToken.verify(token, with: keyring) }
  }

  @Test func twoTokensJoinedByADotAreRefused() {
    let token = JSONWebToken.sign(Array("{}".utf8), with: keyring.newest)
    #expect(throws: CryptographyError.unauthentic) {
      try JSONWebToken.verify("\(token).\(token)", with: keyring)
    }
  }

  @Test func signaturesOfAnotherKeyAreRefused() {
    let input = JSONWebToken.sign(Array("{}".utf8), with: keyring.newest).dropLast(43)
    let signature = hmacSHA256(String(input.dropLast()), with: older.newest)
    #expect(throws: CryptographyError.unauthentic) {
      try JSONWebToken.verify(input + base64URLEncoded(signature), with: keyring)
    }
  }

  @Test func tokensHaveAtMost4096Bytes() throws {
    let around = JSONWebToken.sign([], with: keyring.newest).utf8.count
    // Base64url text never has one of four sizes, but the limit itself is a possible size.
    let fits = try #require(
      (0..<4096).first { base64URLEncoded(randomBytes($0)).utf8.count == 4096 - around })
    let longest = JSONWebToken.sign(randomBytes(fits), with: keyring.newest)
    #expect(longest.utf8.count == JSONWebToken.maximumSize)
    #expect(try JSONWebToken.verify(longest, with: keyring).count == fits)

    let longer = JSONWebToken.sign(randomBytes(fits + 1), with: keyring.newest)
    #expect(throws: CryptographyError.malformed) { try JSONWebToken.verify(longer, with: keyring) }
  }

  @Test(arguments: [
    "", ".", "..", "...", "eyJhbGciOiJIUzI1NiJ9", "not a token", "Bearer x", "é.é.é", "\0",
  ])
  func textsThatNameNoKeyAreUnknown(_ token: String) {
    #expect(throws: CryptographyError.unknownKey) { try JSONWebToken.verify(token, with: keyring) }
  }

  @Test func tokensWithoutAWholeSignatureAreMalformed() {
    let token = JSONWebToken.sign(Array("{}".utf8), with: keyring.newest)
    let header = "\(token.prefix { $0 != "." })."
    let shortened = [1, 42, 43, 44].map { String(token.dropLast($0)) }
    let lengthened = ["A", "=", " ", "\n", "."].map { "\(token)\($0)" }
    let rearranged = [header, "\(header)\(token.suffix(43))", "\(token.dropLast())*"]
    for malformed in shortened + lengthened + rearranged {
      #expect(throws: CryptographyError.malformed, "\(malformed)") {
        try JSONWebToken.verify(malformed, with: keyring)
      }
    }
  }

  /// Only the owner of the key can make such a token, but it is refused too.
  @Test(arguments: ["e30=", "e3", "e 30", "e30.", ".e30", "e31", "+/+/", "Z", "é"])
  func signedPayloadsThatAreNotBase64URLAreMalformed(_ payload: String) {
    let header = JSONWebToken.sign([], with: keyring.newest).prefix { $0 != "." }
    let input = "\(header).\(payload)"
    let signature = base64URLEncoded(hmacSHA256(input, with: keyring.newest))
    #expect(throws: CryptographyError.malformed) {
      try JSONWebToken.verify("\(input).\(signature)", with: keyring)
    }
  }

  @Test func signaturesHaveOneEncoding() throws {
    let token = JSONWebToken.sign(Array("{}".utf8), with: keyring.newest)
    let symbols = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    let accepted = symbols.filter { symbol in
      (try? JSONWebToken.verify(token.dropLast() + String(symbol), with: keyring)) != nil
    }
    #expect(accepted == String(token.suffix(1)))
  }

  @Test func tokensWithAFlippedBitAreRefused() {
    let payload = Array(#"{"sub":"1","aud":"access"}"#.utf8)
    for key in keyring.keys {
      for flipped in bitFlips(of: JSONWebToken.sign(payload, with: key)) {
        #expect(throws: CryptographyError.self, "\(flipped)") {
          try JSONWebToken.verify(flipped, with: keyring)
        }
      }
    }
  }
}

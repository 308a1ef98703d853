import Cryptography
import Testing

/// Headers that differ from the header of a key (RFC 8725 §3.1, §3.10). The real key signs each, so
/// that only the header can be the reason for the refusal.
@Suite struct ForgedHeaderTests {
  static let headers = [
    #"{"alg":"none","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"None","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"nOnE"}"#,
    #"{"alg":"","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":null,"kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":["HS256"],"kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"hs256","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"HS384","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"HS512","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"RS256","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"ES256","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"HS256","jku":"https://evil.example/keys","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-11","typ":"JWT","jku":"https://evil.example/keys"}"#,
    #"{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"},"kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-11","typ":"JWT","x5u":"https://evil.example/chain"}"#,
    #"{"alg":"HS256","kid":"2026-11","typ":"JWT","x5c":["AAAA"]}"#,
    #"{"alg":"HS256","crit":["exp"],"kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"HS256","b64":false,"crit":["b64"],"kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-11","typ":"JWT","zip":"DEF"}"#,
    #"{"alg":"HS256","kid":"../../../dev/null","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-11/../2026-11","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-11\u0000","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-11' OR '1'='1","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-12","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":202611,"typ":"JWT"}"#,
    #"{"alg":"HS256","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-11"}"#,
    #"{"alg":"HS256","kid":"2026-11","typ":"at+jwt"}"#,
    #"{"kid":"2026-11","alg":"HS256","typ":"JWT"}"#,
    #"{"typ":"JWT","alg":"HS256","kid":"2026-11"}"#,
    #"{"alg":"HS256","alg":"HS256","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-11","kid":"2026-11","typ":"JWT"}"#,
    #"{"alg":"HS256","kid":"2026-11","typ":"JWT","alg":"none"}"#,
    #"{"alg": "HS256","kid": "2026-11","typ": "JWT"}"#,
    #"{"alg":"HS256","kid":"2026\u002d11","typ":"JWT"}"#,
    "{\"alg\":\"HS256\",\"kid\":\"2026-11\",\"typ\":\"JWT\"}\n",
    "\u{FEFF}{\"alg\":\"HS256\",\"kid\":\"2026-11\",\"typ\":\"JWT\"}",
    "{}", "[]", "null", "",
  ]

  let keyring: Keyring

  init() throws { keyring = try Keyring(parsing: "\(olderEntry),\(newerEntry)") }

  @Test(arguments: headers)
  func forgedHeadersAreRefused(_ header: String) {
    let input = "\(base64URLEncoded(Array(header.utf8))).\(base64URLEncoded(Array("{}".utf8)))"
    let signature = base64URLEncoded(hmacSHA256(input, with: keyring.newest))
    #expect(throws: CryptographyError.unknownKey) {
      try JSONWebToken.verify("\(input).\(signature)", with: keyring)
    }
    #expect(throws: CryptographyError.unknownKey) {
      try JSONWebToken.verify("\(input).", with: keyring)
    }
  }

  @Test func theTrueHeaderIsAccepted() throws {
    let header = #"{"alg":"HS256","kid":"2026-11","typ":"JWT"}"#
    let input = "\(base64URLEncoded(Array(header.utf8))).\(base64URLEncoded(Array("{}".utf8)))"
    let signature = base64URLEncoded(hmacSHA256(input, with: keyring.newest))
    #expect(
      try JSONWebToken.verify("\(input).\(signature)", with: keyring) == Array("{}".utf8))
  }

  @Test(arguments: ["=", ".", " ", "A"])
  func trueHeadersWithAnotherCharacterAreRefused(_ more: String) {
    let header = #"{"alg":"HS256","kid":"2026-11","typ":"JWT"}"#
    let input = "\(base64URLEncoded(Array(header.utf8)))\(more).e30"
    let signature = base64URLEncoded(hmacSHA256(input, with: keyring.newest))
    #expect(throws: CryptographyError.self) {
      try JSONWebToken.verify("\(input).\(signature)", with: keyring)
    }
  }
}

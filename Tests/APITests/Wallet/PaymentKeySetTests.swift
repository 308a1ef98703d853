import Cryptography
import Support
import Testing

@testable import API

/// `GET /.well-known/jwks.json`.
@Suite struct PaymentKeySetTests {
  @Test func everyoneMayReadThePublicHalvesForFiveMinutes() throws {
    try withApplication { site in
      for method in ["GET", "HEAD"] {
        let answer = site.send(method, "/.well-known/jwks.json")
        #expect(answer.status == 200)
        #expect(answer.field("Content-Type") == "application/jwk-set+json")
        #expect(answer.field("Cache-Control") == "public, max-age=300")
      }
      // RFC 7515 A.3.
      let expected =
        #"{"keys":[{"kty":"EC","use":"sig","alg":"ES256","kid":"k1","crv":"P-256","#
        + #""x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
        + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#
      #expect(site.send("GET", "/.well-known/jwks.json").text == expected)
    }
  }

  /// A merchant that reads the set before the new key signs knows both keys.
  @Test func allKeysOfARotationAreThere() throws {
    let added = "k2:\(base64URLEncoded(P256PrivateKey.randomScalar()))"
    let keys = try ES256Keyring(parsing: "\(added)\nk1:jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")
    try withDatabase { root in
      let site = TestApplication(root, settings: .ofTests(paymentKeys: keys))
      let text = site.send("GET", "/.well-known/jwks.json").text
      #expect(text.matches(of: /"kid":"(k.)"/).map(\.1) == ["k2", "k1"])
      #expect(!text.contains("jpsQnnGQ") && !text.contains(#""d""#))
    }
  }
}

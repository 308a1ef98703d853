import Base
import Cryptography
import Testing

/// Our identification to push services. The vector is the example of RFC 8292 §2.4.
@Suite struct VAPIDTests {
  static let publicKey = """
    BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs
    """
  static let header = "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9"
  static let claims = """
    eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNo\
    QGV4YW1wbGUuY29tIn0
    """
  static let signature = """
    i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA
    """

  @Test func theTokenOfRFC8292Verifies() throws {
    let point = try #require(base64URLDecoded(Self.publicKey))
    let signature = try #require(base64URLDecoded(Self.signature))
    let key = try P256PublicKey(uncompressedPoint: point)
    #expect(key.isES256(signature, of: Array("\(Self.header).\(Self.claims)".utf8)))
  }

  /// The signatures differ, because ECDSA is random.
  @Test func ourTokenOfTheSameClaimsDiffersOnlyInItsSignature() throws {
    let key = try P256PrivateKey.generate()
    let vapid = try VAPID(key: key, subject: "mailto:push@example.com")
    let value = try vapid.authorization(
      for: "https://push.example.net", expiresAt: Timestamp(seconds: 1_453_523_768))
    let input = "\(Self.header).\(Self.claims)"
    #expect(value.hasPrefix("vapid t=\(input)."))
    let parts = value.dropFirst("vapid t=\(input).".count).split(separator: ", k=").map(String.init)
    try #require(parts.count == 2)
    let signature = try #require(base64URLDecoded(parts[0]))
    let publicKey = try key.publicKey()
    #expect(publicKey.isES256(signature, of: Array(input.utf8)))
    #expect(base64URLDecoded(parts[1]) == publicKey.uncompressedPoint)
  }
}

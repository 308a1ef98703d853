import Support
import Testing

@testable import Cryptography

/// Tokens of other programs: Project Wycheproof, and the cookbook of JOSE (RFC 7520).
///
/// Our keys verify only tokens with their own header, so they refuse all of these. The verifier itself
/// is tested with the header of the group's first valid token as the key's own.
@Suite struct JOSETests {
  /// Our rules that refuse valid tokens.
  enum Policy: String {
    /// Keys sign with HS256 or ES256, and open nothing.
    case otherAlgorithm
    /// A key has exactly one header, byte by byte.
    case otherHeader
    /// Base64url has no other characters, not even where a reader could skip them.
    case otherCharacters
    /// Tokens have the compact form (RFC 7515 §7.1).
    case jsonSerialization
    /// The payload is in the token, in base64url (RFC 7515 appendix F, RFC 7797).
    case otherPayload
  }

  struct Key: Decodable {
    let alg: String?
    let k: Base64Bytes?
    let x: Base64Bytes?
    let y: Base64Bytes?

    /// The payload of `token`, if the key verifies it and `header` is the key's own.
    func verify(_ token: String, header: String) throws -> [UInt8] {
      let header = Array((header + ".").utf8)
      if alg == "HS256", let k {
        let own: (Cryptography.Key) -> [UInt8] = { _ in header }
        return try JSONWebToken.verify(
          token, by: [makeKey(secret: k.bytes)], header: own, signatureSize: 32
        ) { signature, input, key in
          isEqualInConstantTime(signature, hmacSHA256(input, with: key))
        }
      }
      guard alg == "ES256", let x, let y else { throw CryptographyError.unknownKey }
      let key = try P256PublicKey(uncompressedPoint: [4] + x.bytes + y.bytes)
      let own: (P256PublicKey) -> [UInt8] = { _ in header }
      return try JSONWebToken.verify(
        token, by: [key], header: own, signatureSize: 64
      ) { signature, input, key in
        key.isES256(signature, of: input)
      }
    }
  }

  private struct Group: Decodable {
    struct Case: Decodable {
      let tcId: Int
      let token: String
      let result: WycheproofTests.Verdict
    }
    let key: Key
    let tests: [Case]

    private enum Member: CodingKey { case tests }

    init(from decoder: any Decoder) throws {
      key = try Key(from: decoder)
      tests = try decoder.container(keyedBy: Member.self).decode([Case].self, forKey: .tests)
    }

    var header: String {
      tests.first { $0.result == .valid }.map { Self.header(of: $0.token) } ?? ""
    }

    private static func header(of token: String) -> String { String(token.prefix { $0 != "." }) }

    func policy(for token: String) -> Policy? {
      guard ["HS256", "ES256"].contains(key.alg) else { return .otherAlgorithm }
      let other = token.contains {
        !$0.isASCII || !"-_.".contains($0) && !$0.isLetter && !$0.isNumber
      }
      return other ? .otherCharacters : Self.header(of: token) == header ? nil : .otherHeader
    }
  }

  private func tally(_ name: String) throws -> ForeignTally {
    let file = "wycheproof/\(name).json"
    let (keyring, signers) = try Self.ourKeys()
    var tally = ForeignTally()
    for group in try foreignCases(file, as: [Group].self) {
      for test in group.tests {
        let isVerified = (try? group.key.verify(test.token, header: group.header)) != nil
        // Two cases are the same token as a valid one.
        let isTwin = group.tests.contains { $0.result == .valid && $0.token == test.token }
        tally.add(
          test.tcId, isVerified, isValid: test.result == .valid,
          policy: group.policy(for: test.token)?.rawValue,
          tolerance: isTwin && test.result == .invalid ? "sameAsValid" : nil)
        #expect((try? JSONWebToken.verify(test.token, with: keyring)) == nil)
        #expect((try? signers.verify(test.token)) == nil)
      }
    }
    #expect(try tally.total == foreignCounts()[file])
    #expect(tally.unexplained == [])
    return tally
  }

  private static func ourKeys() throws -> (Keyring, ES256Keyring) {
    let scalar = [UInt8](repeating: 1, count: 32)
    return (
      try Keyring(parsing: olderEntry),
      try ES256Keyring(parsing: "test:\(base64URLEncoded(scalar))")
    )
  }

  @Test func signaturesOfWycheproof() throws {
    let counts = try tally("json_web_signature").counts
    #expect(
      counts == [
        "accepted": 8, "refused": 353, "otherAlgorithm": 34, "otherCharacters": 2,
        "otherHeader": 2, "sameAsValid": 2,
      ])
  }

  @Test func tokensOfWycheproof() throws {
    let counts = try tally("json_web_crypto").counts
    #expect(counts == ["accepted": 2, "refused": 77, "otherAlgorithm": 4])
  }

  private struct Recipe: Decodable {
    let name: String
    let key: Key
    let token: String

    private enum Member: CodingKey { case name, token }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Member.self)
      name = try members.decode(String.self, forKey: .name)
      token = try members.decode(String.self, forKey: .token)
      key = try Key(from: decoder)
    }

    var policy: Policy? {
      if token.hasPrefix("{") { return .jsonSerialization }
      guard key.alg == "HS256" else { return .otherAlgorithm }
      return name.contains("detached") || name.contains("b64_false") ? .otherPayload : nil
    }
  }

  @Test func recipesOfTheCookbook() throws {
    var tally = ForeignTally()
    for recipe in try foreignCases("jose.json", as: [Recipe].self) {
      let header = String(recipe.token.prefix { $0 != "." })
      let isVerified = (try? recipe.key.verify(recipe.token, header: header)) != nil
      tally.add(recipe.name, isVerified, isValid: true, policy: recipe.policy?.rawValue)
    }
    #expect(try tally.total == foreignCounts()["jose.json"])
    #expect(tally.unexplained == [])
    #expect(
      tally.counts == [
        "accepted": 1, "jsonSerialization": 8, "otherAlgorithm": 15, "otherPayload": 2,
      ])
  }
}

import Support
import Testing

@testable import Cryptography

/// Project Wycheproof: signatures, tags and ciphertexts, most of them with a flaw.
@Suite struct WycheproofTests {
  enum Verdict: String, Decodable { case valid, invalid, acceptable }

  /// Our rules that refuse valid cases.
  enum Policy: String {
    /// Keys of a ring have at least 32 bytes (RFC 7518 §3.2).
    case shortKey
    /// Tags are compared whole.
    case cutTag
    /// Values are sealed with AES-256, and Web Push uses AES-128.
    case keyOf192Bits
    /// Nonces have 12 bytes. Other sizes need another construction (NIST SP 800-38D §7.1).
    case otherNonce
    /// RSA keys have the exponent 65,537.
    case otherExponent
  }

  private struct Hex: Decodable {
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
      bytes = try #require(hexDecoded(decoder.singleValueContainer().decode(String.self)))
    }
  }

  private struct SignatureGroup: Decodable {
    struct Case: Decodable {
      let tcId: Int
      let msg: Hex
      let sig: Hex
      let result: Verdict
    }
    let point: Hex?
    let n: Hex?
    let e: Hex?
    let tests: [Case]
  }

  private func tally(
    _ name: String,
    _ verify: (SignatureGroup) throws -> (_ signature: [UInt8], _ message: [UInt8]) -> Bool,
    policy: (SignatureGroup) -> Policy? = { _ in nil }
  ) throws -> ForeignTally {
    let file = "wycheproof/\(name).json"
    var tally = ForeignTally()
    for group in try foreignCases(file, as: [SignatureGroup].self) {
      let isSignature = try verify(group)
      for test in group.tests {
        tally.add(
          test.tcId, isSignature(test.sig.bytes, test.msg.bytes),
          isValid: test.result == .acceptable ? nil : test.result == .valid,
          policy: policy(group)?.rawValue)
      }
    }
    #expect(try tally.total == foreignCounts()[file])
    #expect(tally.unexplained == [])
    return tally
  }

  @Test func signaturesInDER() throws {
    let tally = try tally("ecdsa_secp256r1_sha256") { group in
      let key = try P256PublicKey(uncompressedPoint: #require(group.point).bytes)
      return { key.isECDSA($0, of: $1.span) }
    }
    #expect(tally.counts == ["accepted": 174, "refused": 310])
  }

  @Test func signaturesOfTokens() throws {
    let tally = try tally("ecdsa_secp256r1_sha256_p1363") { group in
      let key = try P256PublicKey(uncompressedPoint: #require(group.point).bytes)
      return { key.isES256($0, of: $1) }
    }
    #expect(tally.counts == ["accepted": 173, "refused": 89])
  }

  @Test func signaturesOfRSA() throws {
    let tally = try tally("rsa_signature_2048_sha256") { group in
      let (n, e) = (try #require(group.n).bytes, try #require(group.e).bytes)
      let modulus = n.first == 0 ? n.dropFirst() : n[...]  // a sign comes before the first bit
      let members: [CBOR.Key: CBOR] = [
        .integer(1): .integer(3), .integer(3): .integer(-257), .integer(-1): .bytes(modulus),
        .integer(-2): .bytes(e[...]),
      ]
      guard let key = try? COSEKey(.map(members)) else { return { _, _ in false } }
      return { key.verifies($0, of: $1.span) }
    } policy: {
      $0.e?.bytes == [1, 0, 1] ? nil : .otherExponent
    }
    #expect(
      tally.counts == ["accepted": 7, "refused": 249, "refused by choice": 1, "otherExponent": 2])
  }

  private struct TagGroup: Decodable {
    struct Case: Decodable {
      let tcId: Int
      let key: Hex
      let msg: Hex
      let tag: Hex
      let result: Verdict
    }
    let keySize: Int
    let tagSize: Int
    let tests: [Case]

    var policy: Policy? { tagSize < 256 ? .cutTag : keySize < 256 ? .shortKey : nil }
  }

  @Test func tags() throws {
    let file = "wycheproof/hmac_sha256.json"
    var tally = ForeignTally()
    for group in try foreignCases(file, as: [TagGroup].self) {
      for test in group.tests {
        // The tag itself is that of the suite, whatever our rules say.
        var authenticator = MessageAuthenticator(
          keyedWith: Secret(copying: test.key.bytes.span))
        let tag = authenticator.tag(of: test.msg.bytes.span)
        let isTag = tag.starts(with: test.tag.bytes)
        #expect(isTag == (test.result == .valid))
        tally.add(
          test.tcId, isTag && isTagOfRing(test), isValid: test.result == .valid,
          policy: group.policy?.rawValue)
      }
    }
    #expect(try tally.total == foreignCounts()[file])
    #expect(tally.unexplained == [])
    #expect(tally.counts == ["accepted": 30, "refused": 108, "cutTag": 33, "shortKey": 3])
  }

  private func isTagOfRing(_ test: TagGroup.Case) -> Bool {
    guard let key = try? makeKey(secret: test.key.bytes) else { return false }
    return isEqualInConstantTime(hmacSHA256(test.msg.bytes, with: key), test.tag.bytes)
  }

  private struct CipherGroup: Decodable {
    struct Case: Decodable {
      let tcId: Int
      let key: Hex
      let iv: Hex
      let aad: Hex
      let msg: Hex
      let ct: Hex
      let tag: Hex
      let result: Verdict
    }
    let ivSize: Int
    let keySize: Int
    let tests: [Case]

    var policy: Policy? { ivSize != 96 ? .otherNonce : keySize == 192 ? .keyOf192Bits : nil }
  }

  @Test func ciphertexts() throws {
    let file = "wycheproof/aes_gcm.json"
    var tally = ForeignTally()
    for group in try foreignCases(file, as: [CipherGroup].self) {
      for test in group.tests {
        tally.add(
          test.tcId, try opens(test), isValid: test.result == .valid,
          policy: group.policy?.rawValue)
        guard let policy = group.policy else { continue }
        let isKey = policy == .keyOf192Bits || test.key.bytes.count == 24
        #expect(throws: isKey ? CryptographyError.invalidKey : .malformed) {
          _ = try cipher(.decrypt, for: test)
        }
      }
    }
    #expect(try tally.total == foreignCounts()[file])
    #expect(tally.unexplained == [])
    #expect(
      tally.counts == ["accepted": 79, "refused": 87, "otherNonce": 113, "keyOf192Bits": 37])
  }

  private func cipher(
    _ direction: Cipher.Direction, for test: CipherGroup.Case
  ) throws(CryptographyError) -> Cipher {
    let key = Secret(copying: test.key.bytes.span)
    return try Cipher(direction, key: key, nonce: test.iv.bytes)
  }

  /// Whether the case's ciphertext opens; a valid one is also what sealing gives. No part of a tag opens it.
  private func opens(_ test: CipherGroup.Case) throws -> Bool {
    func open(_ tag: [UInt8]) throws(CryptographyError) -> [UInt8] {
      let opening = try cipher(.decrypt, for: test)
      try opening.authenticate(test.aad.bytes)
      let plaintext = try opening.translate(test.ct.bytes)
      try opening.finishDecrypting(tag: tag)
      return plaintext
    }
    do { #expect(try open(test.tag.bytes) == test.msg.bytes) } catch { return false }
    #expect(throws: CryptographyError.malformed) { try open(Array(test.tag.bytes.dropLast())) }
    let sealing = try cipher(.encrypt, for: test)
    try sealing.authenticate(test.aad.bytes)
    #expect(try sealing.translate(test.msg.bytes) == test.ct.bytes)
    #expect(try sealing.finishEncrypting() == test.tag.bytes)
    return true
  }
}

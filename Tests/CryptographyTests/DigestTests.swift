import Cryptography
import Testing

@Suite struct DigestTests {
  /// Examples of FIPS 180-4.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
  ])
  func digestsMatchTheStandard(_ text: String, _ digest: String) {
    let bytes = Array(text.utf8)
    #expect(hexEncoded(sha256(text)) == digest)
    #expect(hexEncoded(sha256(bytes)) == digest)
    #expect(hexEncoded(sha256(bytes.span)) == digest)
  }

  /// Examples of RFC 4231. Short keys are padded with zeros, as in HMAC itself (RFC 2104 §2).
  static let tags: [(key: [UInt8], message: [UInt8], tag: String)] = [
    (
      Array(repeating: 0x0B, count: 20), Array("Hi There".utf8),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      Array(repeating: 0xAA, count: 20), Array(repeating: 0xDD, count: 50),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
    ),
    (
      Array(1...25), Array(repeating: 0xCD, count: 50),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
    ),
    (
      Array(repeating: 0xAA, count: 131),
      Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ]

  @Test(arguments: tags)
  func tagsMatchTheStandard(_ key: [UInt8], _ message: [UInt8], _ tag: String) throws {
    let missing = max(0, Key.minimumSecretSize - key.count)
    let key = try makeKey(secret: key + Array(repeating: 0, count: missing))
    #expect(hexEncoded(hmacSHA256(message, with: key)) == tag)
    #expect(hexEncoded(hmacSHA256(message.span, with: key)) == tag)
    #expect(hexEncoded(hmacSHA256(message, with: key)) == tag, "a key may be used again")
  }

  @Test func textIsAuthenticatedAsUTF8() throws {
    let key = try makeKey(secret: Array(0..<32))
    #expect(hmacSHA256("é\0", with: key) == hmacSHA256([0xC3, 0xA9, 0], with: key))
    #expect(hmacSHA256("", with: key) == hmacSHA256([UInt8](), with: key))
    #expect(hmacSHA256("", with: key) != hmacSHA256("\0", with: key))
  }

  @Test func threadsMayShareAKey() async throws {
    let key = try makeKey(secret: Array(0..<32))
    let messages = (0..<64).map { "message \($0)" }
    let expected = messages.map { hmacSHA256($0, with: key) }
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          (0..<20).allSatisfy { _ in messages.map { hmacSHA256($0, with: key) } == expected }
        }
      }
      for await isRight in group { #expect(isRight) }
    }
  }

  @Test func onlyIdenticalBytesAreEqual() {
    let bytes = Array(UInt8(0)..<64)
    #expect(isEqualInConstantTime(bytes, bytes))
    #expect(isEqualInConstantTime([], []))
    #expect(!isEqualInConstantTime(bytes, Array(bytes.dropLast())))
    #expect(!isEqualInConstantTime(Array(bytes.dropLast()), bytes))
    #expect(!isEqualInConstantTime([], [0]))
    for index in bytes.indices {
      for bit in 0..<8 {
        var other = bytes
        other[index] ^= 1 << bit
        #expect(!isEqualInConstantTime(bytes, other))
      }
    }
  }
}

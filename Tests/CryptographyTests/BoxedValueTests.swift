import Cryptography
import Testing

/// Private keys for boxes: the bytes 0 to 31, and 100 to 131.
private let olderBoxEntry = "c1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
private let newerBoxEntry = "c_2:\(base64URLEncoded(Array(100..<132)))"

@Suite struct BoxedValueTests {
  let keys: BoxKeys
  let older: BoxKeys

  init() throws {
    keys = try BoxKeys(parsing: "\(newerBoxEntry),\(olderBoxEntry)")
    older = try BoxKeys(parsing: olderBoxEntry)
  }

  /// A C program sealed this value with libsodium.
  @Test func aValueSealedByAnotherProgramOpens() throws {
    let sealed =
      "box:c1.C06EggKVbdnMtZBbfy6s1LSdtHPw_RpeC5h0TEZwPRPbhe5dl9whfgI2mKDYIhaoYV3MhXGqW2FC5IyB1CUv0rd6lzvEZfYw"
      + "ZbzMAsFp3Be0-XP405AG"
    let opened = try open(sealed, authenticating: "banks.client_secret:42", with: keys)
    #expect(opened == Array("secret!".utf8))
  }

  /// The public key for these bytes is in RFC 7748 §6.1.
  @Test func thePublicHalfIsThatOfX25519() {
    #expect(older.publicKeys.entries == ["public:c1:j0DFrbaPJWJK5bIU6nZ6bslNgp09e14a0bpvPiE4KF8"])
  }

  @Test(arguments: [0, 1, 15, 16, 17, 1000, 100_000])
  func boxedValuesOpenWithTheirContext(size: Int) throws {
    let plaintext = randomBytes(size)
    let sealed = seal(plaintext, authenticating: "context é", for: keys.publicKeys)
    #expect(try open(sealed, authenticating: "context é", with: keys) == plaintext)
  }

  @Test func whoKnowsOnlyThePrintedPublicKeysSealsWithTheNewest() throws {
    let printed = keys.publicKeys.entries.joined(separator: "\n")
    let known = try BoxPublicKeys(parsing: printed)
    let sealed = seal([1, 2, 3], authenticating: "a", for: known)
    #expect(sealed.hasPrefix("box:c_2."))
    #expect(try open(sealed, authenticating: "a", with: keys) == [1, 2, 3])
    // Public keys in the form of private keys open nothing.
    #expect(throws: CryptographyError.unauthentic) {
      let keys = try BoxKeys(parsing: printed.replacing("public:", with: ""))
      return try open(sealed, authenticating: "a", with: keys)
    }
  }

  @Test func boxedValuesHoldKeyIDAndABoxOfDigestAndPlaintext() throws {
    let sealed = seal([1, 2, 3], authenticating: "", for: keys.publicKeys)
    let parts = sealed.split(separator: ".")
    #expect(parts.count == 2)
    #expect(parts[0] == "box:c_2")
    #expect(base64URLDecoded(String(parts[1]))?.count == 32 + 16 + 32 + 3)
    #expect(sealed.hasPrefix(boxPrefix(of: keys.publicKeys)))
  }

  @Test func sealingTwiceGivesDifferentValues() {
    let values = (0..<100).map { _ in seal([1], authenticating: "", for: keys.publicKeys) }
    #expect(Set(values).count == values.count)
  }

  @Test func olderKeysStillOpenAndRemovedOnesDoNot() throws {
    let sealed = seal([1, 2, 3], authenticating: "a", for: older.publicKeys)
    #expect(try open(sealed, authenticating: "a", with: keys) == [1, 2, 3])
    let newest = seal([1, 2, 3], authenticating: "a", for: keys.publicKeys)
    #expect(throws: CryptographyError.unknownKey) {
      try open(newest, authenticating: "a", with: older)
    }
  }

  @Test func valuesDoNotOpenWithAnotherContext() {
    let sealed = seal([1, 2, 3], authenticating: "banks:42", for: keys.publicKeys)
    for context in ["banks:43", "banks:4", "banks:422", "", "Banks:42"] {
      #expect(throws: CryptographyError.unauthentic) {
        try open(sealed, authenticating: context, with: keys)
      }
    }
  }

  @Test func valuesDoNotOpenWithAnotherKeyOfTheSameID() throws {
    let other = try BoxKeys(parsing: "c1:\(base64URLEncoded(Array(1..<33)))")
    let sealed = seal([1, 2, 3], authenticating: "a", for: older.publicKeys)
    #expect(throws: CryptographyError.unauthentic) {
      try open(sealed, authenticating: "a", with: other)
    }
  }

  @Test func theKeyIDIsAuthenticated() throws {
    let secret = base64URLEncoded(Array(0..<32))
    let twins = try BoxKeys(parsing: "one:\(secret),two:\(secret)")
    let sealed = seal([1, 2, 3], authenticating: "a", for: twins.publicKeys)
    #expect(throws: CryptographyError.unauthentic) {
      try open("box:two" + sealed.dropFirst(7), authenticating: "a", with: twins)
    }
  }

  /// One key of each kind, with the same id and bytes.
  @Test func neitherKindOfKeyOpensWhatTheOtherSealed() throws {
    let keyring = try Keyring(parsing: olderBoxEntry)
    let boxed = seal([1, 2, 3], authenticating: "a", for: older.publicKeys)
    #expect(throws: CryptographyError.unknownKey) {
      try open(boxed, authenticating: "a", with: keyring)
    }
    #expect(throws: CryptographyError.unauthentic) {
      try open(String(boxed.dropFirst(4)), authenticating: "a", with: keyring)
    }
    let sealed = seal([1, 2, 3], authenticating: "a", with: keyring)
    #expect(throws: CryptographyError.malformed) {
      try open(sealed, authenticating: "a", with: older)
    }
  }

  @Test(arguments: [
    "", ".", "box:", "box:c1", "box:c1.", "box:c1.AAAA", "box:c1.AAAA AAAA",
    "box:c1.\(base64URLEncoded(Array(0..<79)))", "box:c1.\(base64Encoded(Array(0..<100)))",
    "box:c1.\(base64URLEncoded(Array(0..<100)))\n", "box:c1..\(base64URLEncoded(Array(0..<100)))",
    "box:c1.\(base64URLEncoded(Array(0..<100))).", "c1.\(base64URLEncoded(Array(0..<100)))",
    "Box:c1.\(base64URLEncoded(Array(0..<100)))",
  ])
  func otherTextsAreMalformed(_ text: String) {
    #expect(throws: CryptographyError.malformed) {
      try open(text, authenticating: "", with: keys)
    }
  }

  @Test(arguments: ["", "c", "C1", " c1", "c1 ", "/c1", "box:c1"])
  func unknownKeyIDsAreRefused(_ id: String) {
    #expect(throws: CryptographyError.unknownKey) {
      try open("box:\(id).\(base64URLEncoded(Array(0..<100)))", authenticating: "", with: keys)
    }
  }

  @Test func valuesWithAFlippedBitAreRefused() throws {
    let sealed = seal(Array("secret".utf8), authenticating: "a", for: older.publicKeys)
    for flipped in bitFlips(of: sealed) {
      #expect(throws: CryptographyError.self, "\(flipped)") {
        try open(flipped, authenticating: "a", with: keys)
      }
    }

    let bytes = try #require(base64URLDecoded(String(sealed.split(separator: ".")[1])))
    for bit in 0..<(8 * bytes.count) {
      var flipped = bytes
      flipped[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: CryptographyError.unauthentic) {
        try open("box:c1.\(base64URLEncoded(flipped))", authenticating: "a", with: keys)
      }
    }
  }

  @Test func truncatedValuesAreRefused() {
    let sealed = seal(Array(0..<40), authenticating: "a", for: keys.publicKeys)
    for size in 0..<sealed.utf8.count {
      #expect(throws: CryptographyError.self) {
        try open(String(sealed.prefix(size)), authenticating: "a", with: keys)
      }
    }
  }
}

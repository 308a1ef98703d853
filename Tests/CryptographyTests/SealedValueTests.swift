import Cryptography
import Testing

@Suite struct SealedValueTests {
  let keyring: Keyring
  let older: Keyring

  init() throws {
    keyring = try Keyring(parsing: "\(newerEntry),\(olderEntry)")
    older = try Keyring(parsing: olderEntry)
  }

  /// Another implementation of HMAC and AES-GCM made these values.
  @Test(arguments: [
    (
      "2026-11.yMnKy8zNzs_Q0dLT7EgYCKvI0MyVLuh2_LfxvykthZO5rJ3VJ5Jc6Qwl7xEFsYIQ67VP",
      "banks.client_secret:42", "client_secret of a bank"
    ),
    ("2026-11.yMnKy8zNzs_Q0dLT96Gt3IZL1xhhoQcQn0XDoA", "", ""),
  ])
  func valuesSealedByAnotherProgramOpen(_ sealed: String, _ context: String, _ text: String) throws
  {
    #expect(try open(sealed, authenticating: context, with: keyring) == Array(text.utf8))
  }

  @Test(arguments: [0, 1, 15, 16, 17, 1000, 100_000])
  func sealedValuesOpenWithTheirContext(size: Int) throws {
    let plaintext = randomBytes(size)
    let sealed = seal(plaintext, authenticating: "context é", with: keyring)
    #expect(try open(sealed, authenticating: "context é", with: keyring) == plaintext)
  }

  @Test func sealedValuesHoldKeyIDNonceCiphertextAndTag() throws {
    let sealed = seal([1, 2, 3], authenticating: "", with: keyring)
    let parts = sealed.split(separator: ".")
    #expect(parts.count == 2)
    #expect(parts[0] == "next_KEY")
    #expect(base64URLDecoded(String(parts[1]))?.count == 12 + 3 + 16)
  }

  @Test func sealingTwiceGivesDifferentValues() {
    let values = (0..<1000).map { _ in seal([1, 2, 3], authenticating: "", with: keyring) }
    #expect(Set(values).count == values.count)
  }

  @Test func olderKeysStillOpen() throws {
    let sealed = seal([1, 2, 3], authenticating: "a", with: older)
    #expect(try open(sealed, authenticating: "a", with: keyring) == [1, 2, 3])
  }

  @Test func valuesOfARemovedKeyDoNotOpen() {
    let sealed = seal([1, 2, 3], authenticating: "a", with: keyring)
    #expect(throws: CryptographyError.unknownKey) {
      try open(sealed, authenticating: "a", with: older)
    }
  }

  @Test func valuesDoNotOpenWithAnotherContext() {
    let sealed = seal([1, 2, 3], authenticating: "banks:42", with: keyring)
    for context in ["banks:43", "banks:4", "banks:422", "", "Banks:42"] {
      #expect(throws: CryptographyError.unauthentic) {
        try open(sealed, authenticating: context, with: keyring)
      }
    }
  }

  @Test func valuesDoNotOpenWithAnotherSecretOfTheSameID() throws {
    let other = try Keyring(parsing: "next_KEY:\(base64URLEncoded(Array(0..<32)))")
    let sealed = seal([1, 2, 3], authenticating: "a", with: keyring)
    #expect(throws: CryptographyError.unauthentic) {
      try open(sealed, authenticating: "a", with: other)
    }
  }

  @Test func theKeyIDIsAuthenticated() throws {
    let secret = base64URLEncoded(Array(0..<32))
    let twins = try Keyring(parsing: "one:\(secret),two:\(secret)")
    let sealed = seal([1, 2, 3], authenticating: "a", with: twins)
    #expect(throws: CryptographyError.unauthentic) {
      try open("two" + sealed.dropFirst(3), authenticating: "a", with: twins)
    }
  }

  @Test(arguments: [
    "", ".", "next_KEY", "next_KEY.", "next_KEY.AAAA", "next_KEY.AAAA AAAA",
    "next_KEY.\(base64URLEncoded(Array(0..<27)))", "next_KEY.\(base64Encoded(Array(0..<40)))",
    "next_KEY.\(base64URLEncoded(Array(0..<40)))\n", "next_KEY..\(base64URLEncoded(Array(0..<40)))",
    "next_KEY.\(base64URLEncoded(Array(0..<40))).",
  ])
  func otherTextsAreMalformed(_ text: String) {
    #expect(throws: CryptographyError.malformed) {
      try open(text, authenticating: "", with: keyring)
    }
  }

  @Test(arguments: ["", "next", "NEXT_KEY", " next_KEY", "next_KEY ", "/next_KEY"])
  func unknownKeyIDsAreRefused(_ id: String) {
    #expect(throws: CryptographyError.unknownKey) {
      try open("\(id).\(base64URLEncoded(Array(0..<40)))", authenticating: "", with: keyring)
    }
  }

  @Test func valuesWithAFlippedBitAreRefused() throws {
    let sealed = seal(Array("secret".utf8), authenticating: "a", with: keyring)
    for flipped in bitFlips(of: sealed) {
      #expect(throws: CryptographyError.self, "\(flipped)") {
        try open(flipped, authenticating: "a", with: keyring)
      }
    }

    let bytes = try #require(base64URLDecoded(String(sealed.split(separator: ".")[1])))
    for bit in 0..<(8 * bytes.count) {
      var flipped = bytes
      flipped[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: CryptographyError.unauthentic) {
        try open("next_KEY.\(base64URLEncoded(flipped))", authenticating: "a", with: keyring)
      }
    }
  }

  @Test func truncatedValuesAreRefused() {
    let sealed = seal(Array(0..<40), authenticating: "a", with: keyring)
    for size in 0..<sealed.utf8.count {
      #expect(throws: CryptographyError.self) {
        try open(String(sealed.prefix(size)), authenticating: "a", with: keyring)
      }
    }
  }
}

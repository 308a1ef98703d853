import Cryptography
import Testing

@Suite struct BoxKeysTests {
  private static let entry = "c1:\(base64URLEncoded(Array(0..<32)))"

  @Test(arguments: ["c1", "c1:", "c1:AAAA AAAA", "c1:a:b", ":", "\(entry):"])
  func otherTextsAreRefused(_ text: String) {
    #expect(throws: CryptographyError.self) { try BoxKeys(parsing: text) }
    #expect(throws: CryptographyError.self) { try BoxPublicKeys(parsing: text) }
    #expect(throws: CryptographyError.self) { try BoxPublicKeys(parsing: "public:\(text)") }
  }

  @Test(arguments: [
    "", " ,\n", "\(entry),\(entry)", "c.1:\(base64URLEncoded(Array(0..<32)))",
    "c1:\(base64URLEncoded(Array(0..<31)))", "c1:\(base64URLEncoded(Array(0..<33)))",
    "box:c1:\(base64URLEncoded(Array(0..<32)))",
  ])
  func keysOfAnotherSizeAndRepeatedIDsAreRefused(_ text: String) {
    #expect(throws: CryptographyError.self) { try BoxKeys(parsing: text) }
    #expect(throws: CryptographyError.self) { try BoxPublicKeys(parsing: text) }
    let entries = text.split(separator: ",").map { "public:\($0)" }.joined(separator: ",")
    #expect(throws: CryptographyError.self) { try BoxPublicKeys(parsing: entries) }
  }

  /// With such a key an attacker could compute the shared secret (RFC 7748 §6.1).
  @Test(arguments: [
    [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31),
    [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
  ])
  func publicKeysOfLowOrderAreRefused(_ bytes: [UInt8]) {
    #expect(throws: CryptographyError.invalidKey) {
      try BoxPublicKeys(parsing: "public:c1:\(base64URLEncoded(bytes))")
    }
  }

  @Test func commasAndLinesSeparateKeysAndTheOrderStays() throws {
    let other = "c0:\(base64URLEncoded(Array(1..<33)))"
    let keys = try BoxKeys(parsing: "\n \(Self.entry) ,\r\n\(other)\n")
    #expect(keys.publicKeys.entries.map { $0.prefix(10) } == ["public:c1:", "public:c0:"])
  }

  /// A responder with the file of private keys instead of public keys does not start.
  @Test func privateAndPublicKeysAreNotMistakenForEachOther() throws {
    let entries = try BoxKeys(parsing: Self.entry).publicKeys.entries.joined()
    #expect(try BoxPublicKeys(parsing: entries).entries == [entries])
    #expect(throws: CryptographyError.malformed) { try BoxPublicKeys(parsing: Self.entry) }
    #expect(throws: CryptographyError.malformed) { try BoxKeys(parsing: entries) }
  }

  @Test func keysDoNotPrintTheirSecrets() throws {
    let secret = [UInt8](repeating: 167, count: 32)
    let keys = try BoxKeys(parsing: "key:\(base64URLEncoded(secret))")
    var descriptions = ["\(keys)", String(reflecting: keys), ""]
    dump(keys, to: &descriptions[2])
    for description in descriptions {
      for form in ["167", String(base64URLEncoded(secret).prefix(8)), "a7a7", "A7", "\u{A7}"] {
        #expect(!description.contains(form))
      }
    }
    #expect(descriptions[2].contains("key"), "the id may be shown")
  }
}

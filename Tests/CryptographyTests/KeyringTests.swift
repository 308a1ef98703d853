import Cryptography
import Testing

@Suite struct KeyringTests {
  @Test func theFirstEntryIsTheNewestKey() throws {
    let keyring = try Keyring(parsing: "\(newerEntry),\(olderEntry)")
    #expect(keyring.newest.id == "next_KEY")
    #expect(keyring.keys.map(\.id) == ["next_KEY", "2026-11"])
    #expect(keyring["2026-11"]?.id == "2026-11")
    #expect(keyring["2026-1"] == nil)
    #expect(keyring[""] == nil)
  }

  @Test(arguments: [
    "\(newerEntry),\(olderEntry)", "\(newerEntry)\n\(olderEntry)\n",
    "\r\n \(newerEntry) \r\n\r\n\t\(olderEntry)\t\r\n", " \(newerEntry) ,\n, \(olderEntry),",
  ])
  func entriesAreSeparatedByCommasOrLines(_ text: String) throws {
    let keyring = try Keyring(parsing: text)
    let secret = Array(UInt8(100)..<140)
    #expect(keyring.keys.map(\.id) == ["next_KEY", "2026-11"])
    #expect(
      hmacSHA256("m", with: keyring.newest) == hmacSHA256("m", with: try makeKey(secret: secret)))
  }

  @Test(arguments: [
    "key", "key:", ":\(secret)", "key:\(secret)=", "key:\(secret) x", "key :\(secret)",
    "key:\(secret):", "k:e:\(secret)", "key:\(secret)*", "key=\(secret)", "key: \(secret)",
    "\(olderEntry);\(newerEntry)", "\(olderEntry) \(newerEntry)", "é:\(secret)", "a/b:\(secret)",
    "a.b:\(secret)", "\u{200B}k:\(secret)", "\(olderEntry),key", "key:\(shortSecret)",
    "\(olderEntry),key:\(shortSecret)", "\(tooLongID):\(secret)", "", " ", "\n,\n",
    "\(olderEntry),\(olderEntry)", "\(olderEntry),\(newerEntry),2026-11:\(secret)",
  ])
  func malformedListsAreRefused(_ text: String) {
    let error = #expect(throws: CryptographyError.self) { try Keyring(parsing: text) }
    #expect(error == .malformed || error == .invalidKey)
  }

  @Test(arguments: [
    ("key=\(secret)", CryptographyError.malformed), ("key:\(secret)=", .malformed),
    ("key:\(shortSecret)", .invalidKey), ("\(olderEntry)\n\(olderEntry)", .invalidKey),
    ("a.b:\(secret)", .invalidKey), ("", .invalidKey),
  ])
  func malformedListsAndInvalidKeysDiffer(_ text: String, _ error: CryptographyError) {
    #expect(throws: error) { try Keyring(parsing: text) }
  }

  @Test(arguments: ["a", "AZaz09_-", String(repeating: "k", count: 32)])
  func keyIDsMayUseTheirWholeAlphabet(_ id: String) throws {
    #expect(try makeKey(id, secret: Array(0..<32)).id == id)
  }

  @Test(arguments: ["", tooLongID, "a b", "a.b", "a/b", "a\"b", "a\\b", "ä", "a\n", "a\0"])
  func otherKeyIDsAreRefused(_ id: String) {
    #expect(throws: CryptographyError.invalidKey) { try makeKey(id, secret: Array(0..<32)) }
  }

  @Test func shortSecretsAreRefused() {
    #expect(throws: CryptographyError.invalidKey) { try makeKey(secret: Array(0..<31)) }
    #expect(throws: CryptographyError.invalidKey) { try makeKey(secret: []) }
  }

  @Test func secretsLendTheirBytes() {
    let bytes = Array(UInt8(0)..<50)
    let secret = Secret(copying: bytes.span)
    #expect(secret.count == 50)
    #expect(secret.withBytes { sha256($0) } == sha256(bytes))
  }

  @Test func descriptionsOfKeysShowNoSecret() throws {
    let secret = [UInt8](repeating: 167, count: 32)
    let keyring = try Keyring(parsing: "key:\(base64URLEncoded(secret))")
    var descriptions = [
      "\(keyring)", String(reflecting: keyring), "\(keyring.newest)",
      String(reflecting: keyring.newest), "",
    ]
    dump(keyring, to: &descriptions[4])
    for description in descriptions {
      for form in ["167", String(base64URLEncoded(secret).prefix(8)), "a7a7", "A7", "\u{A7}"] {
        #expect(!description.contains(form))
      }
    }
    #expect(descriptions[4].contains("key"), "the id may be shown")
  }

  @Test func errorsShowNoValue() {
    let text = "key:\(shortSecret)"
    let error = #expect(throws: CryptographyError.self) { try Keyring(parsing: text) }
    #expect(String(reflecting: error).contains("invalidKey"))
    #expect(!String(reflecting: error).contains(shortSecret))
  }
}

private let secret = base64URLEncoded(Array(0..<32))
private let shortSecret = base64URLEncoded(Array(0..<31))
private let tooLongID = String(repeating: "k", count: 33)

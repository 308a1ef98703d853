import Cryptography
import Testing

@Suite struct CodecTests {
  /// Examples of RFC 4648 §10.
  @Test(arguments: [
    ("", "", ""), ("f", "Zg==", "66"), ("fo", "Zm8=", "666f"), ("foo", "Zm9v", "666f6f"),
    ("foob", "Zm9vYg==", "666f6f62"), ("fooba", "Zm9vYmE=", "666f6f6261"),
    ("foobar", "Zm9vYmFy", "666f6f626172"),
  ])
  func examplesOfTheStandardAreEncodedAndDecoded(_ text: String, _ base64: String, _ hex: String) {
    let bytes = Array(text.utf8)
    let unpadded = String(base64.prefix { $0 != "=" })
    #expect(base64Encoded(bytes) == base64)
    #expect(base64Decoded(base64) == bytes)
    #expect(base64URLEncoded(bytes) == unpadded)
    #expect(base64URLDecoded(unpadded) == bytes)
    #expect(hexEncoded(bytes) == hex)
    #expect(hexDecoded(hex) == bytes)
  }

  @Test func theAlphabetsDifferInTheirLastTwoSymbols() {
    let bytes: [UInt8] = [0xFB, 0xEF, 0xBE, 0xFF, 0xFF, 0xFF]
    #expect(base64Encoded(bytes) == "++++////")
    #expect(base64URLEncoded(bytes) == "----____")
    #expect(base64Decoded("----____") == nil)
    #expect(base64URLDecoded("++++////") == nil)
  }

  @Test func allBytesRoundTrip() {
    let bytes = Array(UInt8.min...UInt8.max)
    for size in 0...bytes.count {
      let part = Array(bytes.suffix(size))
      #expect(base64Decoded(base64Encoded(part)) == part)
      #expect(base64URLDecoded(base64URLEncoded(part)) == part)
      #expect(hexDecoded(hexEncoded(part)) == part)
    }
  }

  @Test(arguments: [
    "Zg==", "Zm8=", "=", "A", "AAAAA", "Zg\n", " Zg", "Z g", "Zm9v\r\n", "Zm9v ", "Zm.v", "Zm9vé",
    "Zm9\0", "Zm9\u{FF5A}",
  ])
  func invalidBase64URLIsRefused(_ text: String) {
    #expect(base64URLDecoded(text) == nil)
  }

  @Test(arguments: [
    "Zg", "Zg=", "Zg===", "Zm8", "Zm8==", "Zm9v=", "Zm9v====", "=", "==", "===", "====", "Z===",
    "Zg==Zg==", "=Zg=", "Z=g=", "Zm9v\n", "Zm9v\r\n", " Zm9v", "Zm 9v", "Zm8=\n", "Zm9é",
  ])
  func invalidBase64IsRefused(_ text: String) {
    #expect(base64Decoded(text) == nil)
  }

  @Test(arguments: ["6", "666", "6G", "0x66", "66 ", "6F", "FF", "/0", ":0", "`0", "g0", "é"])
  func textsThatAreNotLowercaseHexAreRefused(_ text: String) {
    #expect(hexDecoded(text) == nil)
  }

  @Test(arguments: [(2, 256), (3, 256 * 4)])
  func differentTextsDecodeToDifferentBytes(size: Int, expected: Int) {
    let symbols = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let start = String(repeating: "Q", count: size - 2)  // 010000
    var texts: [[UInt8]: String] = [:]
    for first in symbols {
      for second in symbols {
        let text = start + String([first, second])
        guard let bytes = base64URLDecoded(text) else { continue }
        #expect(texts.updateValue(text, forKey: bytes) == nil)
        #expect(base64URLEncoded(bytes) == text)
      }
    }
    #expect(texts.count == expected)
  }

  @Test func strayBitsAreRefused() {
    #expect(base64URLDecoded("Zg") == [0x66])
    #expect(base64URLDecoded("Zh") == nil)
    #expect(base64URLDecoded("Zm9") == nil)
    #expect(base64Decoded("Zh==") == nil)
    #expect(base64Decoded("Zm9=") == nil)
  }
}

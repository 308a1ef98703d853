import Cryptography
import Testing

@Suite struct CBORTests {
  /// The examples of RFC 8949, appendix A, that the canonical form of CTAP2 allows.
  @Test(
    arguments: [
      ("00", .integer(0)), ("17", .integer(23)), ("1818", .integer(24)), ("18ff", .integer(255)),
      ("190100", .integer(256)), ("1a000f4240", .integer(1_000_000)),
      ("1b000000e8d4a51000", .integer(1_000_000_000_000)), ("1b7fffffffffffffff", .integer(.max)),
      ("20", .integer(-1)), ("3903e7", .integer(-1000)), ("3b7fffffffffffffff", .integer(.min)),
      ("f4", .boolean(false)), ("f5", .boolean(true)), ("f6", .null), ("40", .bytes([])),
      ("4401020304", .bytes([1, 2, 3, 4])), ("60", .text("")), ("6449455446", .text("IETF")),
      ("62c3bc", .text("ü")), ("80", .array([])), ("820102", .array([.integer(1), .integer(2)])),
      ("a0", .map([:])),
      ("a201020304", .map([.integer(1): .integer(2), .integer(3): .integer(4)])),
      ("a2616180616202", .map([.text("a"): .array([]), .text("b"): .integer(2)])),
      ("a2036161200a", .map([.integer(3): .text("a"), .integer(-1): .integer(10)])),
    ] as [(String, CBOR)])
  func canonicalValuesAreRead(_ text: String, _ value: CBOR) throws {
    let bytes = try #require(hexDecoded(text))
    #expect(try CBOR(decoding: bytes[...]) == value)
    var rest = (bytes + [0xFF])[...]
    #expect(try CBOR(takenFrom: &rest) == value)
    #expect(rest == [0xFF])
  }

  @Test(arguments: [
    "", "0000", "1800", "1817", "190000", "1900ff", "1a0000ffff", "1b00000000ffffffff",  // too long
    "5800", "590001ff", "7817" + String(repeating: "61", count: 23), "9800", "b800",
    "1b8000000000000000", "3b8000000000000000", "1bffffffffffffffff",  // too large
    "18", "19ff", "1a0000", "1bffffff", "41", "62c3", "81", "a1", "a101", "8201",  // truncated
    "1c", "1d", "1e", "1f", "3c", "5c", "fc", "fe",  // reserved
    "5f4101ff", "7f6161ff", "9f01ff", "bf0102ff", "9fff", "ff",  // indefinite length
    "c001", "c11a514b67b0", "d818456449455446", "d9d9f700",  // tags
    "f7", "e0", "f0", "f800", "f814", "f8ff", "f90000", "fa47c35000",  // simple
    "61ff", "62c328", "63eda080", "62c080", "64f4908080",  // not UTF-8
    "a201010102", "a2616101616102", "a3010203040105",  // duplicate members
    "a1400a", "a1f500", "a18000", "a1a000",  // names of other types
  ])
  func otherValuesAreMalformed(_ text: String) throws {
    let bytes = try #require(hexDecoded(text))
    #expect(throws: CryptographyError.malformed) { try CBOR(decoding: bytes[...]) }
  }

  /// A length is compared with the remaining input before anything is allocated.
  @Test(arguments: [
    "5bffffffffffffffff", "5b7fffffffffffffff", "7b7fffffffffffffff", "9b7fffffffffffffff",
    "bb7fffffffffffffff", "bb4000000000000000", "9affffffff", "baffffffff", "5affffffff", "59ffff",
    "42ff",
    "820102", "a2010203",
  ])
  func lengthsBeyondTheInputAreMalformed(_ text: String) throws {
    let bytes = try #require(hexDecoded(text))
    #expect(throws: CryptographyError.malformed) { try CBOR(decoding: bytes[...].dropLast()) }
  }

  @Test func depthIsLimited() throws {
    for (head, last) in [([0x81], [0x80]), ([0xA1, 0x00], [0xA0])] as [([UInt8], [UInt8])] {
      func nested(_ levels: Int) -> [UInt8] {
        (1..<levels).flatMap { _ in head } + last
      }
      _ = try CBOR(decoding: nested(CBOR.maximumDepth)[...])
      for levels in [CBOR.maximumDepth + 1, 30_000] {
        #expect(throws: CryptographyError.malformed) { try CBOR(decoding: nested(levels)[...]) }
      }
    }
  }

  @Test func theNumberOfValuesIsLimited() throws {
    let most = CBOR.maximumCount - 1  // the array counts too
    let array = [0x98, UInt8(most)] + [UInt8](repeating: 0, count: most)
    #expect(try CBOR(decoding: array[...]).array?.count == most)
    let more = [0x99, 1, 0] + [UInt8](repeating: 0, count: most + 1)
    #expect(throws: CryptographyError.malformed) { try CBOR(decoding: more[...]) }
  }

  @Test func theSizeIsLimited() throws {
    let most = CBOR.maximumSize - 3
    let bytes = [0x59, UInt8(most >> 8), UInt8(most & 0xFF)] + [UInt8](repeating: 0, count: most)
    #expect(try CBOR(decoding: bytes[...]).bytes?.count == most)
    var more = (bytes + [0])[...]
    #expect(throws: CryptographyError.malformed) { try CBOR(takenFrom: &more) }
  }

  @Test func slicesAreReadLikeArrays() throws {
    let bytes: [UInt8] = [9, 9, 0xA1, 0x61, 0x61, 0x42, 1, 2, 9]
    let value = try CBOR(decoding: bytes[2..<8])
    #expect(value["a"]?.bytes == [1, 2])
    #expect(value["b"] == nil)
    #expect(value[1] == nil)
    #expect(value.array == nil)
  }
}

import Base
import Foundation
import Support
import Testing

@Suite struct JSONWriterTests {
  private func written(_ value: String) -> String {
    String(decoding: JSONWriter.object { $0.member("v", value) }, as: UTF8.self)
  }

  @Test(arguments: [
    ("", #"{"v":""}"#), ("a", #"{"v":"a"}"#), (#"""#, #"{"v":"\""}"#), (#"\"#, #"{"v":"\\"}"#),
    ("/", #"{"v":"/"}"#), ("\n", #"{"v":"\u000a"}"#), ("\0", #"{"v":"\u0000"}"#),
    ("\u{1f}x", #"{"v":"\u001fx"}"#), ("\u{7f}", "{\"v\":\"\u{7f}\"}"),
    ("\u{2028}", "{\"v\":\"\u{2028}\"}"), ("é🎉", #"{"v":"é🎉"}"#),
    (#""\""#, #"{"v":"\"\\\""}"#), ("a\"b", #"{"v":"a\"b"}"#),
  ])
  func stringsAreEscaped(value: String, json: String) {
    #expect(written(value) == json)
  }

  @Test func namesAreEscaped() {
    let bytes = JSONWriter.object { json in
      json.member(named: #"a"b"#, 1)
      json.member(named: "c", -2)
      json.member("d", 3)
    }
    #expect(String(decoding: bytes, as: UTF8.self) == #"{"a\"b":1,"c":-2,"d":3}"#)
  }

  @Test func everyScalarCanBeReadBack() throws {
    var text = ""
    for value in (UInt32(0)...0x3000).map({ $0 }) + [
      0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x1f389, 0x10ffff,
    ] {
      if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
    }
    let object = try JSONSerialization.jsonObject(with: Data(written(text).utf8))
    let back = try #require((object as? [String: String])?["v"])
    // Compares bytes, because equality of strings does not distinguish é from e with an accent.
    #expect(Array(back.utf8) == Array(text.utf8))
  }

  @Test(arguments: [
    (Int64.min, "-9223372036854775808"), (.max, "9223372036854775807"), (0, "0"), (-1, "-1"),
    (9, "9"), (10, "10"), (-10, "-10"), (1_000_000, "1000000"),
  ])
  func integersAreWrittenExactly(value: Int64, digits: String) {
    let bytes = JSONWriter.object { $0.member("v", value) }
    #expect(String(decoding: bytes, as: UTF8.self) == #"{"v":\#(digits)}"#)
  }

  @Test func membersKeepTheirOrderAndAreSeparatedByCommas() {
    let bytes = JSONWriter.object { json in
      json.member("z", true)
      json.member("a", false)
      json.member("n", String?.none)
      json.member("s", String?.some("x"))
      json.member("empty", object: { _ in })
      json.member("none", array: { _ in })
      json.member("raw", json: Array("[1,2]".utf8))
      json.member(
        "list",
        array: { array in
          array.string("1")
          array.object { $0.member("i", 1) }
          array.array { $0.string("2") }
          array.object { _ in }
        })
      json.member("last", object: { $0.member("deep", object: { $0.member("er", "!") }) })
      json.member("end", 1)
    }
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == #"{"z":true,"a":false,"n":null,"s":"x","empty":{},"none":[],"raw":[1,2],"#
        + #""list":["1",{"i":1},["2"],{}],"last":{"deep":{"er":"!"}},"end":1}"#)
  }

  @Test func arraysNestToAnyDepth() throws {
    func nest(_ json: inout JSONWriter, _ depth: Int) {
      json.array { if depth > 1 { nest(&$0, depth - 1) } }
    }
    var json = JSONWriter()
    nest(&json, 300)
    #expect(
      String(decoding: json.bytes, as: UTF8.self)
        == String(repeating: "[", count: 300) + String(repeating: "]", count: 300))
  }

  @Test func randomValuesCanBeReadBack() throws {
    var random = SeededGenerator(state: 1)
    for _ in 0..<2000 {
      let strings = (0..<Int.random(in: 0...5, using: &random)).map { _ in text(&random) }
      let number = Int64.random(in: .min ... .max, using: &random)
      let bytes = JSONWriter.object { json in
        json.member("strings", array: { for string in strings { $0.string(string) } })
        json.member("number", number)
        json.member("flag", number < 0)
      }
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
      let back = try #require(object["strings"] as? [String])
      #expect(back.map { Array($0.utf8) } == strings.map { Array($0.utf8) })
      #expect((object["number"] as? NSNumber)?.int64Value == number)
      #expect(object["flag"] as? Bool == (number < 0))
    }
  }

  /// Random text, in which controls, quotes and backslashes are as frequent as all other
  /// characters.
  private func text(_ random: inout SeededGenerator) -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0...40, using: &random) {
      let ranges: [ClosedRange<UInt32>] = [
        0...0x1f, 0x22...0x22, 0x5c...0x5c, 0x20...0x7f, 0x80...0xd7ff, 0xe000...0x10ffff,
      ]
      let value = UInt32.random(in: ranges.randomElement(using: &random)!, using: &random)
      text.unicodeScalars.append(Unicode.Scalar(value)!)
    }
    return text
  }
}

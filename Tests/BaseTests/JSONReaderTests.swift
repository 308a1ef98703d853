import Base
import Foundation
import Support
import Testing

/// Strict mode, the mode for requests and tokens.
@Suite struct JSONReaderTests {
  private func isValid(_ text: String) -> Bool { isValid(Array(text.utf8)) }

  private func isValid(_ json: [UInt8]) -> Bool { (try? JSONValue(json)) != nil }

  @Test(arguments: [
    ("-9223372036854775808", Int64.min), ("9223372036854775807", .max), ("0", 0), ("-0", 0),
    ("-1", -1), ("10", 10), ("9223372036854775808", nil), ("-9223372036854775809", nil),
    ("99999999999999999999", nil), ("1.0", nil), ("1e3", nil), (#""1""#, nil),
  ])
  func integersAreReadExactlyOrNotAtAll(digits: String, value: Int64?) {
    var reader = JSONReader(Array(digits.utf8))
    #expect((try? reader.integer()) == value)
  }

  @Test(arguments: ["01", "-", "--1", "+1"])
  func malformedNumbersAreRefused(text: String) {
    var reader = JSONReader(Array("[\(text)]".utf8))
    #expect(throws: (any Error).self) {
      try reader.array { element in _ = try element.integer() }
      try reader.end()
    }
  }

  @Test(arguments: [
    (#""""#, ""), (#""a\u00e9\n\"\\\/\b\f\r\t""#, "a\u{e9}\n\"\\/\u{8}\u{c}\r\t"),
    (#""\ud83c\udf89""#, "🎉"), (#""🎉é""#, "🎉é"), (#"  "x""#, "x"),
  ])
  func stringsAreUnescaped(text: String, value: String) throws {
    for mode in [JSONReader.Mode.strict, .lenient] {
      var reader = JSONReader(Array(text.utf8), mode)
      #expect(try reader.string() == value)
      try reader.end()
    }
  }

  @Test(arguments: [
    #""\ud83c""#, #""\ud83cx""#, #""\udc00""#, #""\x""#, #""\u12""#, #""\"#, "\"a\nb\"",
    "\"a\u{0}\"",
    #""a"#,
  ])
  func malformedStringsAreRefused(text: String) {
    var reader = JSONReader(Array(text.utf8))
    #expect(throws: JSONReader.Failure.malformed) { try reader.string() }
    #expect(!isValid(text))
  }

  @Test func bytesThatAreNoUTF8AreRefused() {
    for bytes: [UInt8] in [
      [0x22, 0xff, 0x22], [0x22, 0xc3, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22],
    ] {
      #expect(!isValid(bytes))
    }
  }

  @Test(arguments: [
    "null", "true", "[]", "{}", " [1 , 2.5e-3 ] ", #"{"a":{"b":[null,false,"x"]},"a":1}"#, "-0.0",
  ])
  func wellFormedTextIsValid(text: String) {
    #expect(isValid(text))
    #expect(
      (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil)
  }

  @Test(arguments: [
    "", " ", "{", "}", "[1,]", "[1 2]", #"{"a"}"#, #"{"a":}"#, #"{a:1}"#, #"{"a":1,}"#, "[1]]",
    "[1}", "nul", "True", "1.", ".5", "1e", "[@]", "{} x", #"{"a":1 "b":2}"#,
  ])
  func malformedTextIsNotValid(text: String) {
    #expect(!isValid(text))
  }

  @Test func anotherTypeIsReported() {
    var reader = JSONReader(Array("[]".utf8))
    #expect(throws: JSONReader.Failure.wrongType) { try reader.string() }
    #expect(throws: JSONReader.Failure.wrongType) { try reader.integer() }
    #expect(throws: JSONReader.Failure.wrongType) { try reader.boolean() }
    #expect(throws: JSONReader.Failure.wrongType) { try reader.object { _, _ in } }
  }

  @Test func theDepthIsLimited() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(isValid(nested(JSONReader.Mode.strict.maximumDepth)))
    #expect(!isValid(nested(JSONReader.Mode.strict.maximumDepth + 1)))
    #expect(!isValid(nested(100_000)))
  }

  /// This reader refuses every text that Foundation cannot read.
  @Test func mutatedTextIsNotMoreValidThanForFoundation() {
    let genuine = [
      #"{"sub":"a","iat":1767052790,"list":[1,-2.5e3,true,null,"\u00e9\n"],"o":{"x":{}}}"#,
      #"["🎉",{"a":"\ud83c\udf89","b":[[],[0]]},false]"#,
    ]
    var generator = SeededGenerator(state: 3)
    for _ in 0..<5000 {
      let bytes = generator.mutate(genuine)
      guard isValid(bytes) else { continue }
      let object = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
      #expect(object != nil, "\(String(decoding: bytes, as: UTF8.self))")
    }
  }
}

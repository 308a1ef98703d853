import Base
import Testing

/// Decoding of whole values.
@Suite struct JSONValueDecoderTests {
  private struct Order: Decodable, Equatable {
    struct Item: Decodable, Equatable {
      let name: String
      let count: Int8?
    }

    let id: String
    let items: [Item]
    let note: String?
    let tags: [String: Bool]?
  }

  private func order(_ text: String) throws -> Order { try decode(Order.self, text) }

  private func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try decoded(type, from: Array(text.utf8))
  }

  @Test func membersInAnyOrderAreDecoded() throws {
    #expect(
      try order(
        #" {"more":[{}],"items":[{"count":3.0,"name":"\u0061"},{"name":"b","count":null}],"id":"7","tags":{"x":true}} "#
      )
        == Order(
          id: "7", items: [.init(name: "a", count: 3), .init(name: "b", count: nil)], note: nil,
          tags: ["x": true]))
  }

  @Test(arguments: [
    (#"{"id":"1","items":[],"i\u0064":"2"}"#, "id"),
    (#"{"id":"1","items":[{"name":"a","name":"a"}]}"#, "items.0.name"),
    (#"{"id":"1","items":[],"note":null,"note":"x"}"#, "note"),
  ])
  func aRepeatedMemberIsRefused(text: String, path: String) {
    let error = #expect(throws: RepeatedMember.self) { try order(text) }
    #expect(error?.path == path)
  }

  @Test func aRepeatedMemberThatNoOneDecodesIsIgnored() throws {
    #expect(try order(#"{"id":"1","items":[],"x":1,"x":2}"#).id == "1")
  }

  @Test(arguments: [
    (#"{"items":[]}"#, "missing", "id"), (#"{"id":1,"items":[]}"#, "type", "id"),
    (#"{"id":null,"items":[]}"#, "null", "id"), (#"{"id":"","items":{}}"#, "type", "items"),
    (#"{"id":"","items":[{"name":"a"},{"name":7}]}"#, "type", "items.1.name"),
    (#"{"id":"","items":[{"name":"a","count":128}]}"#, "corrupted", "items.0.count"),
    (#"{"id":"","items":[{"name":"a","count":1.5}]}"#, "corrupted", "items.0.count"),
    (#"{"id":"","items":[null]}"#, "null", "items.0"), ("[]", "type", ""), ("null", "null", ""),
  ])
  func theMemberThatDoesNotFitIsNamed(text: String, reason: String, path: String) throws {
    let error = try #require(throws: DecodingError.self) { try order(text) }
    let (found, keys): (String, [any CodingKey]) =
      switch error {
      case .keyNotFound(let key, let context): ("missing", context.codingPath + [key])
      case .typeMismatch(_, let context): ("type", context.codingPath)
      case .valueNotFound(_, let context): ("null", context.codingPath)
      case .dataCorrupted(let context): ("corrupted", context.codingPath)
      @unknown default: ("unknown", [])
      }
    #expect(found == reason)
    #expect(keys.map(\.stringValue).joined(separator: ".") == path)
  }

  @Test(arguments: ["", "{", "nul", "1 2", "01", #"{"a":}"#, "[1,]", "\"\u{1}\"", "tru", "{}x"])
  func textThatIsNotJSONIsRefused(text: String) {
    #expect(throws: JSONReader.Failure.malformed) { try decode(Bool?.self, text) }
  }

  @Test(
    arguments: [
      ("9223372036854775807", .max), ("-9223372036854775808", .min), ("9223372036854775808", nil),
      ("1e3", 1000), ("-0", 0), ("1.50", nil), ("1e400", nil),
      ("9007199254740993", 9_007_199_254_740_993),
    ] as [(String, Int64?)])
  func anIntegerIsExact(text: String, value: Int64?) throws {
    guard let value else {
      #expect(throws: DecodingError.self) { try decode(Int64.self, text) }
      return
    }
    #expect(try decode(Int64.self, text) == value)
  }

  @Test func aNumberKeepsItsText() throws {
    for text in ["1e400", "0.10", "-0", "12345678901234567890.5"] {
      #expect(try decode(JSONNumber.self, text).text == text)
    }
    #expect(try decode([JSONNumber?].self, "[1.0,null]").map { $0?.text } == ["1.0", nil])
    #expect(throws: DecodingError.self) { try decode(JSONNumber.self, #""1""#) }
    #expect(throws: DecodingError.self) { try decode(Double.self, "1e400") }
  }
}

/// A JSON value of any type (RFC 8259 §3).
package enum JSONValue: Sendable {
  case null
  case boolean(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSONValue])
  /// Members in the order of the text. A name may stand twice.
  case object([(name: String, value: JSONValue)])

  /// - Throws: ``JSONReader/Failure/malformed`` unless `bytes` are one JSON value.
  package init(_ bytes: [UInt8]) throws {
    var reader = JSONReader(bytes)
    self = try reader.value()
    try reader.end()
  }
}

/// A number as it is written. It never becomes a binary fraction, unless it is decoded as one.
package struct JSONNumber: Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }
}

extension JSONReader {
  /// Reads a value of any type.
  mutating func value() throws -> JSONValue {
    switch try start() {
    case UInt8(ascii: "{"):
      var members: [(name: String, value: JSONValue)] = []
      try object { name, reader in members.append((name, try reader.value())) }
      return .object(members)
    case UInt8(ascii: "["):
      var elements: [JSONValue] = []
      try array { reader in elements.append(try reader.value()) }
      return .array(elements)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean(try boolean())
    case UInt8(ascii: "n"):
      guard try null() else { throw Failure.malformed }
      return .null
    default:
      do {
        return .number(JSONNumber(String(decoding: try number(), as: UTF8.self)))
      } catch {
        throw Failure.malformed
      }
    }
  }
}

extension JSONValue {
  package static func number(_ value: Int) -> JSONValue { .number(JSONNumber("\(value)")) }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int) { self = .number(value) }
  package init(booleanLiteral value: Bool) { self = .boolean(value) }
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  package init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(members.map { (name: $0.0, value: $0.1) })
  }
}

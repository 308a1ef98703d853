import Base

/// Rewrites JSON: removes white space, and sorts the members of objects by the bytes of their names.
enum SortedJSON {
  /// The limit of nesting: deeper values would need more stack than a worker has.
  private static let maximumDepth = 32

  /// - Parameter reader: A reader at a value in valid JSON.
  /// - Throws: ``JSONReader/Failure`` unless the value is an object; `DecodingError` if a number in
  ///   it is outside the range of Double; ``Failure/badRequest(_:)`` if it is nested too deeply.
  static func rewrite(_ reader: JSONReader) throws -> [UInt8] {
    var reader = reader
    return try object(&reader, depth: 1)
  }

  private static func object(_ reader: inout JSONReader, depth: Int) throws -> [UInt8] {
    var members: [String: [UInt8]] = [:]
    try reader.object { name, reader in
      guard members[name] == nil else { return try reader.skip() }
      members[name] = try value(&reader, depth: depth + 1)
    }
    let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return nested("{", sorted.map { string($0.key) + ":".utf8 + $0.value }, "}")
  }

  private static func array(_ reader: inout JSONReader, depth: Int) throws -> [UInt8] {
    var elements: [[UInt8]] = []
    try reader.array { reader in elements.append(try value(&reader, depth: depth + 1)) }
    return nested("[", elements, "]")
  }

  private static func value(_ reader: inout JSONReader, depth: Int) throws -> [UInt8] {
    guard depth <= maximumDepth else {
      throw Failure.badRequest("Data payload is nested too deeply (max \(maximumDepth) levels)")
    }
    if try reader.null() { return Array("null".utf8) }
    if let boolean = try ifOfType({ try reader.boolean() }) {
      return Array((boolean ? "true" : "false").utf8)
    }
    if let digits = try ifOfType({ try reader.number() }) { return try number(Array(digits)) }
    if let text = try ifOfType({ try reader.string() }) { return string(text) }
    if let array = try ifOfType({ try array(&reader, depth: depth) }) { return array }
    return try object(&reader, depth: depth)
  }

  /// The result of `read`; nil if the value has another type.
  private static func ifOfType<Value>(_ read: () throws -> Value) throws -> Value? {
    do { return try read() } catch JSONReader.Failure.wrongType { return nil }
  }

  /// Writes a number without fraction and exponent if it fits 64 bits, or else as Swift writes a Double.
  private static func number(_ digits: [UInt8]) throws -> [UInt8] {
    // try?: reads other numbers as a Double below.
    if let integer = try? decode(Int64.self, from: digits) { return Array("\(integer)".utf8) }
    return Array("\(try decode(Double.self, from: digits))".utf8)
  }

  private static func string(_ text: String) -> [UInt8] {
    var bytes = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0x08: bytes += #"\b"#.utf8
      case 0x09: bytes += #"\t"#.utf8
      case 0x0A: bytes += #"\n"#.utf8
      case 0x0C: bytes += #"\f"#.utf8
      case 0x0D: bytes += #"\r"#.utf8
      case ..<0x10: bytes += #"\u000\#(String(byte, radix: 16))"#.utf8
      case ..<0x20: bytes += #"\u00\#(String(byte, radix: 16))"#.utf8
      default: bytes.append(byte)
      }
    }
    return bytes + [UInt8(ascii: "\"")]
  }

  private static func nested(
    _ open: Unicode.Scalar, _ parts: [[UInt8]], _ close: Unicode.Scalar
  ) -> [UInt8] {
    [UInt8(ascii: open)] + parts.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: close)]
  }
}

/// Writes JSON text (RFC 8259) member by member, in the order given.
///
/// Writes all JSON of the programs: administrators and tests rely on the order of the members.
package struct JSONWriter: ~Copyable {
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  package init(capacity: Int = 512) {
    bytes.reserveCapacity(capacity)
  }

  /// The bytes of the object that `members` writes.
  package static func object(_ members: (inout JSONWriter) throws -> Void) rethrows -> [UInt8] {
    var writer = JSONWriter()
    try writer.object(members)
    return writer.bytes
  }

  /// The bytes of an array.
  package static func array(_ elements: (inout JSONWriter) throws -> Void) rethrows -> [UInt8] {
    var writer = JSONWriter()
    try writer.array(elements)
    return writer.bytes
  }

  /// The bytes of an array of strings.
  package static func array(of strings: [String]) -> [UInt8] {
    var writer = JSONWriter(capacity: strings.count * 40 + 2)
    writer.array { array in
      for string in strings { array.string(string) }
    }
    return writer.bytes
  }

  package mutating func object(_ members: (inout JSONWriter) throws -> Void) rethrows {
    try nested(UInt8(ascii: "{"), UInt8(ascii: "}"), members)
  }

  package mutating func array(_ elements: (inout JSONWriter) throws -> Void) rethrows {
    try nested(UInt8(ascii: "["), UInt8(ascii: "]"), elements)
  }

  package mutating func member(_ name: StaticString, _ value: String) {
    key(name)
    string(value)
  }

  package mutating func member(_ name: StaticString, _ value: String?) {
    key(name)
    if let value { string(value) } else { literal("null") }
  }

  package mutating func member(_ name: StaticString, _ value: Int64) {
    key(name)
    integer(value)
  }

  /// A member whose name is not a constant.
  package mutating func member(named name: String, _ value: Int64) {
    key(named: name)
    integer(value)
  }

  /// A member whose name is not a constant.
  package mutating func member(named name: String, _ value: String) {
    key(named: name)
    string(value)
  }

  package mutating func member(_ name: StaticString, _ value: Bool) {
    key(name)
    literal(value ? "true" : "false")
  }

  /// A member whose value is JSON text already.
  package mutating func member(_ name: StaticString, json: [UInt8]) {
    key(name)
    begin()
    bytes += json
  }

  /// The members of an object that is JSON text already and has at least one.
  package mutating func members(of object: [UInt8]) {
    begin()
    bytes += object.dropFirst().dropLast()
  }

  package mutating func member(
    _ name: StaticString, object members: (inout JSONWriter) throws -> Void
  ) rethrows {
    key(name)
    try object(members)
  }

  package mutating func member(
    _ name: StaticString, array elements: (inout JSONWriter) throws -> Void
  ) rethrows {
    key(name)
    try array(elements)
  }

  /// A value of any type.
  package mutating func value(_ value: JSONValue) {
    switch value {
    case .null: literal("null")
    case .boolean(let flag): literal(flag ? "true" : "false")
    case .number(let number):
      begin()
      bytes += number.text.utf8
    case .string(let text): string(text)
    case .array(let elements):
      array { array in for element in elements { array.value(element) } }
    case .object(let members):
      object { object in
        for (name, value) in members {
          object.key(named: name)
          object.value(value)
        }
      }
    }
  }

  /// A string as an element of an array.
  package mutating func string(_ value: String) {
    begin()
    bytes.append(UInt8(ascii: "\""))
    value.utf8.span.withUnsafeBufferPointer { escape($0) }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func nested(
    _ open: UInt8, _ close: UInt8, _ content: (inout JSONWriter) throws -> Void
  ) rethrows {
    begin()
    bytes.append(open)
    needsComma = false
    try content(&self)
    bytes.append(close)
    needsComma = true
  }

  private mutating func key(_ name: StaticString) {
    begin()
    bytes.append(UInt8(ascii: "\""))
    bytes += UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  private mutating func key(named name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// A number as an element of an array.
  package mutating func integer(_ value: Int64) {
    begin()
    var digits = value.magnitude
    let start = bytes.count
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(digits % 10))
      digits /= 10
    } while digits > 0
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    bytes[start...].reverse()
  }

  private mutating func literal(_ text: StaticString) {
    begin()
    bytes += UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  private mutating func begin() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  /// Escapes quotes, backslashes and control characters (RFC 8259 §7); copies all other UTF-8.
  private mutating func escape(_ text: UnsafeBufferPointer<UInt8>) {
    var start = 0
    for index in text.indices {
      let byte = text[index]
      guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
      else { continue }
      bytes += UnsafeBufferPointer(rebasing: text[start..<index])
      start = index + 1
      bytes.append(UInt8(ascii: "\\"))
      if byte >= 0x20 {
        bytes.append(byte)
      } else {
        let hex = Array("0123456789abcdef".utf8)
        bytes += [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")]
        bytes += [hex[Int(byte >> 4)], hex[Int(byte & 15)]]
      }
    }
    bytes += UnsafeBufferPointer(rebasing: text[start...])
  }
}

/// Reads JSON text (RFC 8259) value by value, and builds only the requested values.
///
/// Reads all JSON of the programs: the claims of access tokens and large answers directly, requests through
/// ``JSONValue``.
package struct JSONReader {
  package enum Mode: Sendable {
    /// All of the text is checked.
    case strict
    /// For large answers from which few values are read. In skipped values, only the brackets and
    /// the ends of strings are checked. U+FFFD replaces invalid parts of a string.
    case lenient

    /// The limit of arrays and objects inside each other.
    package var maximumDepth: Int { self == .strict ? 128 : 64 }
  }

  package enum Failure: Error, Equatable {
    /// Not JSON; in strict mode also nested deeper than ``Mode/maximumDepth``.
    case malformed
    /// JSON, but not of the requested type.
    case wrongType
    /// In lenient mode: nested deeper than ``Mode/maximumDepth``.
    case tooDeep
  }

  let bytes: [UInt8]
  let mode: Mode
  var position = 0
  var depth = 0

  package init(_ bytes: [UInt8], _ mode: Mode = .strict) {
    self.bytes = bytes
    self.mode = mode
  }

  /// Reads an object. `member` is called with each name and reads or skips the value.
  package mutating func object(
    _ member: (_ name: String, inout JSONReader) throws -> Void
  ) throws {
    try open("{")
    if take("}") { return close() }
    repeat {
      guard try start() == UInt8(ascii: "\"") else { throw Failure.malformed }
      let name = try quotedString()
      guard take(":") else { throw Failure.malformed }
      try member(name, &self)
    } while take(",")
    guard take("}") else { throw Failure.malformed }
    close()
  }

  /// Reads an array. `element` is called at each element and reads or skips it.
  package mutating func array(
    _ element: (inout JSONReader) throws -> Void
  ) throws {
    try open("[")
    if take("]") { return close() }
    repeat { try element(&self) } while take(",")
    guard take("]") else { throw Failure.malformed }
    close()
  }

  package mutating func string() throws(Failure) -> String {
    guard try start() == UInt8(ascii: "\"") else { throw .wrongType }
    return try quotedString()
  }

  /// Reads a string whose quotation mark is at ``position``.
  private mutating func quotedString() throws(Failure) -> String {
    position += 1
    let start = position
    let isASCII = skipPlainText()
    guard position < bytes.count else { throw .malformed }
    switch bytes[position] {
    case UInt8(ascii: "\"") where isASCII || mode == .strict:
      defer { position += 1 }
      return try text(bytes.span.extracting(start..<position), isASCII: isASCII)
    case _ where mode == .lenient:
      position = start - 1
      return try lenientString(atMost: .max)
    case UInt8(ascii: "\\"): return try escapedString(from: start)
    default: throw .malformed
    }
  }

  /// Reads a number that is an integer and is written as one.
  package mutating func integer() throws(Failure) -> Int64 {
    var digits = try number()
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits.removeFirst() }
    var value: Int64 = 0
    for digit in digits {
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { throw .wrongType }
      let (tens, isTooLarge) = value.multipliedReportingOverflow(by: 10)
      let units = Int64(digit - UInt8(ascii: "0"))
      let sum =
        isNegative ? tens.subtractingReportingOverflow(units) : tens.addingReportingOverflow(units)
      guard !isTooLarge, !sum.overflow else { throw .wrongType }
      value = sum.partialValue
    }
    return value
  }

  /// Reads a number and returns it as it is written.
  package mutating func number() throws(Failure) -> ArraySlice<UInt8> {
    skipWhiteSpace()
    let start = position
    _ = takeByte("-")
    if !takeByte("0") {
      guard takeDigits() else { throw start == position ? .wrongType : .malformed }
    }
    if takeByte("."), !takeDigits() { throw .malformed }
    if takeByte("e") || takeByte("E") {
      _ = takeByte("+") || takeByte("-")
      guard takeDigits() else { throw .malformed }
    }
    return bytes[start..<position]
  }

  package mutating func boolean() throws(Failure) -> Bool {
    switch try start() {
    case UInt8(ascii: "t"):
      try literal("true")
      return true
    case UInt8(ascii: "f"):
      try literal("false")
      return false
    default: throw .wrongType
    }
  }

  /// Reads `null` if it is the next value.
  package mutating func null() throws(Failure) -> Bool {
    guard try start() == UInt8(ascii: "n") else { return false }
    try literal("null")
    return true
  }

  /// Skips a value of any type.
  package mutating func skip() throws {
    guard mode == .strict else { return try skipLeniently() }
    switch try start() {
    case UInt8(ascii: "{"): try object { _, reader in try reader.skip() }
    case UInt8(ascii: "["): try array { reader in try reader.skip() }
    case UInt8(ascii: "\""): _ = try quotedString()
    case UInt8(ascii: "t"): try literal("true")
    case UInt8(ascii: "f"): try literal("false")
    case UInt8(ascii: "n"): try literal("null")
    default:
      do { _ = try number() } catch { throw Failure.malformed }
    }
  }

  /// Skips a value of any type.
  ///
  /// - Returns: the value as it is written.
  package mutating func written() throws -> ArraySlice<UInt8> {
    _ = try start()
    let begin = position
    try skip()
    return bytes[begin..<position]
  }

  /// Checks that nothing but white space follows.
  package mutating func end() throws(Failure) {
    skipWhiteSpace()
    guard position == bytes.count else { throw .malformed }
  }
}

extension JSONReader {
  /// The first byte of the next value.
  mutating func start() throws(Failure) -> UInt8 {
    skipWhiteSpace()
    guard position < bytes.count else { throw .malformed }
    return bytes[position]
  }

  private mutating func open(_ bracket: Unicode.Scalar) throws(Failure) {
    guard take(bracket) else { throw position < bytes.count ? .wrongType : .malformed }
    depth += 1
    guard depth <= mode.maximumDepth else {
      throw mode == .strict ? .malformed : .tooDeep
    }
  }

  private mutating func close() {
    depth -= 1
  }

  private mutating func take(_ mark: Unicode.Scalar) -> Bool {
    skipWhiteSpace()
    return takeByte(mark)
  }

  private mutating func takeByte(_ mark: Unicode.Scalar) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: mark) else { return false }
    position += 1
    return true
  }

  private mutating func takeDigits() -> Bool {
    let start = position
    while position < bytes.count, bytes[position].isDigit { position += 1 }
    return position > start
  }

  private mutating func literal(_ word: StaticString) throws(Failure) {
    let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes[position...].starts(with: expected) else { throw .malformed }
    position += expected.count
  }

  private mutating func skipWhiteSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0a, 0x0d: position += 1
      default: return
      }
    }
  }
}

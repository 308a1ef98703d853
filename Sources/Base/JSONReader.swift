/// Reads JSON text (RFC 8259) strictly, value by value, and builds nothing that nobody asks for.
///
/// FoundationEssentials' decoder accepts malformed text in members that are not decoded; so bodies are
/// checked by this first. Access tokens' claims are read by it alone, on every request.
package struct JSONReader {
  package enum Failure: Error, Equatable {
    /// Not JSON, or nested deeper than ``JSONReader/maximumDepth``.
    case malformed
    /// JSON, but of another type than was asked for.
    case wrongType
  }

  package static let maximumDepth = 128

  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Whether `bytes` are one JSON value, and nothing else.
  package static func isValid(_ bytes: [UInt8]) -> Bool {
    var reader = JSONReader(bytes)
    do {
      try reader.skip()
      try reader.end()
      return true
    } catch {
      return false
    }
  }

  /// Reads an object. `member` is called with each name and reads or skips the value.
  package mutating func object(
    _ member: (_ name: String, inout JSONReader) throws -> Void
  ) throws {
    try open("{")
    if take("}") { return close() }
    repeat {
      guard try start() == UInt8(ascii: "\"") else { throw Failure.malformed }
      let name = try string()
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
    position += 1
    let start = position
    let isASCII = skipPlainText()
    guard position < bytes.count else { throw .malformed }
    switch bytes[position] {
    case UInt8(ascii: "\""):
      defer { position += 1 }
      return try text(bytes.span.extracting(start..<position), isASCII: isASCII)
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

  /// Reads `null`, if that is what comes.
  package mutating func null() throws(Failure) -> Bool {
    guard try start() == UInt8(ascii: "n") else { return false }
    try literal("null")
    return true
  }

  /// Reads a value of any type, and only checks it.
  package mutating func skip() throws {
    switch try start() {
    case UInt8(ascii: "{"): try object { _, reader in try reader.skip() }
    case UInt8(ascii: "["): try array { reader in try reader.skip() }
    case UInt8(ascii: "\""): _ = try string()
    case UInt8(ascii: "t"): try literal("true")
    case UInt8(ascii: "f"): try literal("false")
    case UInt8(ascii: "n"): try literal("null")
    default:
      do { _ = try number() } catch { throw Failure.malformed }
    }
  }

  /// Checks that nothing but white space follows.
  package mutating func end() throws(Failure) {
    skipWhiteSpace()
    guard position == bytes.count else { throw .malformed }
  }
}

extension JSONReader {
  /// The first byte of the value that comes.
  private mutating func start() throws(Failure) -> UInt8 {
    skipWhiteSpace()
    guard position < bytes.count else { throw .malformed }
    return bytes[position]
  }

  private mutating func open(_ bracket: Unicode.Scalar) throws(Failure) {
    guard take(bracket) else { throw position < bytes.count ? .wrongType : .malformed }
    depth += 1
    guard depth <= Self.maximumDepth else { throw .malformed }
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
    while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
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

  /// Goes on to the quotation mark, backslash or control that ends plain text, or to the end.
  ///
  /// - Returns: whether the text is ASCII.
  private mutating func skipPlainText() -> Bool {
    bytes.withUnsafeBufferPointer { bytes in
      var all: UInt8 = 0
      while position < bytes.count {
        let byte = bytes[position]
        if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
        all |= byte
        position += 1
      }
      return all < 0x80
    }
  }

  private func text(_ bytes: Span<UInt8>, isASCII: Bool = false) throws(Failure) -> String {
    if isASCII { return String(copying: unsafe UTF8Span(unchecked: bytes, isKnownASCII: true)) }
    do { return String(copying: try UTF8Span(validating: bytes)) } catch { throw .malformed }
  }

  /// The rest of a string that holds a backslash; it began at `start`, and what is before
  /// ``position`` is plain.
  private mutating func escapedString(from start: Int) throws(Failure) -> String {
    var unescaped = Array(bytes[start..<position])
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return try text(unescaped.span)
      case UInt8(ascii: "\\"): unescaped += try escape()
      case ..<0x20: throw .malformed
      default: unescaped.append(byte)
      }
    }
    throw .malformed
  }

  /// What stands behind a backslash, as UTF-8.
  private mutating func escape() throws(Failure) -> [UInt8] {
    guard position < bytes.count else { throw .malformed }
    defer { position += 1 }
    switch bytes[position] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [bytes[position]]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0c]
    case UInt8(ascii: "n"): return [0x0a]
    case UInt8(ascii: "r"): return [0x0d]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"): return Array(String(try escapedScalar()).utf8)
    default: throw .malformed
    }
  }

  /// The scalar of `uXXXX`, or of the two halves of a surrogate pair; ends at its last digit.
  private mutating func escapedScalar() throws(Failure) -> Unicode.Scalar {
    let first = try fourDigits()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard (0xd800..<0xdc00).contains(first),
      bytes[(position + 1)...].starts(with: "\\u".utf8)
    else { throw .malformed }
    position += 2
    let second = try fourDigits()
    let pair = 0x10000 + ((first & 0x3ff) << 10 | (second & 0x3ff))
    guard (0xdc00..<0xe000).contains(second), let scalar = Unicode.Scalar(pair) else {
      throw .malformed
    }
    return scalar
  }

  /// The value of the four hexadecimal digits behind the `u` at ``position``; ends at the last.
  private mutating func fourDigits() throws(Failure) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      position += 1
      guard position < bytes.count,
        let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue,
        bytes[position] < 0x80
      else { throw .malformed }
      value = value << 4 | UInt32(digit)
    }
    return value
  }
}

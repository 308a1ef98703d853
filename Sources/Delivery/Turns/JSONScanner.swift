import Glibc

/// JSON text that cannot be read further.
enum JSONError: Error, Equatable {
  /// Not JSON (RFC 8259), or it ends early.
  case malformed
  case tooDeep
}

/// Reads JSON text from front to back and builds only what is asked for: what is passed over costs a
/// look at each byte. Borrowed bytes: valid as long as they are.
///
/// What is passed over is checked for its brackets and strings alone.
struct JSONScanner {
  typealias Bytes = UnsafeBufferPointer<UInt8>

  /// Arrays and objects inside each other.
  static let deepest = 64

  private let bytes: Bytes
  private var position = 0
  private var depth = 0

  init(_ bytes: Bytes) { self.bytes = bytes }

  /// The name of a member, as it is written.
  struct Name {
    fileprivate let raw: Bytes

    /// - Note: a name with an escape is never equal: no name that we look for needs one.
    static func == (name: Name, text: StaticString) -> Bool {
      guard let start = name.raw.baseAddress, name.raw.count == text.utf8CodeUnitCount else {
        return false
      }
      return memcmp(start, text.utf8Start, name.raw.count) == 0
    }

    static func ~= (text: StaticString, name: Name) -> Bool { name == text }
  }

  /// Reads an object member by member. `member` must read or ``skip()`` each value.
  ///
  /// - Returns: false where the value is no object; it is passed over then.
  mutating func object(
    _ member: (inout JSONScanner, Name) throws(JSONError) -> Void
  ) throws(JSONError) -> Bool {
    guard try enter(UInt8(ascii: "{")) else { return false }
    if try !leave(UInt8(ascii: "}")) {
      repeat {
        guard try next() == UInt8(ascii: "\"") else { throw .malformed }
        let name = Name(raw: try rawString())
        guard try next() == UInt8(ascii: ":") else { throw .malformed }
        position += 1
        try member(&self, name)
      } while try goesOn(until: UInt8(ascii: "}"))
    }
    return true
  }

  /// Reads an array element by element. `element` must read or ``skip()`` each.
  ///
  /// - Returns: false where the value is no array; it is passed over then.
  mutating func array(
    _ element: (inout JSONScanner) throws(JSONError) -> Void
  ) throws(JSONError) -> Bool {
    guard try enter(UInt8(ascii: "[")) else { return false }
    if try !leave(UInt8(ascii: "]")) {
      repeat { try element(&self) } while try goesOn(until: UInt8(ascii: "]"))
    }
    return true
  }

  /// A number without its fraction; nil for any other value, or where it does not fit.
  mutating func integer() throws(JSONError) -> Int64? {
    guard Self.beginsNumber(try next()) else {
      try skip()
      return nil
    }
    let text = rawScalar()
    if let integer = Int64(String(decoding: text, as: UTF8.self)) { return integer }
    guard text.count <= 64, let number = Double(String(decoding: text, as: UTF8.self)) else {
      return nil
    }
    return Int64(exactly: number.rounded(.towardZero))
  }

  /// A string of at most `longest` bytes as written, its escapes undone; the rest is left out. nil
  /// for any other value.
  mutating func string(longest: Int) throws(JSONError) -> String? {
    guard try next() == UInt8(ascii: "\"") else {
      try skip()
      return nil
    }
    let raw = try rawString()
    return Self.unescaped(Bytes(rebasing: raw.prefix(longest)))
  }

  /// Whether the value is `true`.
  mutating func isTrue() throws(JSONError) -> Bool {
    let isTrue = try next() == UInt8(ascii: "t")
    try skip()
    return isTrue
  }

  /// - Throws: ``JSONError/malformed`` unless nothing but white space follows.
  mutating func end() throws(JSONError) {
    skipWhiteSpace()
    guard position == bytes.count else { throw .malformed }
  }

  /// Passes over one value.
  mutating func skip() throws(JSONError) {
    let outer = depth
    // Which bracket each depth began with: a bit each.
    var isObject: UInt64 = 0
    repeat {
      let byte = try next()
      switch byte {
      case UInt8(ascii: "\""): _ = try rawString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        try descend()
        let bit = UInt64(1) << UInt64(depth - 1)
        if byte == UInt8(ascii: "{") { isObject |= bit } else { isObject &= ~bit }
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        let bit = UInt64(1) << UInt64(max(depth, 1) - 1)
        guard depth > outer, (isObject & bit != 0) == (byte == UInt8(ascii: "}")) else {
          throw .malformed
        }
        depth -= 1
        position += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        guard depth > outer else { throw .malformed }
        position += 1
      default: if rawScalar().isEmpty { throw .malformed }
      }
    } while depth > outer
  }
}

extension JSONScanner {
  /// The first byte of what follows white space.
  private mutating func next() throws(JSONError) -> UInt8 {
    skipWhiteSpace()
    guard position < bytes.count else { throw .malformed }
    return bytes[position]
  }

  private mutating func skipWhiteSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0a, 0x0d: position += 1
      default: return
      }
    }
  }

  private mutating func descend() throws(JSONError) {
    guard depth < Self.deepest else { throw .tooDeep }
    depth += 1
  }

  private mutating func enter(_ bracket: UInt8) throws(JSONError) -> Bool {
    guard try next() == bracket else {
      try skip()
      return false
    }
    try descend()
    position += 1
    return true
  }

  private mutating func leave(_ bracket: UInt8) throws(JSONError) -> Bool {
    guard try next() == bracket else { return false }
    depth -= 1
    position += 1
    return true
  }

  /// Whether a comma follows, and not the end.
  private mutating func goesOn(until bracket: UInt8) throws(JSONError) -> Bool {
    if try leave(bracket) { return false }
    guard try next() == UInt8(ascii: ",") else { throw .malformed }
    position += 1
    return true
  }

  /// What stands between the quotes.
  private mutating func rawString() throws(JSONError) -> Bytes {
    position += 1
    let start = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return Bytes(rebasing: bytes[start..<(position - 1)])
      case UInt8(ascii: "\\"): position += 2
      default: position += 1
      }
    }
    throw .malformed
  }

  /// A number or a literal.
  private mutating func rawScalar() -> Bytes {
    let start = position
    scan: while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
        position += 1
      default: break scan
      }
    }
    return Bytes(rebasing: bytes[start..<position])
  }

  private static func beginsNumber(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  /// The text of a string (RFC 8259 §7); what is no Unicode becomes U+FFFD.
  private static func unescaped(_ raw: Bytes) -> String {
    guard raw.contains(UInt8(ascii: "\\")) else { return String(decoding: raw, as: UTF8.self) }
    var text = String.UnicodeScalarView()
    var plain = raw.startIndex
    var index = raw.startIndex
    while index < raw.endIndex {
      guard raw[index] == UInt8(ascii: "\\") else {
        index += 1
        continue
      }
      text += String(decoding: raw[plain..<index], as: UTF8.self).unicodeScalars
      let (scalar, length) = escape(raw[index...])
      if let scalar { text.append(scalar) }
      index = min(index + length, raw.endIndex)
      plain = index
    }
    text += String(decoding: raw[plain...], as: UTF8.self).unicodeScalars
    return String(text)
  }

  /// The escape at the front of `raw` and how long it is; no scalar where it is cut off.
  private static func escape(_ raw: Slice<Bytes>) -> (Unicode.Scalar?, length: Int) {
    guard let letter = raw.dropFirst().first else { return (nil, 1) }
    switch letter {
    case UInt8(ascii: "n"): return ("\n", 2)
    case UInt8(ascii: "t"): return ("\t", 2)
    case UInt8(ascii: "r"): return ("\r", 2)
    case UInt8(ascii: "b"): return ("\u{8}", 2)
    case UInt8(ascii: "f"): return ("\u{c}", 2)
    case UInt8(ascii: "u"): break
    default: return (Unicode.Scalar(letter), 2)
    }
    guard let unit = codeUnit(raw) else { return (nil, 6) }
    if let scalar = Unicode.Scalar(unit) { return (scalar, 6) }
    let rest = raw.dropFirst(6)
    guard unit < 0xdc00, rest.starts(with: "\\u".utf8), let low = codeUnit(rest),
      (0xdc00...0xdfff).contains(low)
    else { return ("\u{fffd}", 6) }
    let value = 0x10000 + (UInt32(unit) - 0xd800) << 10 + (UInt32(low) - 0xdc00)
    return (Unicode.Scalar(value), 12)
  }

  /// The four hex digits behind `\u`.
  private static func codeUnit(_ raw: Slice<Bytes>) -> UInt16? {
    let digits = raw.dropFirst(2).prefix(4)
    return digits.count == 4 ? UInt16(String(decoding: digits, as: UTF8.self), radix: 16) : nil
  }
}

/// Reading and skipping of values in lenient mode.
extension JSONReader {
  mutating func skipLeniently() throws(Failure) {
    let depth = depth
    try withSkipper { skipper throws(Failure) in try skipper.skipValue(at: depth) }
  }

  /// Reads the string at ``position`` and returns the text of at most its first `size` bytes.
  mutating func lenientString(atMost size: Int) throws(Failure) -> String {
    try withSkipper { skipper throws(Failure) in
      let text = try skipper.skipString()
      return LenientText.unescaped(JSONSkipper.Bytes(rebasing: text.prefix(size)))
    }
  }

  /// Reads the number or literal at ``position``.
  mutating func lenientScalar() -> ArraySlice<UInt8> {
    let start = position
    withSkipper { skipper in _ = skipper.skipScalar() }
    return bytes[start..<position]
  }

  private mutating func withSkipper<Result, Failure>(
    _ body: (inout JSONSkipper) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { bytes throws(Failure) in
      var skipper = JSONSkipper(bytes, at: position)
      defer { position = skipper.position }
      return try body(&skipper)
    }
  }
}

/// Skips JSON text in one pass over its bytes.
struct JSONSkipper {
  typealias Bytes = UnsafeBufferPointer<UInt8>

  private let bytes: Bytes
  private(set) var position: Int

  init(_ bytes: Bytes, at position: Int) {
    self.bytes = bytes
    self.position = position
  }

  /// Skips one value.
  ///
  /// - Parameter outer: the number of arrays and objects around the value.
  mutating func skipValue(at outer: Int) throws(JSONReader.Failure) {
    var depth = outer
    // One bit for each depth: 1 in an object, 0 in an array.
    var isObject: UInt64 = 0
    repeat {
      let byte = try next()
      switch byte {
      case UInt8(ascii: "\""): _ = try skipString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        guard depth < JSONReader.Mode.lenient.maximumDepth else { throw .tooDeep }
        let bit = UInt64(1) << UInt64(depth)
        if byte == UInt8(ascii: "{") { isObject |= bit } else { isObject &= ~bit }
        depth += 1
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard depth > outer else { throw .malformed }
        depth -= 1
        let isEndOfObject = byte == UInt8(ascii: "}")
        guard (isObject >> UInt64(depth)) & 1 == (isEndOfObject ? 1 : 0) else { throw .malformed }
        position += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        guard depth > outer else { throw .malformed }
        position += 1
      default: if skipScalar() == 0 { throw .malformed }
      }
    } while depth > outer
  }

  /// Skips the string that begins here.
  ///
  /// - Returns: the text between its quotation marks.
  mutating func skipString() throws(JSONReader.Failure) -> Slice<Bytes> {
    position += 1
    let start = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        defer { position += 1 }
        return bytes[start..<position]
      case UInt8(ascii: "\\"): position += 2
      default: position += 1
      }
    }
    throw .malformed
  }

  /// Skips a number or a literal.
  ///
  /// - Returns: its size in bytes.
  mutating func skipScalar() -> Int {
    let start = position
    scan: while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
        position += 1
      default: break scan
      }
    }
    return position - start
  }

  /// The first byte after white space.
  private mutating func next() throws(JSONReader.Failure) -> UInt8 {
    while position < bytes.count {
      guard bytes[position].isJSONWhiteSpace else { return bytes[position] }
      position += 1
    }
    throw .malformed
  }
}

/// Decodes the escapes of a string (RFC 8259 §7). U+FFFD replaces invalid Unicode.
enum LenientText {
  typealias Bytes = UnsafeBufferPointer<UInt8>

  static func unescaped(_ raw: Bytes) -> String {
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

  /// The scalar and the size of the escape at the front of `raw`; no scalar if the escape is cut
  /// off.
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

  /// The four hexadecimal digits after `\u`.
  private static func codeUnit(_ raw: Slice<Bytes>) -> UInt16? {
    let digits = raw.dropFirst(2).prefix(4)
    return digits.count == 4 ? UInt16(String(decoding: digits, as: UTF8.self), radix: 16) : nil
  }
}

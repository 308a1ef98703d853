/// Reading of strings in strict mode.
extension JSONReader {
  /// Advances to the quotation mark, backslash or control character that ends plain text, or to the
  /// end.
  ///
  /// - Returns: whether the text is ASCII.
  mutating func skipPlainText() -> Bool {
    var all: UInt8 = 0
    var end = position
    bytes.withUnsafeBufferPointer { bytes in
      while end < bytes.count {
        let byte = bytes[end]
        if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
        all |= byte
        end += 1
      }
    }
    position = end
    return all < 0x80
  }

  func text(_ bytes: Span<UInt8>, isASCII: Bool = false) throws(Failure) -> String {
    if isASCII { return String(copying: unsafe UTF8Span(unchecked: bytes, isKnownASCII: true)) }
    do { return String(copying: try UTF8Span(validating: bytes)) } catch { throw .malformed }
  }

  /// Reads the rest of a string with a backslash. The string begins at `start`; its text before
  /// ``position`` is plain.
  mutating func escapedString(from start: Int) throws(Failure) -> String {
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

  /// Reads the escape after a backslash and returns it as UTF-8.
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

  /// Reads the scalar of `uXXXX` or of a surrogate pair; stops at the last digit.
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

  /// Reads the four hexadecimal digits after the `u` at ``position``; stops at the last digit.
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

extension String {
  /// The string without white space at both ends.
  package var trimmed: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }),
      let last = lastIndex(where: { !$0.isWhitespace })
    else { return "" }
    return String(self[first...last])
  }

  /// Whether the string has a control character, or one that changes the direction of the text
  /// around it.
  package var hasControls: Bool {
    // Checks the bytes first: nearly all text is visible ASCII, and looking up a category is slow.
    var text = self
    let isPlain = text.withUTF8 { bytes in bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F } }
    return !isPlain && unicodeScalars.contains(where: \.isControl)
  }

  /// The string with U+FFFD instead of each character for which ``hasControls`` is true.
  package var withoutControls: String {
    guard hasControls else { return self }
    var text = UnicodeScalarView()
    for scalar in unicodeScalars { text.append(scalar.isControl ? "\u{FFFD}" : scalar) }
    return String(text)
  }

  /// Whether the string has no CR, LF or NUL, and so can be the value of a field (RFC 9110 §5.5).
  package var isOneLine: Bool { utf8.allSatisfy { $0 != 0x0A && $0 != 0x0D && $0 != 0 } }

  /// Whether people see any of the string.
  package var isVisible: Bool { unicodeScalars.contains { !$0.isInvisible } }

  /// The string without white space at both ends and without characters that cannot be shown, but with joiners and variation
  /// selectors: Persian names and many emoji have these. Empty if people see nothing of it.
  package var withoutInvisible: String {
    guard isVisible else { return "" }
    var text = UnicodeScalarView()
    for scalar in unicodeScalars where !scalar.isInvisible || scalar.isJoining {
      text.append(scalar)
    }
    return String(text).trimmed
  }

  /// The string with `%XX` for every octet except letters, digits, `-`, `.`, `_` and `~` (RFC 3986
  /// §2.3), for queries and forms.
  package var percentEncoded: String {
    let hex = Array("0123456789ABCDEF".utf8)
    let octets = utf8.flatMap { octet -> [UInt8] in
      let isPlain = octet.isAlphanumeric || "-._~".utf8.contains(octet)
      return isPlain
        ? [octet] : [UInt8(ascii: "%"), hex[Int(octet >> 4)], hex[Int(octet & 15)]]
    }
    return String(decoding: octets, as: UTF8.self)
  }

  /// The first `count` Unicode scalars: the unit in which MariaDB measures a VARCHAR.
  package func cut(to count: Int) -> String {
    // No text has more scalars than bytes.
    utf8.count <= count ? self : String(unicodeScalars.prefix(count))
  }
}

extension Unicode.Scalar {
  /// Category Cc, or an embedding, override or isolate of direction (UAX #9 §2): with these, text can
  /// look like other text.
  fileprivate var isControl: Bool {
    switch value {
    case 0x202A...0x202E, 0x2066...0x2069: true
    default: properties.generalCategory == .control
    }
  }

  /// Whether nothing is seen of the character by itself.
  fileprivate var isInvisible: Bool {
    // Nearly all text is visible ASCII, and looking up properties is slow.
    if (0x21..<0x7F).contains(value) { return false }
    switch properties.generalCategory {
    case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: return true
    default:
      // Two letters without a shape: the fillers of Hangul are ignorable, and the empty pattern of Braille is a symbol.
      return properties.isDefaultIgnorableCodePoint || value == 0x2800
    }
  }

  /// Whether the character changes how those next to it look: a space, a joiner, a variation selector or a tag.
  fileprivate var isJoining: Bool {
    switch value {
    case 0x200C, 0x200D, 0xFE00...0xFE0F, 0xE0020...0xE007F, 0xE0100...0xE01EF: true
    default: properties.generalCategory == .spaceSeparator
    }
  }
}

extension [UInt8] {
  /// Appends the UTF-8 of `text`.
  package mutating func append(text: String) {
    text.utf8.span.withUnsafeBufferPointer { append(contentsOf: $0) }
  }
}

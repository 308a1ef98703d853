import Base

private let digits = Array("0123456789abcdef".utf8)

/// The lower-case hexadecimal form of `bytes` (RFC 4648 §8, in lower case).
package func hexEncoded(_ bytes: Span<UInt8>) -> String {
  String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
    for index in bytes.indices {
      text[2 * index] = digits[Int(bytes[index] >> 4)]
      text[2 * index + 1] = digits[Int(bytes[index] & 0x0F)]
    }
    return 2 * bytes.count
  }
}

/// The lower-case hexadecimal form of `bytes`.
package func hexEncoded(_ bytes: [UInt8]) -> String { hexEncoded(bytes.span) }

/// The bytes of lower-case hexadecimal `text`; nil if it has any other character or an odd size.
package func hexDecoded(_ text: Span<UInt8>) -> [UInt8]? {
  guard text.count.isMultiple(of: 2) else { return nil }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(text.count / 2)
  for index in stride(from: 0, to: text.count, by: 2) {
    guard let high = value(of: text[index]), let low = value(of: text[index + 1])
    else { return nil }
    bytes.append(high << 4 | low)
  }
  return bytes
}

/// The bytes of lower-case hexadecimal `text`; nil if it has any other character or an odd size.
package func hexDecoded(_ text: String) -> [UInt8]? { hexDecoded(text.utf8.span) }

private func value(of digit: UInt8) -> UInt8? {
  digit.isUppercaseLetter ? nil : digit.hexDigitValue
}

/// The text form of a UUID of 16 bytes (RFC 9562 §4).
package func uuid(of bytes: ArraySlice<UInt8>) -> String {
  precondition(bytes.count == 16, "a UUID has 16 bytes")
  let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
  return groups.map { hexEncoded(bytes.span.extracting($0)) }.joined(separator: "-")
}

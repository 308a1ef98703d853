/// Classes of ASCII.
extension UInt8 {
  package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  package var isUppercaseLetter: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }

  package var isLowercaseLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }

  package var isLetter: Bool { isUppercaseLetter || isLowercaseLetter }

  package var isAlphanumeric: Bool { isDigit || isLetter }

  /// Printable and not a space.
  package var isVisible: Bool { (0x21...0x7E).contains(self) }

  package var isPrintable: Bool { (0x20...0x7E).contains(self) }

  /// White space of JSON (RFC 8259 §2).
  package var isJSONWhiteSpace: Bool {
    switch self {
    case 0x20, 0x09, 0x0A, 0x0D: true
    default: false
    }
  }

  /// The value of a hexadecimal digit, in either case.
  package var hexDigitValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension String {
  /// Whether the string has between 1 and `limit` characters, all visible ASCII.
  package func isVisibleASCII(atMost limit: Int) -> Bool {
    (1...limit).contains(utf8.count) && utf8.allSatisfy(\.isVisible)
  }
}

/// An exact amount of money: hundredths of its currency's unit, from 0.01 to 9,999,999,999.99.
package struct Amount: Sendable, Equatable {
  package let hundredths: Int64

  /// The value of a JSON number as it is written (RFC 8259 §6), such as `99.99` or `1.5e1`. It never
  /// becomes a binary fraction.
  ///
  /// - Returns: nil unless it is positive, has at most two decimals, and is not too large.
  package init?(number: some Collection<UInt8>) {
    let parts = number.split(omittingEmptySubsequences: false) { $0 | 0x20 == UInt8(ascii: "e") }
    let mantissa = parts[0].split(separator: UInt8(ascii: "."))
    var exponent = 0
    if parts.count > 1 {
      guard let written = Int(String(decoding: parts[1], as: UTF8.self)),
        (-999...999).contains(written)
      else { return nil }
      exponent = written
    }
    if mantissa.count > 1 { exponent -= mantissa[1].count }
    let zero = UInt8(ascii: "0")
    var digits = Array(mantissa.joined().drop { $0 == zero })
    while digits.last == zero {
      digits.removeLast()
      exponent += 1
    }
    guard exponent >= -2, digits.count + exponent <= 10,
      let value = Int64(String(decoding: digits, as: UTF8.self)), value > 0
    else { return nil }
    hundredths = (0..<(exponent + 2)).reduce(value) { product, _ in product * 10 }
  }

  /// With two decimals, as the database writes a DECIMAL.
  package var text: String {
    let cents = String(hundredths % 100)
    return "\(hundredths / 100).\(cents.count == 1 ? "0" : "")\(cents)"
  }

  /// The value of a DECIMAL column with two decimals, whose CHECK keeps it positive.
  init(decimal text: String) {
    self.init(number: text.utf8)!
  }
}

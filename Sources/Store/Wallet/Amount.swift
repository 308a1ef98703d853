/// An exact amount of money above zero, with at most the decimals of its currency and at most ten digits before them.
package struct Amount: Sendable, Equatable {
  package let currency: Currency
  /// In the smallest amount of the currency.
  private let minorUnits: Int64

  /// The value of a JSON number as it is written (RFC 8259 §6), such as `99.99` or `1.5e1`. It never
  /// becomes a binary fraction.
  ///
  /// - Returns: nil unless it is above zero, has at most the currency's decimals in its value, and is
  ///   not too large.
  package init?(number: some Collection<UInt8>, in currency: Currency) {
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
    guard exponent >= -currency.digits, digits.count + exponent <= 10,
      let value = Int64(String(decoding: digits, as: UTF8.self)), value > 0
    else { return nil }
    self.currency = currency
    minorUnits = (0..<(exponent + currency.digits)).reduce(value) { product, _ in product * 10 }
  }

  /// The value of a DECIMAL column, with zeros after its decimals.
  init(decimal text: String, currency code: String) {
    let parts = text.split(separator: ".")
    var decimals = parts.count > 1 ? String(parts[1]) : ""
    while decimals.last == "0" { decimals.removeLast() }
    currency = Currency(column: code, decimals: decimals.utf8.count)
    decimals += String(repeating: "0", count: currency.digits - decimals.utf8.count)
    minorUnits = Int64(parts[0] + decimals)!  // at most 16 digits
  }

  /// With all decimals of the currency and without its code, such as `12.50`.
  package var text: String {
    var digits = String(minorUnits)
    guard currency.digits > 0 else { return digits }
    digits =
      String(repeating: "0", count: max(0, currency.digits + 1 - digits.utf8.count)) + digits
    return "\(digits.dropLast(currency.digits)).\(digits.suffix(currency.digits))"
  }
}

/// The base64url form of `bytes`, without padding (RFC 4648 §5).
package func base64URLEncoded(_ bytes: Span<UInt8>) -> String { Base64.url.encode(bytes) }

/// The base64url form of `bytes`, without padding.
package func base64URLEncoded(_ bytes: [UInt8]) -> String { Base64.url.encode(bytes.span) }

/// The bytes of base64url `text`; nil unless it is exactly what ``base64URLEncoded(_:)`` gives.
///
/// Padding, whitespace and stray bits in the last character are refused (RFC 4648 §3.2 to §3.5).
package func base64URLDecoded(_ text: Span<UInt8>) -> [UInt8]? { Base64.url.decode(text) }

/// The bytes of base64url `text`; nil unless it is exactly what ``base64URLEncoded(_:)`` gives.
package func base64URLDecoded(_ text: String) -> [UInt8]? { Base64.url.decode(text.utf8.span) }

/// The base64 form of `bytes`, with padding (RFC 4648 §4).
package func base64Encoded(_ bytes: Span<UInt8>) -> String { Base64.standard.encode(bytes) }

/// The base64 form of `bytes`, with padding.
package func base64Encoded(_ bytes: [UInt8]) -> String { Base64.standard.encode(bytes.span) }

/// The bytes of base64 `text`; nil unless it is exactly what ``base64Encoded(_:)`` gives.
///
/// Missing padding, whitespace and stray bits in the last character are refused.
package func base64Decoded(_ text: Span<UInt8>) -> [UInt8]? { Base64.standard.decode(text) }

/// The bytes of base64 `text`; nil unless it is exactly what ``base64Encoded(_:)`` gives.
package func base64Decoded(_ text: String) -> [UInt8]? { Base64.standard.decode(text.utf8.span) }

/// An alphabet of RFC 4648 with its rule on padding.
private struct Base64 {
  static let url = Base64(lastSymbols: "-_", isPadded: false)
  static let standard = Base64(lastSymbols: "+/", isPadded: true)

  private static let padding = UInt8(ascii: "=")
  private static let notASymbol: UInt8 = 0xFF

  private let symbols: [UInt8]
  private let values: [UInt8]
  private let isPadded: Bool

  init(lastSymbols: String, isPadded: Bool) {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    symbols = Array((letters + lastSymbols).utf8)
    var values = [UInt8](repeating: Self.notASymbol, count: 256)
    for (value, symbol) in symbols.enumerated() { values[Int(symbol)] = UInt8(value) }
    self.values = values
    self.isPadded = isPadded
  }

  func encode(_ bytes: Span<UInt8>) -> String {
    String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
      var size = 0
      var bits: UInt32 = 0
      var bitCount: UInt32 = 0
      func append(_ symbol: UInt8) {
        text[size] = symbol
        size += 1
      }
      for index in bytes.indices {
        bits = bits << 8 | UInt32(bytes[index])
        bitCount += 8
        while bitCount >= 6 {
          bitCount -= 6
          append(symbols[Int(bits >> bitCount & 63)])
        }
      }
      if bitCount > 0 { append(symbols[Int(bits << (6 - bitCount) & 63)]) }
      while isPadded, !size.isMultiple(of: 4) { append(Self.padding) }
      return size
    }
  }

  func decode(_ text: Span<UInt8>) -> [UInt8]? {
    guard let count = symbolCount(of: text) else { return nil }
    // Swift 6.3 does not specialize the initializer with a capacity: each call would look up the array's type.
    var bytes = [UInt8](repeating: 0, count: count * 6 / 8)
    let isWhole = bytes.withUnsafeMutableBufferPointer { bytes in
      text.withUnsafeBufferPointer { text in
        values.withUnsafeBufferPointer { values in
          Self.decode(text.prefix(count), by: values, into: bytes)
        }
      }
    }
    return isWhole ? bytes : nil
  }

  /// Fills `bytes`: four symbols give three bytes, and up to three symbols give the rest.
  ///
  /// - Returns: whether all characters are symbols and the bits left over are fewer than six and
  ///   zero.
  private static func decode(
    _ text: UnsafeBufferPointer<UInt8>.SubSequence, by values: UnsafeBufferPointer<UInt8>,
    into bytes: UnsafeMutableBufferPointer<UInt8>
  ) -> Bool {
    let text = UnsafeBufferPointer(rebasing: text)
    var (read, written) = (0, 0)
    var seen: UInt8 = 0
    func value(_ index: Int) -> UInt8 {
      let value = values[Int(text[index])]
      seen |= value
      return value
    }
    while read + 4 <= text.count {
      let (second, third) = (value(read + 1), value(read + 2))
      bytes[written] = value(read) << 2 | second >> 4
      bytes[written + 1] = second << 4 | third >> 2
      bytes[written + 2] = third << 6 | value(read + 3)
      read += 4
      written += 3
    }
    var strayBits: UInt8 = 0
    switch text.count - read {
    case 0: break
    case 1: return false
    case 2:
      let second = value(read + 1)
      bytes[written] = value(read) << 2 | second >> 4
      strayBits = second & 15
    default:
      let (second, third) = (value(read + 1), value(read + 2))
      bytes[written] = value(read) << 2 | second >> 4
      bytes[written + 1] = second << 4 | third >> 2
      strayBits = third & 3
    }
    return seen != notASymbol && strayBits == 0
  }

  /// The number of characters of `text` before its padding; nil if the padding is wrong.
  private func symbolCount(of text: Span<UInt8>) -> Int? {
    guard isPadded else { return text.count }
    guard text.count.isMultiple(of: 4) else { return nil }
    var count = text.count
    while count > 0, text.count - count < 2, text[count - 1] == Self.padding { count -= 1 }
    return count
  }
}

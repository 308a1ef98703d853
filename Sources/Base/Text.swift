extension String {
  /// Without the white space at both ends.
  package var trimmed: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }),
      let last = lastIndex(where: { !$0.isWhitespace })
    else { return "" }
    return String(self[first...last])
  }

  /// Whether a control character (Unicode category Cc) is in it.
  package var hasControls: Bool {
    unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  /// With every octet but letters, digits, `-`, `.`, `_` and `~` as `%XX` (RFC 3986 §2.3): good in a
  /// query, and in a form, which is its own subset.
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
    String(unicodeScalars.prefix(count))
  }
}

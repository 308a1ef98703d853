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

  /// The first `count` Unicode scalars: the unit in which MariaDB measures a VARCHAR.
  func cut(to count: Int) -> String {
    String(unicodeScalars.prefix(count))
  }
}

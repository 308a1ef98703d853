extension ArraySlice<UInt8> {
  /// Removes and returns the first `count` bytes; nil if there are fewer.
  mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= self.count else { return nil }
    defer { removeFirst(count) }
    return prefix(count)
  }

  /// Removes the first bytes and returns them as an unsigned number, big-endian.
  mutating func takeInteger<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
    take(Integer.bitWidth / 8)?.reduce(0) { $0 << 8 | Integer($1) }
  }
}

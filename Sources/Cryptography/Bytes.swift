extension ArraySlice<UInt8> {
  /// The first `count` bytes, which are then no longer in front; nil if there are fewer.
  mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= self.count else { return nil }
    defer { removeFirst(count) }
    return prefix(count)
  }

  /// The unsigned number of the first bytes, big-endian, which are then no longer in front.
  mutating func takeInteger<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
    take(Integer.bitWidth / 8)?.reduce(0) { $0 << 8 | Integer($1) }
  }
}

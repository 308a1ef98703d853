/// Reads values of one type and skips values of other types.
extension JSONReader {
  /// Reads an object as ``object(_:)`` does.
  ///
  /// - Returns: false if the value is not an object.
  package mutating func optionalObject(
    _ member: (_ name: String, inout JSONReader) throws -> Void
  ) throws -> Bool {
    guard try isNext("{") else { return false }
    try object(member)
    return true
  }

  /// Reads an array as ``array(_:)`` does.
  ///
  /// - Returns: false if the value is not an array.
  package mutating func optionalArray(
    _ element: (inout JSONReader) throws -> Void
  ) throws -> Bool {
    guard try isNext("[") else { return false }
    try array(element)
    return true
  }

  /// Reads a number without its fraction; nil if the value is not a number, or does not fit.
  package mutating func optionalInteger() throws -> Int64? {
    let first = try start()
    guard first == UInt8(ascii: "-") || first.isDigit else {
      try skip()
      return nil
    }
    let digits = mode == .strict ? try number() : lenientScalar()
    let text = String(decoding: digits, as: UTF8.self)
    if let integer = Int64(text) { return integer }
    guard digits.count <= 64, let number = Double(text) else { return nil }
    return Int64(exactly: number.rounded(.towardZero))
  }

  /// Reads an instant in Unix milliseconds; nil if the value is not a number, or not of the years 1970 to 9999.
  package mutating func optionalTimestamp() throws -> Timestamp? {
    try optionalInteger().flatMap { Timestamp(givenMilliseconds: $0) }
  }

  /// Reads a string; nil if the value is not a string.
  ///
  /// - Parameter size: the limit in bytes of the text as it is written; lenient mode cuts a longer
  ///   string.
  package mutating func optionalString(atMost size: Int = .max) throws -> String? {
    guard try isNext("\"") else { return nil }
    return mode == .strict ? try string() : try lenientString(atMost: size)
  }

  /// Whether the value is `true`.
  package mutating func isTrue() throws -> Bool {
    let isTrue = try start() == UInt8(ascii: "t")
    try skip()
    return isTrue
  }

  /// Whether the next value begins with `mark`; skips any other value.
  private mutating func isNext(_ mark: Unicode.Scalar) throws -> Bool {
    if try start() == UInt8(ascii: mark) { return true }
    try skip()
    return false
  }
}

/// Reads values that may be of another type: such a value is passed over.
extension JSONReader {
  /// Reads an object as ``object(_:)`` does.
  ///
  /// - Returns: false where the value is no object.
  package mutating func optionalObject(
    _ member: (_ name: String, inout JSONReader) throws -> Void
  ) throws -> Bool {
    guard try isNext("{") else { return false }
    try object(member)
    return true
  }

  /// Reads an array as ``array(_:)`` does.
  ///
  /// - Returns: false where the value is no array.
  package mutating func optionalArray(
    _ element: (inout JSONReader) throws -> Void
  ) throws -> Bool {
    guard try isNext("[") else { return false }
    try array(element)
    return true
  }

  /// A number without its fraction; nil where the value is no number, or does not fit.
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

  /// A string; nil where the value is no string.
  ///
  /// - Parameter size: in bytes of the text as it is written; the rest of a longer string is left out
  ///   in lenient mode.
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

  /// Whether a value comes that begins with `mark`; another value is passed over.
  private mutating func isNext(_ mark: Unicode.Scalar) throws -> Bool {
    if try start() == UInt8(ascii: mark) { return true }
    try skip()
    return false
  }
}

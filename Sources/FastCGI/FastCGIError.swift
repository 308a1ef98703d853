/// A system call that the server cannot do without has failed.
package struct FastCGIError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The C function that failed.
  package let function: String
  /// The `errno` of this function.
  package let code: Code

  /// An `errno` value: an open set.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: CInt

    package init(rawValue: CInt) {
      self.rawValue = rawValue
    }
  }

  init(_ function: String, _ errno: CInt) {
    self.function = function
    code = Code(rawValue: errno)
  }

  package var description: String { "\(function) failed with errno \(code.rawValue)" }
}

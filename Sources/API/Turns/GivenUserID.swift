import Base

/// A user id of online-go.com as a client writes it: in JSON a string or a number.
struct GivenUserID: SelfDescribing {
  static let schema = Schema.oneOf(.integer.example(1), .string)

  private let text: String

  init(text: String) { self.text = text.trimmed }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // Try each type: a decoder does not report the type of a value.
    if let text = try? container.decode(String.self) {
      self.init(text: text)
    } else if let number = try? container.decode(Int64.self) {
      self.init(text: String(number))  // a Double would round ids above 2^53
    } else {
      self.init(text: String(try WholeNumber(from: decoder).value))
    }
  }

  var isEmpty: Bool { text.isEmpty }

  /// - Throws: ``Failure/badRequest(_:)`` unless the id is a positive integer.
  var userID: Int64 {
    get throws {
      guard let first = text.utf8.first, first != UInt8(ascii: "+"), let value = Int64(text),
        value > 0
      else { throw Failure.badRequest("Invalid user ID") }
      return value
    }
  }

  /// - Throws: ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
  func owned(by keyUser: Int64) throws -> Int64 {
    guard try userID == keyUser else { throw Failure.foreignKey }
    return keyUser
  }
}

extension Failure {
  static let foreignKey = Failure.forbidden("API key does not belong to this user")
}

import Base
import HTTP

/// `bytes` as JSON.
///
/// - Throws: `DecodingError`; `RepeatedMember`; a ``Failure`` from a value's own checks;
///   ``Failure/invalidJSON``.
func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
  do { return try decoded(type, from: bytes) } catch is JSONReader.Failure {
    throw Failure.invalidJSON
  }
}

extension Request {
  /// The body as a JSON object.
  ///
  /// - Throws: ``Failure/validation`` with the name of the invalid member;
  ///   ``Failure/invalidJSON``.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try API.decode(type, from: body)
  }

  /// The body as a JSON object whose members have the types of `Value`.
  ///
  /// - Throws: ``Failure/badRequest(_:)`` with `complaint`.
  func decode<Value: Decodable>(
    _ type: Value.Type, orSay complaint: String
  ) throws -> Value {
    do { return try decode(type) } catch { throw Failure.badRequest(complaint) }
  }
}

/// A number with an integer value, such as `1` or `1.0`.
struct WholeNumber: SelfDescribing {
  static let schema = Schema.integer.example(1)

  let value: Int64

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let exact = try? container.decode(Int64.self) {  // else the value may still be whole
      value = exact
      return
    }
    let number = try container.decode(Double.self)
    guard number.rounded() == number else {
      throw Failure.validation(field: decoder.field, reason: "must_be_an_integer")
    }
    value = Int64(exactly: number) ?? (number < 0 ? .min : .max)
  }
}

/// A string without control characters, trimmed, of 1 to 200 characters.
struct ShortText: SelfDescribing {
  static let schema = Schema.text(atMost: maximum).example("A name")
  static let maximum = 200

  let text: String

  init(from decoder: any Decoder) throws {
    text = try decoder.text(atMost: Self.maximum)
  }

  /// Reads the text from an item of a form.
  init(item field: String, of request: Request) throws {
    text = try checkedText(request.formItem(field) ?? "", of: field, atMost: Self.maximum)
  }
}

extension Decoder {
  /// The member's name, or its path.
  var field: String { codingPath.map(\.stringValue).joined(separator: ".") }

  /// The trimmed string, if it has 1 to `count` characters and no control character.
  ///
  /// - Throws: ``Failure/validation``.
  func text(atMost count: Int) throws -> String {
    try checkedText(singleValueContainer().decode(String.self), of: field, atMost: count)
  }
}

/// `given` without spaces at both ends, if it has 1 to `count` characters, one that people see, and no control character.
///
/// - Throws: ``Failure/validation``.
func checkedText(_ given: String, of field: String, atMost count: Int) throws -> String {
  let text = given.trimmed
  guard text.isVisible else { throw Failure.validation(field: field, reason: "empty") }
  guard text.unicodeScalars.count <= count else {
    throw Failure.validation(field: field, reason: "too_long")
  }
  guard !text.hasControls else {
    throw Failure.validation(field: field, reason: "control_character")
  }
  return text
}

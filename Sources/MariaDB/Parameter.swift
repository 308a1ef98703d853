/// A value for one `?` of a statement.
package enum Parameter: Sendable {
  case null
  case integer(Int64)
  /// UTF-8 text, compared by the column's collation.
  case text(String)
  /// For BINARY, VARBINARY and BLOB columns, and JSON text that is already bytes.
  case bytes([UInt8])
  /// For a DATETIME(3) column: Unix milliseconds, stored as UTC. Years 0 to 9999.
  case dateTime(milliseconds: Int64)
  case boolean(Bool)
}

extension Parameter: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringLiteral, ExpressibleByBooleanLiteral
{
  package init(nilLiteral: ()) { self = .null }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(stringLiteral value: String) { self = .text(value) }
  package init(booleanLiteral value: Bool) { self = .boolean(value) }
}

extension Parameter {
  /// The text, or NULL.
  package static func text(_ value: String?) -> Parameter { value.map { .text($0) } ?? .null }
  /// The integer, or NULL.
  package static func integer(_ value: Int64?) -> Parameter { value.map { .integer($0) } ?? .null }
  /// The bytes, or NULL.
  package static func bytes(_ value: [UInt8]?) -> Parameter { value.map { .bytes($0) } ?? .null }
}

import Base
import CMariaDB

/// One row of a result, readable while it is lent. Columns are counted from 0.
///
/// A column that is NULL or of another type than asked for is our bug, so it traps.
package struct Row: ~Copyable {
  private let columns: UnsafePointer<MYSQL_BIND>
  private let count: Int

  init(_ columns: UnsafePointer<MYSQL_BIND>, count: Int) {
    self.columns = columns
    self.count = count
  }

  /// Whether the column is NULL.
  package func isNull(_ column: Int) -> Bool {
    precondition(column >= 0 && column < count, "no such column")
    return columns[column].is_null_value != 0
  }

  /// The value of an integer column, or of a DECIMAL without fraction.
  package func integer(_ column: Int) -> Int64 {
    value(column, as: MYSQL_TYPE_LONGLONG).loadUnaligned(as: Int64.self)
  }

  /// The value of a BOOLEAN column, which is an integer.
  package func boolean(_ column: Int) -> Bool {
    integer(column) != 0
  }

  /// A DATETIME, TIMESTAMP or DATE column as Unix milliseconds, read as UTC.
  package func milliseconds(_ column: Int) -> Int64 {
    value(column, as: MYSQL_TYPE_DATETIME).loadUnaligned(as: MYSQL_TIME.self).milliseconds
  }

  /// The value of a character column, or the digits of a column of a type without own accessor.
  package func text(_ column: Int) -> String {
    String(decoding: buffer(column), as: UTF8.self)
  }

  /// The bytes of a BINARY, VARBINARY or BLOB column, or the UTF-8 of a character column.
  package func bytes(_ column: Int) -> [UInt8] {
    [UInt8](buffer(column))
  }

  /// ``integer(_:)``, or nil for NULL.
  package func optionalInteger(_ column: Int) -> Int64? {
    isNull(column) ? nil : integer(column)
  }

  /// ``boolean(_:)``, or nil for NULL.
  package func optionalBoolean(_ column: Int) -> Bool? {
    isNull(column) ? nil : boolean(column)
  }

  /// ``text(_:)``, or nil for NULL.
  package func optionalText(_ column: Int) -> String? {
    isNull(column) ? nil : text(column)
  }

  /// ``bytes(_:)``, or nil for NULL.
  package func optionalBytes(_ column: Int) -> [UInt8]? {
    isNull(column) ? nil : bytes(column)
  }

  private func buffer(_ column: Int) -> UnsafeRawBufferPointer {
    let start = value(column, as: MYSQL_TYPE_STRING)
    return UnsafeRawBufferPointer(start: start, count: Int(columns[column].length_value))
  }

  private func value(_ column: Int, as type: enum_field_types) -> UnsafeRawPointer {
    precondition(!isNull(column), "the column is NULL")
    precondition(columns[column].buffer_type == type, "the column is of another type")
    return UnsafeRawPointer(columns[column].buffer)
  }
}

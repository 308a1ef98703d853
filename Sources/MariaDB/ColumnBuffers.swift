import CMariaDB

/// The memory into which the library writes the row just fetched. Allocated when the columns' types
/// are known; grows for longer values.
struct ColumnBuffers: ~Copyable {
  let binds: UnsafeMutablePointer<MYSQL_BIND>
  let count: Int
  /// Whether the library does not know these buffers yet.
  var needBinding = true
  private let fieldTypes: UnsafeMutablePointer<enum_field_types>

  /// - Parameter fields: the columns as the server describes them.
  init(_ fields: UnsafeBufferPointer<MYSQL_FIELD>) {
    count = fields.count
    binds = .allocate(capacity: count)
    binds.initialize(repeating: MYSQL_BIND(), count: count)
    fieldTypes = .allocate(capacity: count)
    for index in 0..<count {
      fieldTypes[index] = fields[index].type
      binds.pointToOwnFields(at: index)
      binds[index].buffer_type = fields[index].bufferType
      binds.allocateBuffer(at: index, capacity: fields[index].bufferCapacity)
    }
  }

  deinit {
    fieldTypes.deallocate()
    binds.deallocateWithBuffers(count: count)
  }

  /// Whether these buffers fit the columns. A type can change between executions: the type of
  /// `SELECT ?` with its parameter, the type of any column by ALTER TABLE.
  func fit(_ fields: UnsafeBufferPointer<MYSQL_FIELD>) -> Bool {
    guard fields.count == count else { return false }
    for index in 0..<count where fields[index].type != fieldTypes[index] { return false }
    return true
  }

  /// Enlarges the buffers that were too short for the row just fetched and reads their columns again.
  mutating func refetch(_ statement: UnsafeMutablePointer<MYSQL_STMT>) {
    for index in 0..<count where binds[index].is_null_value == 0 && binds[index].error_value != 0 {
      precondition(binds[index].buffer_type == MYSQL_TYPE_STRING, "the value does not fit Int64")
      binds.allocateBuffer(at: index, capacity: Int(binds[index].length_value))
      needBinding = true
      // Room for the value only: its length is right already.
      let status = mysql_stmt_fetch_column(statement, binds + index, UInt32(index), 0)
      precondition(status == 0 && binds[index].error_value == 0, "the value changed its length")
    }
  }
}

extension MYSQL_FIELD {
  /// One C type for each kind of value that ``Row`` reads; the library converts.
  fileprivate var bufferType: enum_field_types {
    switch type {
    case MYSQL_TYPE_TINY, MYSQL_TYPE_SHORT, MYSQL_TYPE_INT24, MYSQL_TYPE_LONG, MYSQL_TYPE_LONGLONG,
      MYSQL_TYPE_YEAR:
      MYSQL_TYPE_LONGLONG
    case MYSQL_TYPE_NEWDECIMAL where decimals == 0:  // SUM of integers
      MYSQL_TYPE_LONGLONG
    case MYSQL_TYPE_DATETIME, MYSQL_TYPE_TIMESTAMP, MYSQL_TYPE_DATE:
      MYSQL_TYPE_DATETIME
    default:
      MYSQL_TYPE_STRING
    }
  }

  /// Enough for most values; `length` is 4 GB for a LONGTEXT.
  fileprivate var bufferCapacity: Int {
    bufferType == MYSQL_TYPE_STRING ? min(max(Int(length), 32), 128) : MemoryLayout<MYSQL_TIME>.size
  }
}

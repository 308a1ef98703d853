import CMariaDB

/// A prepared statement of one connection, with the memory for its parameters and its rows.
///
/// The corresponding C type is `MYSQL_STMT`.
final class Statement {
  private let handle: UnsafeMutablePointer<MYSQL_STMT>
  private let sql: StaticString
  private var parameters = ParameterBuffers(count: 0)
  private var columns = ColumnBuffers(UnsafeBufferPointer(start: nil, count: 0))

  /// Prepares `sql`; `session` has to outlive the statement. The corresponding C functions are
  /// `mysql_stmt_init` and `mysql_stmt_prepare`.
  init(_ session: borrowing Session, _ sql: StaticString) throws(DatabaseError) {
    guard let handle = mysql_stmt_init(session.handle) else {
      throw DatabaseError(.outOfMemory, .preparing, sql: sql)
    }
    self.handle = handle
    self.sql = sql
    let status = sql.withUTF8Buffer { text in
      text.withMemoryRebound(to: CChar.self) {
        mysql_stmt_prepare(handle, $0.baseAddress, UInt($0.count))
      }
    }
    guard status == 0 else { throw failure(.preparing) }
    parameters = ParameterBuffers(count: Int(mysql_stmt_param_count(handle)))
  }

  deinit {
    mysql_stmt_close(handle)
  }

  /// Executes the statement; its rows, if it has any, have to be read by ``next()`` to the end.
  ///
  /// The corresponding C function is `mysql_stmt_execute`.
  func execute(_ values: [Parameter]) throws(DatabaseError) {
    parameters.store(values)
    if parameters.needBinding {
      guard mysql_stmt_bind_param(handle, parameters.binds) == 0 else { throw failure(.preparing) }
      parameters.needBinding = false
    }
    guard mysql_stmt_execute(handle) == 0 else {
      // The library sends the types only after binding; the server may have rejected them unread.
      parameters.needBinding = true
      throw failure(.executing)
    }
    let fields = UnsafeBufferPointer(
      start: mariadb_stmt_fetch_fields(handle), count: Int(mysql_stmt_field_count(handle)))
    if !columns.fit(fields) { columns = ColumnBuffers(fields) }
  }

  /// Reads the next row into ``row``; false after the last. Rows come straight from the connection.
  ///
  /// An error can still come after rows: INSERT … RETURNING commits after it has sent them.
  /// The corresponding C functions are `mysql_stmt_bind_result`, which in some versions sets the lengths of the row
  /// before to 0, and `mysql_stmt_fetch`.
  func next() throws(DatabaseError) -> Bool {
    if columns.needBinding {
      guard mysql_stmt_bind_result(handle, columns.binds) == 0 else { throw failure(.executing) }
      columns.needBinding = false
    }
    switch mysql_stmt_fetch(handle) {
    case 0:
      return true
    case MYSQL_NO_DATA:
      return false
    case MYSQL_DATA_TRUNCATED:
      columns.refetch(handle)
      return true
    default:
      throw failure(.executing)
    }
  }

  /// The row that ``next()`` has read.
  var row: Row { Row(columns.binds, count: columns.count) }

  var hasRows: Bool { mysql_stmt_field_count(handle) > 0 }

  /// The number of rows that were inserted, deleted or really changed.
  var affectedRows: Int { Int(truncatingIfNeeded: mysql_stmt_affected_rows(handle)) }

  /// Discards the remaining rows.
  func discardRows() {
    mysql_stmt_free_result(handle)
  }

  private func failure(_ stage: DatabaseError.Stage) -> DatabaseError {
    var code = mysql_stmt_errno(handle)
    var message = mysql_stmt_error(handle)
    // An error instead of a row is set only on the connection.
    if code == 0, let connection = handle.pointee.mysql {
      code = mysql_errno(connection)
      message = mysql_error(connection)
    }
    let text = stage == .preparing ? message.map { String(cString: $0) } : nil
    return DatabaseError(.init(rawValue: code), stage, sql: sql, message: text)
  }
}

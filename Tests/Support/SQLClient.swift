import CMariaDB
import Foundation

/// Runs SQL text in this process, and prints like `mariadb --batch --skip-column-names`. Starting
/// that program takes more processor time than most tests.
enum SQLClient {
  /// - Parameter mayAnswer: whether to wait longer for a server that does not answer a new connection, asked from time
  ///   to time.
  /// - Returns: one line per row, tabs between columns, and the error that ended the text.
  static func run(
    _ sql: String, socket: String, user: String, database: String?,
    connectingWhile mayAnswer: () -> Bool = { true }
  ) -> (isDone: Bool, printed: String) {
    while true {
      let result = runOnce(sql, socket: socket, user: user, database: database)
      let isSilent = result.printed.hasSuffix("initial communication packet', system error: 110\n")
      guard !result.isDone, isSilent, mayAnswer() else { return result }
    }
  }

  private static func runOnce(
    _ sql: String, socket: String, user: String, database: String?
  ) -> (isDone: Bool, printed: String) {
    precondition(isLibraryReady, "mysql_server_init failed")
    let handle = mysql_init(nil)!  // nil only when memory has run out
    defer { mysql_close(handle) }
    mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4")
    var limit: UInt32 = 10
    mysql_options(handle, MYSQL_OPT_CONNECT_TIMEOUT, &limit)
    let flags = UInt(CLIENT_MULTI_STATEMENTS | CLIENT_MULTI_RESULTS)
    guard mysql_real_connect(handle, nil, user, nil, database, 0, socket, flags) != nil,
      mysql_real_query(handle, sql, UInt(sql.utf8.count)) == 0
    else { return failure(of: handle, after: []) }
    var printed: [UInt8] = []
    while true {
      if let result = mysql_use_result(handle) {
        print(result, into: &printed)
        mysql_free_result(result)
      }
      if mysql_errno(handle) != 0 { return failure(of: handle, after: printed) }
      switch mysql_next_result(handle) {
      case 0: continue
      case -1: return (true, String(decoding: printed, as: UTF8.self))
      default: return failure(of: handle, after: printed)
      }
    }
  }

  private static let isLibraryReady = mysql_server_init(0, nil, nil) == 0

  private static func print(
    _ result: UnsafeMutablePointer<MYSQL_RES>, into printed: inout [UInt8]
  ) {
    let columns = Int(mysql_num_fields(result))
    while let row = mysql_fetch_row(result), let lengths = mysql_fetch_lengths(result) {
      for column in 0..<columns {
        if column > 0 { printed.append(UInt8(ascii: "\t")) }
        guard let value = row[column] else {
          printed += "NULL".utf8
          continue
        }
        for octet in UnsafeRawBufferPointer(start: value, count: Int(lengths[column])) {
          switch octet {
          case 0: printed += #"\0"#.utf8
          case UInt8(ascii: "\t"): printed += #"\t"#.utf8
          case UInt8(ascii: "\n"): printed += #"\n"#.utf8
          case UInt8(ascii: "\\"): printed += #"\\"#.utf8
          default: printed.append(octet)
          }
        }
      }
      printed.append(UInt8(ascii: "\n"))
    }
  }

  /// The result of a text that failed. Only comments after the last statement are no failure.
  private static func failure(
    of handle: UnsafeMutablePointer<MYSQL>, after printed: [UInt8]
  ) -> (isDone: Bool, printed: String) {
    let code = mysql_errno(handle)
    let text = String(decoding: printed, as: UTF8.self)
    if code == ER_EMPTY_QUERY { return (true, text) }
    let (state, message) = (mysql_sqlstate(handle)!, mysql_error(handle)!)
    return (
      false, text + "ERROR \(code) (\(String(cString: state))): \(String(cString: message))\n"
    )
  }
}

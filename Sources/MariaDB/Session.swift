import CMariaDB
import Glibc

/// An open session with the server. The corresponding C type is `MYSQL`.
struct Session: ~Copyable {
  let handle: UnsafeMutablePointer<MYSQL>

  /// Connects and sets the session up. The corresponding C function is `mysql_real_connect`.
  ///
  /// - Parameter host: the server, if no unix socket is set; nil is this machine.
  /// - Throws: ``DatabaseError/Code/foreign`` if the server is not MariaDB.
  init(
    _ settings: ConnectionSettings, at host: ConnectionSettings.Host?
  ) throws(DatabaseError) {
    precondition(isLibraryReady, "mysql_server_init failed")
    handle = mysql_init(nil)!  // nil only when memory has run out
    handle.configure(settings)
    guard handle.connect(settings, at: host) else { throw handle.connectingError }
    if let version = handle.foreignVersion { throw .isForeign(version: version) }
    for sql in [settings.sessionVariables, isolation] {
      guard mysql_real_query(handle, sql, UInt(sql.utf8.count)) == 0 else {
        throw handle.connectingError
      }
    }
    // Otherwise a child process would keep the session open after us: the library sets no such
    // flag.
    _ = fcntl(mysql_get_socket(handle), F_SETFD, FD_CLOEXEC)
  }

  deinit {
    mysql_close(handle)
  }

  /// Executes `sql`, which has no rows. The corresponding C function is `mysql_real_query`.
  func query(_ sql: StaticString) throws(DatabaseError) {
    let status = sql.withUTF8Buffer { text in
      text.withMemoryRebound(to: CChar.self) {
        mysql_real_query(handle, $0.baseAddress, UInt($0.count))
      }
    }
    guard status == 0 else {
      throw DatabaseError(.init(rawValue: mysql_errno(handle)), .executing, sql: sql)
    }
  }

  /// Whether the server has closed the connection, or sent something unrequested, which it does
  /// only before closing.
  var hasInput: Bool {
    var socket = pollfd(fd: mysql_get_socket(handle), events: Int16(POLLIN), revents: 0)
    return poll(&socket, 1, 0) != 0
  }
}

/// Initializes the library once per process, which is not safe to do on two threads.
///
/// libmariadb keeps nothing per thread: its `mysql_thread_init` and `mysql_thread_end` are empty,
/// so no thread calls them.
private let isLibraryReady = {
  // The library looks up the port of the service `mysql`, although we always name one. This keeps glibc from looking
  // for a database of services in 60 directories.
  __nss_configure_lookup("services", "files")
  return mysql_server_init(0, nil, nil) == 0
}()

extension UnsafeMutablePointer<MYSQL> {
  fileprivate func configure(_ settings: ConnectionSettings) {
    set(MYSQL_OPT_CONNECT_TIMEOUT, settings.connectTimeout.wholeSeconds)
    set(MYSQL_OPT_READ_TIMEOUT, settings.readTimeout.wholeSeconds)
    set(MYSQL_OPT_WRITE_TIMEOUT, settings.writeTimeout.wholeSeconds)
    set(MYSQL_OPT_LOCAL_INFILE, 0)  // a server must not ask us for files
    mysql_options(self, MYSQL_SET_CHARSET_NAME, "utf8mb4")
    guard settings.socket == nil, case .verified(let authorities) = settings.encryption else {
      return
    }
    set(MYSQL_OPT_SSL_ENFORCE, true)
    set(MYSQL_OPT_SSL_VERIFY_SERVER_CERT, true)
    mysql_options(self, MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3")
    if let authorities { mysql_options(self, MYSQL_OPT_SSL_CA, authorities) }
  }

  private func set(_ option: mysql_option, _ value: Bool) {
    var value = my_bool(value ? 1 : 0)
    mysql_options(self, option, &value)
  }

  private func set(_ option: mysql_option, _ value: Int) {
    var value = UInt32(value)
    mysql_options(self, option, &value)
  }

  /// No flags: affected rows are changed rows, and one command holds one statement.
  fileprivate func connect(
    _ settings: ConnectionSettings, at host: ConnectionSettings.Host?
  ) -> Bool {
    withOptionalCString(settings.socket) { socket in
      withOptionalCString(settings.socket == nil ? host?.name : nil) { name in
        withOptionalCString(settings.password) { password in
          mysql_real_connect(
            self, name, settings.user, password, settings.database, UInt32(host?.port ?? 0), socket,
            0) != nil
        }
      }
    }
  }

  fileprivate var connectingError: DatabaseError {
    let message = String(cString: mysql_error(self))
    return DatabaseError(.init(rawValue: mysql_errno(self)), .connecting, message: message)
  }

  /// The version of a server that is not MariaDB, from its greeting; nil for MariaDB.
  fileprivate var foreignVersion: String? {
    let version = String(cString: mysql_get_server_info(self))
    return version.contains("MariaDB") ? nil : version
  }
}

extension ConnectionSettings {
  /// The server's limit for a statement is shorter than our
  /// wait limit, so that a slow statement is an error and not a lost connection.
  fileprivate var sessionVariables: String {
    """
    SET time_zone = '+00:00', autocommit = 1, \
    innodb_lock_wait_timeout = \(max(1, min(lockTimeout.wholeSeconds, readTimeout.wholeSeconds - 1))), \
    max_statement_time = \(Double(readTimeout.wholeSeconds) - 0.5), \
    sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'
    """
  }
}

/// Not a variable: its name changed in MariaDB 11.1.
private let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"

extension Duration {
  /// Rounded up; at least 1, because 0 means no limit to the library.
  fileprivate var wholeSeconds: Int {
    let (seconds, attoseconds) = components
    return max(1, Int(seconds) + (attoseconds > 0 ? 1 : 0))
  }
}

private func withOptionalCString<T>(
  _ text: String?, _ body: (UnsafePointer<CChar>?) -> T
) -> T {
  guard let text else { return body(nil) }
  return text.withCString { body($0) }
}

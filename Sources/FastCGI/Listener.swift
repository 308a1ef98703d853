import CFastCGI
import Glibc

/// A listening socket, owned: closed in the end, and never shut down or unlinked, because whoever
/// handed it over goes on holding it.
package struct Listener: ~Copyable, Sendable {
  let descriptor: CInt

  /// Takes over `descriptor`, a listening stream socket.
  ///
  /// It is made non-blocking, for every process that shares it.
  ///
  /// - Throws: ``FastCGIError`` if `fcntl` refuses it.
  package init(descriptor: CInt) throws(FastCGIError) {
    self.descriptor = descriptor
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0,
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
    else { throw FastCGIError("fcntl", errno) }
  }

  deinit { close(descriptor) }
}

/// The socket that systemd (descriptor 3, by `LISTEN_PID` and `LISTEN_FDS`) or spawn-fcgi
/// (descriptor 0) handed to this process; nil if it was started as a plain CGI program.
///
/// `LISTEN_PID` and `LISTEN_FDS` are removed from the environment: call it once, before any thread.
///
/// - Throws: ``FastCGIError`` if descriptor 3 is not a socket that can be listened on.
package func inheritedListener() throws(FastCGIError) -> Listener? {
  let isOurs = number("LISTEN_PID") == getpid()
  let count = isOurs ? number("LISTEN_FDS") ?? 0 : 0
  for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
  let first: CInt = 3  // SD_LISTEN_FDS_START
  return try listener(passed: count >= 1 ? first : nil, standardInput: STDIN_FILENO)
}

/// `passed`, which systemd says is a listening socket, or else `standardInput` if it is one.
func listener(passed: CInt?, standardInput: CInt) throws(FastCGIError) -> Listener? {
  if let passed {
    guard isListening(passed) else { throw FastCGIError("getsockopt", errno) }
    return try Listener(descriptor: passed)
  }
  return isListening(standardInput) ? try Listener(descriptor: standardInput) : nil
}

private func number(_ name: String) -> CInt? {
  getenv(name).flatMap { CInt(String(cString: $0)) }
}

private func isListening(_ descriptor: CInt) -> Bool {
  var value: CInt = 0
  var length = socklen_t(MemoryLayout<CInt>.size)
  return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value != 0
}

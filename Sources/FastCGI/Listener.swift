import Base
import CGlibc
import Glibc

/// An owned listening socket. `deinit` closes it but never shuts it down or unlinks it, because the
/// process that passed it on still uses it.
package struct Listener: ~Copyable, Sendable {
  let descriptor: CInt

  /// Takes ownership of `descriptor`, a listening stream socket.
  ///
  /// Makes the socket non-blocking for every process that shares it.
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

  /// Whether this is a unix socket, whose file mode limits who may connect. Every local process may connect to
  /// a TCP socket.
  var isUnixSocket: Bool {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout.size(ofValue: address))
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &length) == 0 && $0.pointee.sa_family == sa_family_t(AF_UNIX)
      }
    }
  }
}

/// The socket that systemd or spawn-fcgi passed to this process (``InheritedSocket``); nil if the
/// process is a plain CGI program. Call this once, before any thread starts.
///
/// - Throws: ``FastCGIError`` if the descriptor from systemd is not a listening socket.
package func inheritedListener() throws(FastCGIError) -> Listener? {
  switch InheritedSocket.inherit() {
  case .listening(let descriptor): return try Listener(descriptor: descriptor)
  case .notListening: throw FastCGIError("getsockopt", errno)
  case .none: return nil
  }
}

import Base
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

  /// Whether it is a unix socket, whose file says who may connect. To a TCP socket everybody on this machine may.
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

/// The socket that systemd or spawn-fcgi handed to this process (``InheritedSocket``); nil if it was
/// started as a plain CGI program. Call it once, before any thread starts.
///
/// - Throws: ``FastCGIError`` if what systemd announced does not listen.
package func inheritedListener() throws(FastCGIError) -> Listener? {
  switch InheritedSocket.inherit() {
  case .listening(let descriptor): return try Listener(descriptor: descriptor)
  case .notListening: throw FastCGIError("getsockopt", errno)
  case .none: return nil
  }
}

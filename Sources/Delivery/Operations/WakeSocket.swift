import Base
import Glibc

/// Socket on which the responder wakes the companion: a connection is the whole message.
package struct WakeSocket: Sendable {
  let descriptor: CInt

  /// - Parameter descriptor: a listening socket. It becomes non-blocking, and closes in child processes.
  package init(descriptor: CInt) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL, 0) | O_NONBLOCK)
  }

  /// Accepts and closes every waiting connection.
  ///
  /// - Returns: true if there was a connection.
  @discardableResult
  package func accept() -> Bool {
    var wasWoken = false
    while case let connection = Glibc.accept(descriptor, nil, nil), connection >= 0 {
      close(connection)
      wasWoken = true
    }
    return wasWoken
  }
}

/// Waits for one of `latches`, a connection on the wake socket, or the time limit (nil: none).
///
/// - Returns: true if the responder woke the companion.
@discardableResult
func wait(
  atMost limit: Duration?, for latches: [Latch?], or wakeSocket: WakeSocket?
) -> Bool {
  var polled = (latches.map { $0?.reader } + [wakeSocket?.descriptor]).map {
    pollfd(fd: $0 ?? -1, events: Int16(POLLIN), revents: 0)
  }
  let milliseconds = limit.map { CInt(min(max(0, ($0 / .milliseconds(1)).rounded(.up)), 1e9)) }
  poll(&polled, nfds_t(polled.count), milliseconds ?? -1)
  return wakeSocket?.accept() ?? false
}

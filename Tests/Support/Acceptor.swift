import Foundation
import Synchronization

/// A listening socket that serves each connection on its own thread until the socket is ended.
///
/// The accepting thread closes the descriptor. Nothing uses the number after that, because another
/// file may have it by then.
final class Acceptor: Sendable {
  private let descriptor: Mutex<Int32?>

  init(_ listener: Int32) {
    descriptor = Mutex(listener)
  }

  /// Calls `serve` with each connection; `serve` closes the connection. Call `begin` only once.
  func begin(_ serve: @escaping @Sendable (Int32) -> Void) {
    guard let listener = descriptor.withLock({ $0 }) else { return }
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(listener, nil, nil)
        if connection >= 0 {
          _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
          Thread.detachNewThread { serve(connection) }
        } else if errno == EINVAL {
          break  // `end` was called
        } else {
          usleep(10_000)  // for example, no free descriptor
        }
      }
      descriptor.withLock { descriptor in
        close(listener)
        descriptor = nil
      }
    }
  }

  /// Stops listening. A connection ends when the other side closes it.
  func end() {
    descriptor.withLock { descriptor in
      if let descriptor { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }
}

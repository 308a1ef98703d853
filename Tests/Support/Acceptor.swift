import Foundation
import Synchronization

/// A listening socket, each of whose connections is served on a thread of its own until it is ended.
///
/// Its number is given back by the thread that accepts and not used after that: it may be another's by then.
final class Acceptor: Sendable {
  private let descriptor: Mutex<Int32?>

  init(_ listener: Int32) {
    descriptor = Mutex(listener)
  }

  /// Has `serve` called with each connection, to be closed by it. Called once.
  func begin(_ serve: @escaping @Sendable (Int32) -> Void) {
    guard let listener = descriptor.withLock({ $0 }) else { return }
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(listener, nil, nil)
        if connection >= 0 {
          Thread.detachNewThread { serve(connection) }
        } else if errno == EINVAL {
          break  // it was ended
        } else {
          usleep(10_000)  // for want of a descriptor, say
        }
      }
      descriptor.withLock { descriptor in
        close(listener)
        descriptor = nil
      }
    }
  }

  /// Ends the listening; connections end with their other side.
  func end() {
    descriptor.withLock { descriptor in
      if let descriptor { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }
}

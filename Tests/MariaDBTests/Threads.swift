import Foundation
import Support
import Synchronization

/// A barrier where threads wait for each other.
final class Meeting: Sendable {
  private let size: Int
  private let present = Mutex(0)
  private let complete = DispatchSemaphore(value: 0)

  init(of size: Int) {
    self.size = size
  }

  /// Waits until all threads have arrived.
  func attend() {
    let isLast = present.withLock { present in
      present += 1
      return present == size
    }
    if isLast {
      for _ in 1..<size { complete.signal() }
    } else {
      waiting(for: "the other threads") { complete.wait() }
    }
  }
}

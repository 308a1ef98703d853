import CGlibc
import Glibc

/// An owned `sem_t`.
struct Semaphore: ~Copyable, @unchecked Sendable {
  private let handle: UnsafeMutablePointer<sem_t>

  init(_ count: Int) {
    handle = .allocate(capacity: 1)
    sem_init(handle, 0, UInt32(count))
  }

  deinit {
    sem_destroy(handle)
    handle.deallocate()
  }

  func give() { sem_post(handle) }

  func take() {
    while sem_wait(handle) != 0 {}  // EINTR
  }

  /// - Returns: false if there is no permit within `limit`.
  func take(within limit: Duration) -> Bool {
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    let nanoseconds = end.tv_nsec + Int(limit / .nanoseconds(1))
    end.tv_sec += nanoseconds / 1_000_000_000
    end.tv_nsec = nanoseconds % 1_000_000_000
    while sem_clockwait(handle, CLOCK_MONOTONIC, &end) != 0 {
      guard errno == EINTR else { return false }
    }
    return true
  }

  func tryToTake() -> Bool { sem_trywait(handle) == 0 }
}

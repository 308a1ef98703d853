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

  func tryToTake() -> Bool { sem_trywait(handle) == 0 }
}

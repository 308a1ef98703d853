import CGlibc
import Glibc

/// An owned `eventfd`: `signal()` makes it readable until `clear()`.
struct WakeEvent: ~Copyable, Sendable {
  let descriptor: CInt

  init() throws(FastCGIError) {
    descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else { throw FastCGIError("eventfd", errno) }
  }

  deinit { close(descriptor) }

  func signal() { eventfd_write(descriptor, 1) }

  func clear() {
    var count: eventfd_t = 0
    eventfd_read(descriptor, &count)
  }
}

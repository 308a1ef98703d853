import CGlibc
import Glibc

/// An owned `timerfd` for a server's poller. It becomes readable once per interval.
struct IntervalTimer: ~Copyable, Sendable {
  let descriptor: CInt

  /// - Parameter interval: Nil means that the timer never becomes readable.
  init(every interval: Duration?) throws(FastCGIError) {
    descriptor = timerfd_create(CLOCK_MONOTONIC, CInt(TFD_CLOEXEC | TFD_NONBLOCK))
    guard descriptor >= 0 else { throw FastCGIError("timerfd_create", errno) }
    guard let interval else { return }
    let (seconds, attoseconds) = interval.components
    let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    var setting = itimerspec(it_interval: time, it_value: time)
    guard timerfd_settime(descriptor, 0, &setting, nil) == 0 else {
      throw FastCGIError("timerfd_settime", errno)
    }
  }

  deinit { close(descriptor) }

  func clear() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
  }
}

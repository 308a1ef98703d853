import CGlibc
import Glibc

/// An owned `epoll` descriptor that reports each watched descriptor to one thread at a time.
struct Poller: ~Copyable, Sendable {
  private let descriptor: CInt

  init() throws(FastCGIError) {
    descriptor = epoll_create1(CInt(EPOLL_CLOEXEC))
    guard descriptor >= 0 else { throw FastCGIError("epoll_create1", errno) }
  }

  deinit { close(descriptor) }

  private static let once = EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue

  /// Reports `target` once, when it is readable. Returns false if the kernel has no memory for it.
  ///
  /// One-shot, because a level trigger would wake a second thread, and an edge trigger would report
  /// the rest of a request while a thread is reading it.
  func add(_ target: CInt) -> Bool { control(EPOLL_CTL_ADD, target, Self.once) }

  /// Reports `target` once more. It must be added already.
  func rearm(_ target: CInt) { _ = control(EPOLL_CTL_MOD, target, Self.once) }

  /// Reports `target` to every thread, again and again, as long as it is readable.
  func addForAll(_ target: CInt) -> Bool { control(EPOLL_CTL_ADD, target, EPOLLIN.rawValue) }

  private func control(_ operation: CInt, _ target: CInt, _ events: UInt32) -> Bool {
    var event = epoll_event(events: events, data: epoll_data(fd: target))
    return epoll_ctl(descriptor, operation, target, &event) == 0
  }

  /// Waits for a descriptor that is readable or whose peer has closed. Returns nil after `timeout`
  /// milliseconds; -1 waits forever.
  func wait(timeout: CInt) -> CInt? {
    var event = epoll_event()
    guard epoll_wait(descriptor, &event, 1, timeout) == 1 else { return nil }
    return event.data.fd
  }
}

import CFastCGI
import Glibc

/// An `epoll` descriptor, owned, that reports each descriptor to one thread at a time.
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
  /// One shot, because level-triggered it would wake a second thread, and edge-triggered it would
  /// report the rest of a request while a thread is reading it.
  func add(_ target: CInt) -> Bool { control(EPOLL_CTL_ADD, target, Self.once) }

  /// Reports `target`, which was added and reported before, once more.
  func rearm(_ target: CInt) { _ = control(EPOLL_CTL_MOD, target, Self.once) }

  /// Reports `target` to every thread and every time, as long as it is readable.
  func addForAll(_ target: CInt) -> Bool { control(EPOLL_CTL_ADD, target, EPOLLIN.rawValue) }

  private func control(_ operation: CInt, _ target: CInt, _ events: UInt32) -> Bool {
    var event = epoll_event(events: events, data: epoll_data(fd: target))
    return epoll_ctl(descriptor, operation, target, &event) == 0
  }

  /// A descriptor that is ready, or whose peer is gone; nil after `timeout` milliseconds, if that is not -1.
  func wait(timeout: CInt) -> CInt? {
    var event = epoll_event()
    guard epoll_wait(descriptor, &event, 1, timeout) == 1 else { return nil }
    return event.data.fd
  }
}

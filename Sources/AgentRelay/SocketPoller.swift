import CGlibc
import Glibc

/// Owned `epoll` descriptor. It reports a descriptor again and again, as long as it is ready.
final class SocketPoller {
  /// Conditions of a descriptor. Its end and its errors are always reported, as neither.
  struct Readiness: OptionSet {
    let rawValue: UInt32
    static let input = Readiness(rawValue: EPOLLIN.rawValue)
    static let output = Readiness(rawValue: EPOLLOUT.rawValue)
  }

  struct Event {
    let tag: UInt64
    let readiness: Readiness
  }

  private static let limit = 64

  private let descriptor: CInt
  private var ready = [epoll_event](repeating: epoll_event(), count: limit)

  init() {
    descriptor = epoll_create1(CInt(EPOLL_CLOEXEC))
    precondition(descriptor >= 0, "no epoll descriptor")
  }

  deinit { close(descriptor) }

  /// Begins, changes or ends the watch over `target`.
  ///
  /// - Parameters:
  ///   - old: the conditions so far; nil if it was not watched.
  ///   - new: nil ends the watch. Closing `target` ends it too.
  ///   - tag: identifies `target` in the events.
  func watch(_ target: CInt, from old: Readiness?, to new: Readiness?, tag: UInt64) {
    guard old != new else { return }
    let operation = old == nil ? EPOLL_CTL_ADD : new == nil ? EPOLL_CTL_DEL : EPOLL_CTL_MOD
    var event = epoll_event(events: new?.rawValue ?? 0, data: epoll_data(u64: tag))
    let result = epoll_ctl(descriptor, operation, target, &event)
    precondition(result == 0, "epoll_ctl")
  }

  /// Waits for events, at the longest until `end`.
  func wait(until end: ContinuousClock.Instant) -> [Event] {
    let limit = max(.zero, end - .now)
    // Rounded up, so that a wait does not end just before `end`.
    let count = epoll_wait(
      descriptor, &ready, CInt(Self.limit), CInt(limit / .milliseconds(1)) + 1)
    return ready.prefix(Int(max(0, count))).map { event in
      Event(tag: event.data.u64, readiness: Readiness(rawValue: event.events))
    }
  }
}

import Glibc
import Synchronization

/// Value that any thread can set once.
package final class Flag: Sendable {
  private let value = Atomic(false)

  package init() {}

  package var isSet: Bool { value.load(ordering: .acquiring) }
  package func set() { value.store(true, ordering: .releasing) }
}

/// Flag that `poll` can wait for: a pipe whose writing end is closed when the flag is set.
final class Latch: Sendable {
  let reader: CInt
  private let writer: CInt

  init() { (reader, writer) = makePipe() }
  deinit { close(reader) }

  /// Sets the flag. Call it only once.
  func set() { close(writer) }

  var isSet: Bool {
    var polled = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 0) == 1
  }
}

func makePipe() -> (reader: CInt, writer: CInt) {
  var ends: [CInt] = [0, 0]
  precondition(pipe(&ends) == 0, "no pipe")
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  return (ends[0], ends[1])
}

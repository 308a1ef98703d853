import Glibc
import Synchronization

/// A value that any thread can set once.
package final class Flag: Sendable {
  private let value = Atomic(false)

  package init() {}

  package var isSet: Bool { value.load(ordering: .acquiring) }
  package func set() { value.store(true, ordering: .releasing) }
}

/// A flag that `poll` can wait for: a pipe whose writing end is closed when the flag is set.
package final class Latch: Sendable {
  package let reader: CInt
  private let writer: CInt

  package init() { (reader, writer) = makePipe() }
  deinit { close(reader) }

  /// Called once.
  package func set() { close(writer) }

  package var isSet: Bool {
    var polled = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 0) == 1
  }
}

/// A pipe that is readable from ``send()`` until ``clear()``, for a thread that polls.
package final class PollSignal: Sendable {
  package let reader: CInt
  private let writer: CInt

  package init() {
    (reader, writer) = makePipe()
    _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    _ = fcntl(writer, F_SETFL, O_NONBLOCK)
  }

  deinit {
    close(reader)
    close(writer)
  }

  package func send() {
    var byte: UInt8 = 1
    write(writer, &byte, 1)
  }

  package func clear() {
    var bytes: UInt64 = 0
    while read(reader, &bytes, 8) == 8 {}
  }
}

package func makePipe() -> (reader: CInt, writer: CInt) {
  var ends: [CInt] = [0, 0]
  precondition(pipe(&ends) == 0, "no pipe")
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  return (ends[0], ends[1])
}

/// A latch that SIGTERM and SIGINT set. A thread of its own receives them (`sigwait`); they are
/// blocked in all threads that start later.
package func stopSignal() -> Latch {
  let latch = Latch()
  var signals = stopSignals()
  pthread_sigmask(SIG_BLOCK, &signals, nil)
  pthread_detach(
    startThread {
      var signals = stopSignals()
      var signal: CInt = 0
      sigwait(&signals, &signal)
      latch.set()
    })
  return latch
}

private func stopSignals() -> sigset_t {
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, SIGTERM)
  sigaddset(&signals, SIGINT)
  return signals
}

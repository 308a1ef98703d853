import Base
import CGlibc
import Glibc

/// An owned `signalfd`. Its signals are blocked in this thread and in the threads that it starts.
struct SignalDescriptor: ~Copyable {
  let descriptor: CInt

  init(_ signals: CInt...) throws(FastCGIError) {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    descriptor = signalfd(-1, &set, CInt(SFD_CLOEXEC | SFD_NONBLOCK))
    guard descriptor >= 0 else { throw FastCGIError("signalfd", errno) }
  }

  deinit { close(descriptor) }

  /// Waits until `condition` is true or `deadline` passes. Checks `condition` again at each signal of `progress`.
  ///
  /// - Returns: False if a process signal arrived first; this call consumes it.
  func wait(
    _ progress: borrowing WakeEvent, until deadline: ContinuousClock.Instant? = nil,
    for condition: () -> Bool
  ) -> Bool {
    while !condition() {
      var timeout: CInt = -1
      if let deadline {
        let left = deadline - .now
        if left <= .zero { break }
        timeout = CInt(left / .milliseconds(1)) + 1
      }
      var polled = [descriptor, progress.descriptor].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      poll(&polled, nfds_t(polled.count), timeout)
      if take() { return false }
      progress.clear()
    }
    return true
  }

  /// Consumes one signal; returns false if no signal is pending.
  private func take() -> Bool {
    var information = signalfd_siginfo()
    let size = MemoryLayout.size(ofValue: information)
    return read(descriptor, &information, size) == size
  }
}

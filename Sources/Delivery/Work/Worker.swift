import Glibc
import Synchronization

/// A thread for one kind of work, so that no mail waits for a fetch that hangs. It works whenever it
/// is woken.
final class Worker: Sendable {
  private let thread: pthread_t
  private let writer: CInt
  private let failure: Failure

  private final class Failure: Sendable {
    let last = Mutex<(any Error)?>(nil)
  }

  /// - Parameter name: names the work in the log.
  init(_ name: String, _ failures: FailureLog, _ work: @escaping @Sendable () throws -> Void) {
    let (reader, writer) = makePipe()
    _ = fcntl(writer, F_SETFL, O_NONBLOCK)
    self.writer = writer
    let failure = Failure()
    self.failure = failure
    thread = startThread {
      var bytes = [UInt8](repeating: 0, count: 4096)
      while read(reader, &bytes, bytes.count) > 0 {
        do {
          try work()
          failures.noteSuccess(of: "The worker for \(name)")
          failure.last.withLock { $0 = nil }
        } catch {
          failures.note(error, of: "The worker for \(name)")
          failure.last.withLock { $0 = error }
        }
      }
      close(reader)
    }
  }

  /// Work under way is done again afterwards. Where the pipe is full, the worker will wake anyway.
  func wake() { write(writer, [1], 1) }

  /// Returns when what it was woken for is done. Called once.
  ///
  /// - Returns: why the last work failed; nil where it did not.
  func finish() -> (any Error)? {
    close(writer)
    pthread_join(thread, nil)
    return failure.last.withLock { $0 }
  }
}

/// A latch that SIGTERM and SIGINT set. A thread takes them (`sigwait`); threads that start later do
/// not.
func stopSignal() -> Latch {
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

import Base
import Glibc

/// Thread for one kind of work, so that for example mails do not wait for a fetch that hangs. It
/// works whenever it is woken.
final class WakeableThread: Sendable {
  private struct State {
    var isWanted = false
    var isWorking = false
    var isEnding = false
    var hasEnded = false
    /// Error of the last work; nil if it succeeded.
    var failure: (any Error)?
  }

  /// The work is still running, but the companion no longer waits for it.
  struct Unfinished: Error, CustomStringConvertible {
    let name: String

    var description: String { "The worker for \(name) has not ended in time" }
  }

  private let name: String
  private let thread: pthread_t
  private let state: Monitor<State>

  /// - Parameter name: name of the work in the log.
  init(_ name: String, _ failures: FailureLog, _ work: @escaping @Sendable () throws -> Void) {
    let state = Monitor(State())
    (self.name, self.state) = (name, state)
    thread = startThread {
      while state.wait(Self.begin) {
        let failure: (any Error)?
        do {
          try work()
          failures.noteSuccess(of: "The worker for \(name)")
          failure = nil
        } catch {
          failures.note(error, of: "The worker for \(name)")
          failure = error
        }
        state.with { ($0.isWorking, $0.failure) = (false, failure) }
      }
      state.with { $0.hasEnded = true }
    }
  }

  /// - Returns: false if the worker must end, nil if there is no work yet.
  private static func begin(_ state: inout State) -> Bool? {
    guard state.isWanted else { return state.isEnding ? false : nil }
    (state.isWanted, state.isWorking) = (false, true)
    return true
  }

  /// Starts the work. If it is running already, it is repeated afterwards.
  func wake() { state.with { $0.isWanted = true } }

  /// Whether its last work failed.
  var hasFailed: Bool { state.with { $0.failure != nil } }

  /// - Returns: false if the work is still running at `deadline`.
  func waitUntilIdle(until deadline: ContinuousClock.Instant) -> Bool {
    state.wait(until: deadline) { $0.isWanted || $0.isWorking ? nil : true } ?? false
  }

  /// Waits until all work is done, or until `deadline`. Called once.
  ///
  /// - Returns: the error of the last work; ``Unfinished`` if it is still running; nil if all work
  ///   is done.
  func finish(until deadline: ContinuousClock.Instant) -> (any Error)? {
    state.with { $0.isEnding = true }
    guard let failure = state.wait(until: deadline, { $0.hasEnded ? .some($0.failure) : nil })
    else {
      pthread_detach(thread)
      return Unfinished(name: name)
    }
    pthread_join(thread, nil)
    return failure
  }
}

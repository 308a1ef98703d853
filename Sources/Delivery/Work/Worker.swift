import Base
import Glibc

/// A thread for one kind of work, so that no mail waits for a fetch that hangs. It works whenever it
/// is woken.
final class Worker: Sendable {
  private struct State {
    var isWanted = false
    var isWorking = false
    var isEnding = false
    var hasEnded = false
    /// Why the last work failed; nil where it did not.
    var failure: (any Error)?
  }

  /// The work goes on: nobody waits for it any more.
  struct Unfinished: Error, CustomStringConvertible {
    let name: String

    var description: String { "The worker for \(name) has not ended in time" }
  }

  private let name: String
  private let thread: pthread_t
  private let state: Monitor<State>

  /// - Parameter name: names the work in the log.
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

  /// - Returns: false where there is nothing more to do, nil where there is nothing yet.
  private static func begin(_ state: inout State) -> Bool? {
    guard state.isWanted else { return state.isEnding ? false : nil }
    (state.isWanted, state.isWorking) = (false, true)
    return true
  }

  /// Work under way is done again afterwards.
  func wake() { state.with { $0.isWanted = true } }

  /// - Returns: false where it still works at `deadline`.
  func waitUntilIdle(until deadline: ContinuousClock.Instant) -> Bool {
    state.wait(until: deadline) { $0.isWanted || $0.isWorking ? nil : true } ?? false
  }

  /// Returns when what it was woken for is done, or at `deadline`. Called once.
  ///
  /// - Returns: why the last work failed; ``Unfinished`` where it goes on; nil where all is done.
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

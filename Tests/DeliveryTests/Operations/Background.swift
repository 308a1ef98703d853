import Foundation
import Support
import Synchronization
import Testing

/// Work on its own thread, for a test that acts in parallel.
final class Background: Sendable {
  private let outcome: Outcome

  private final class Outcome: Sendable {
    let value = Mutex<Result<Void, any Error>?>(nil)
  }

  init(_ work: @escaping @Sendable () throws -> Void) {
    let outcome = Outcome()
    self.outcome = outcome
    Thread.detachNewThread {
      let result = Result { try work() }
      outcome.value.withLock { $0 = result }
    }
  }

  var isDone: Bool { outcome.value.withLock { $0 != nil } }

  /// Waits for the end of the work.
  ///
  /// - Throws: the error of the work.
  func finish() throws {
    wait(for: "the end of work in the background") { isDone }
    try outcome.value.withLock { $0 }?.get()
  }
}

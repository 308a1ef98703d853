import Foundation

/// Keeps requests waiting, by name, until a test lets them go.
// @unchecked: the state is used under the condition's lock alone.
package final class Gate: @unchecked Sendable {
  private let condition = NSCondition()
  private var closed: Set<String> = []
  private var waiting: [String: Int] = [:]

  package init() {}

  package func close(_ name: String) {
    condition.withLock { _ = closed.insert(name) }
  }

  package func open(_ name: String) {
    condition.withLock {
      closed.remove(name)
      condition.broadcast()
    }
  }

  /// Lets all go that wait.
  package func openAll() {
    condition.withLock {
      closed = []
      condition.broadcast()
    }
  }

  /// Whether a request waits.
  package func isHolding(_ name: String) -> Bool {
    condition.withLock { waiting[name, default: 0] > 0 }
  }

  /// Returns when the gate is open.
  func pass(_ name: String) {
    condition.withLock {
      waiting[name, default: 0] += 1
      while closed.contains(name) { condition.wait() }
      waiting[name]! -= 1
    }
  }
}

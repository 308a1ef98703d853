import Foundation

/// Holds requests, by name, until a test opens the gate.
// @unchecked: the state is used only under the condition's lock.
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

  /// Opens all gates.
  package func openAll() {
    condition.withLock {
      closed = []
      condition.broadcast()
    }
  }

  /// Whether a request waits at the gate.
  package func isHolding(_ name: String) -> Bool {
    condition.withLock { waiting[name, default: 0] > 0 }
  }

  /// Waits until the gate is open.
  package func pass(_ name: String) {
    condition.withLock {
      waiting[name, default: 0] += 1
      while closed.contains(name) { condition.wait() }
      waiting[name]! -= 1
    }
  }
}

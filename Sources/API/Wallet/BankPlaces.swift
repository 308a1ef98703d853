import Synchronization

/// Places for requests that wait for a bank: half as many as the responder's `waiters`, so that a slow
/// bank does not block requests that need no bank.
final class BankPlaces: Sendable {
  static let count = 8

  private let free = Mutex(count)

  /// Takes a place and lets the request wait, until ``leave()``.
  ///
  /// - Returns: False if too many requests wait already.
  func enter(_ context: borrowing Context) -> Bool {
    guard take() else { return false }
    if context.beginWaiting() { return true }
    leave()
    return false
  }

  func leave() {
    free.withLock { $0 += 1 }
  }

  private func take() -> Bool {
    free.withLock { free in
      guard free > 0 else { return false }
      free -= 1
      return true
    }
  }
}

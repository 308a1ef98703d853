import Foundation
import Synchronization
import Testing

/// Runs `work` on `count` threads of their own, so that it may block, and waits for all of them.
func inParallel(_ count: Int, _ work: @escaping @Sendable (Int) throws -> Void) throws {
  let errors = ErrorList()
  let done = DispatchSemaphore(value: 0)
  for number in 0..<count {
    Thread.detachNewThread {
      do { try work(number) } catch { errors.append(error) }
      done.signal()
    }
  }
  for _ in 0..<count { done.wait() }
  if let error = errors.first { throw error }
}

private final class ErrorList: Sendable {
  private let errors = Mutex<[any Error]>([])

  func append(_ error: any Error) { errors.withLock { $0.append(error) } }

  var first: (any Error)? { errors.withLock { $0.first } }
}

/// A point at which threads wait for each other.
final class Meeting: Sendable {
  private let size: Int
  private let present = Mutex(0)
  private let complete = DispatchSemaphore(value: 0)

  init(of size: Int) {
    self.size = size
  }

  /// Returns when all have come.
  func attend() {
    let isLast = present.withLock { present in
      present += 1
      return present == size
    }
    if isLast {
      for _ in 1..<size { complete.signal() }
    } else {
      complete.wait()
    }
  }
}

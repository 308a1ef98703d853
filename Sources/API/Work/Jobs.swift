import Glibc
import Store
import Synchronization

/// Places for requests that wait for a bank: half of the responder's `waiters`, so that a slow bank leaves the
/// others to those who ask none.
final class BankPlaces: Sendable {
  static let count = 8

  private let free = Mutex(count)

  /// - Returns: false where none is free.
  func take() -> Bool {
    free.withLock { free in
      guard free > 0 else { return false }
      free -= 1
      return true
    }
  }

  func give() {
    free.withLock { $0 += 1 }
  }
}

extension Context {
  /// Has the companion do an errand, and waits for what comes of it. The thread's run permit is
  /// given away meanwhile.
  ///
  /// - Returns: the result as JSON.
  /// - Throws: ``Failure/busy`` when too many requests wait already; ``Failure/overdue`` at the
  ///   deadline (the errand is still done, unless it ends with its request); ``Failure/serverError``
  ///   where the companion has given it up.
  func run(_ kind: Errand.Kind, _ request: [UInt8]) throws -> [UInt8] {
    guard beginWaiting() else { throw Failure.busy }
    let id = try database.post(kind, request, from: origin, at: now)
    knock()
    let deadline = ContinuousClock.now + patience
    var pause: useconds_t = 5_000
    while ContinuousClock.now < deadline {
      usleep(pause)
      pause = min(pause * 2, 80_000)
      if let result = try result(ofErrand: id) { return result }
    }
    // One of two happens: nobody does it any more, or it has just been done.
    if kind.endsWithItsRequest, try !database.withdraw(errand: id),
      let result = try result(ofErrand: id)
    {
      return result
    }
    throw Failure.overdue
  }

  /// Makes sure that the request may wait for a bank, until ``leaveBank()``.
  ///
  /// - Returns: false where too many wait already.
  func enterBank() -> Bool {
    guard bankPlaces.take() else { return false }
    if beginWaiting() { return true }
    leaveBank()
    return false
  }

  func leaveBank() { bankPlaces.give() }

  private func result(ofErrand id: String) throws -> [UInt8]? {
    switch try database.outcome(ofErrand: id) {
    case .done(let result): result
    case .dead: throw Failure.serverError
    case nil: nil
    }
  }
}

extension Failure {
  static let busy = Failure(
    status: 503, message: "Too many requests are waiting", fields: [("Retry-After", "5")])

  static let overdue = Failure(
    status: 504, message: "No outcome within 10 seconds; it is still worked on")
}

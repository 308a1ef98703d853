import Store
import Synchronization

/// Places for requests that wait for the companion. Each kind of work has its own, so that a slow bank blocks only requests that
/// need a bank; two kinds together leave places of the responder's `waiters`. Each account or key has few, so that one cannot
/// take those of all others.
final class WaitingPlaces: Sendable {
  static let ofOneOwner = 2

  /// The places of one kind of work, of 16 in all.
  static func count(of worker: Job.Kind.Worker) -> Int {
    switch worker {
    case .banks: 8
    case .pushTests, .others: 6
    }
  }

  /// The places that are taken, by owner.
  private let taken = Mutex<[Job.Kind.Worker: [String: Int]]>([:])

  /// Takes a place until ``leave(_:of:)``.
  ///
  /// - Returns: False if there is none.
  func take(_ worker: Job.Kind.Worker, for owner: String) -> Bool {
    taken.withLock { taken in
      let owners = taken[worker, default: [:]]
      let own = owners[owner, default: 0]
      guard own < Self.ofOneOwner, owners.values.reduce(0, +) < Self.count(of: worker) else {
        return false
      }
      taken[worker, default: [:]][owner] = own + 1
      return true
    }
  }

  func leave(_ worker: Job.Kind.Worker, of owner: String) {
    taken.withLock { taken in
      let own = taken[worker, default: [:]][owner, default: 0]
      taken[worker, default: [:]][owner] = own > 1 ? own - 1 : nil
    }
  }
}

extension Context {
  /// Takes a place to wait for a job of `kind`, until ``leave(_:of:)``, and lets the request wait.
  ///
  /// - Parameter owner: The account or key of the request.
  /// - Returns: False if too many requests wait already.
  func takePlace(for kind: Job.Kind, of owner: String) -> Bool {
    guard application.waitingPlaces.take(kind.worker, for: owner) else { return false }
    if beginWaiting() { return true }
    leave(kind, of: owner)
    return false
  }

  func leave(_ kind: Job.Kind, of owner: String) {
    application.waitingPlaces.leave(kind.worker, of: owner)
  }
}

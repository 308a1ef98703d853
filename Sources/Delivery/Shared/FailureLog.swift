import Logging
import Store
import Synchronization

/// Tells the log when a part of the companion begins to fail, and when it works again; not each time in between.
final class FailureLog: Sendable {
  private let log: Logger
  /// What is wrong with each part that fails, by its name.
  private let failing = Mutex<[String: String]>([:])

  /// Many parts fail when the database does, each with another statement: that is told once.
  private static let database = "the database"

  init(_ log: Logger) {
    self.log = log
  }

  /// - Parameter part: names it in the log: "The pass".
  func note(_ error: any Error, of part: String) {
    let reason = Database.isUnavailable(error) ? Self.database : "\(error)"
    let isNew = failing.withLock { failing in
      defer { failing[part] = reason }
      return failing[part] != reason
        && (reason != Self.database || !failing.values.contains(reason))
    }
    log.log(level: isNew ? .error : .debug, "\(part) failed: \(error)")
  }

  func noteSuccess(of part: String) {
    let ended = failing.withLock { failing -> String? in
      guard let reason = failing.removeValue(forKey: part) else { return nil }
      return reason == Self.database && failing.values.contains(reason) ? nil : reason
    }
    if let ended {
      log.notice(
        ended == Self.database ? "The database answers again" : "\(part) works again")
    }
  }
}

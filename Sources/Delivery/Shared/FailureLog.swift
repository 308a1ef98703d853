import Logging
import Store
import Synchronization

/// Logs when a part of the companion starts to fail and when it works again, but not each failure
/// in between.
final class FailureLog: Sendable {
  private let log: Logger
  /// Reasons of the failing parts, by the name of the part.
  private let failing = Mutex<[String: String]>([:])

  /// Common reason if the database does not answer, so that it is logged once for all parts.
  private static let database = "the database"

  init(_ log: Logger) {
    self.log = log
  }

  /// - Parameter part: name in the log, such as "The pass".
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

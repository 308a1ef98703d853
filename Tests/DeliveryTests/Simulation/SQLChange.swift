import MariaDB
import Support
import Synchronization
import Testing

/// A change of a statement that a programmer could make by mistake.
struct SQLChange: Sendable, CustomTestStringConvertible {
  fileprivate let original: String
  fileprivate let replacement: String

  init(_ original: String, _ replacement: String) {
    (self.original, self.replacement) = (original, replacement)
  }

  var testDescription: String { "\(original) → \(replacement)" }

  /// Whether one of 20 histories shows a problem if the companion's statements are changed like this.
  ///
  /// - Parameter play: plays the history of a seed with these settings, and returns its first problem.
  func isFound(
    in delivery: TestDelivery, _ play: (ConnectionSettings, UInt64) throws -> String?
  ) throws -> Bool {
    let database = StillDatabase(delivery, changing: self)
    let isFound = (1...20 as ClosedRange<UInt64>).contains { seed in
      // An error counts: the schema does not allow the change.
      do { return try play(database.settings, seed) != nil } catch { return true }
    }
    try #require(database.changes > 0, "no statement contains this")
    return isFound
  }
}

/// The companion's database, whose clock always shows the same time, however busy the machine is. A simulation
/// moves the times in the rows instead.
final class StillDatabase: Sendable {
  /// The time on the clock, in SQL.
  static let now = "TIMESTAMP'2030-01-01 00:00:00.000'"

  private let proxy: MariaDBProxy
  private let hits: SharedCount

  private final class SharedCount: Sendable {
    let value = Atomic(0)
  }

  var settings: ConnectionSettings { proxy.settings }
  /// How many statements had the text of the change.
  var changes: Int { hits.value.load(ordering: .relaxed) }

  init(_ delivery: TestDelivery, changing change: SQLChange? = nil) {
    let hits = SharedCount()
    self.hits = hits
    proxy = MariaDBProxy(delivery.account(of: "companion")) { command in
      guard case .prepare(var sql) = command else { return .pass }
      if let change, sql.contains(change.original) {
        hits.value.add(1, ordering: .relaxed)
        sql = sql.replacing(change.original, with: change.replacement)
      }
      return .rewrite(sql.replacing("UTC_TIMESTAMP(3)", with: Self.now))
    }
  }
}

import MariaDB
import Support
import Testing

extension SQLChange {
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
    try #require(count > 0, "no statement contains this")
    return isFound
  }
}

/// The companion's database, whose clock always shows the same time, however busy the machine is. A simulation
/// moves the times in the rows instead.
final class StillDatabase: Sendable {
  /// The time on the clock, in SQL.
  static let now = "TIMESTAMP'2030-01-01 00:00:00.000'"

  private let proxy: MariaDBProxy

  var settings: ConnectionSettings { proxy.settings }

  init(_ delivery: TestDelivery, changing change: SQLChange? = nil) {
    proxy = MariaDBProxy(delivery.account(of: "companion")) { command in
      guard case .prepare(let sql) = command else { return .pass }
      return .rewrite((change?.apply(to: sql) ?? sql).replacing("UTC_TIMESTAMP(3)", with: Self.now))
    }
  }
}

import Base
import MariaDB

/// The number of times that something had one outcome, on one host.
package struct Count: Sendable, Equatable {
  /// The counted work.
  package enum Name: String, Sendable, CaseIterable {
    case deliveries, jobs, mails, polls, webhooks
  }

  package let name: Name
  /// A word of a small set: each word is a time series where metrics are stored.
  package let outcome: String
  package var number: Int64

  package init(_ name: Name, _ outcome: String, _ number: Int64) {
    self.name = name
    self.outcome = outcome
    self.number = number
  }
}

package struct Counters: Sendable {
  let records: Records

  /// Adds `counts` to the totals of `host`.
  package func add(_ counts: [Count], on host: String) throws {
    guard !counts.isEmpty else { return }
    try records.transaction { transaction in
      for count in counts {
        _ = try transaction.connection.execute(
          """
          INSERT INTO counters (host, name, outcome, total) VALUES (?, ?, ?, ?)
          ON DUPLICATE KEY UPDATE total = total + VALUES(total)
          """,
          [
            .text(host.cut(to: 64)), .text(count.name.rawValue), .text(count.outcome.cut(to: 64)),
            .integer(count.number),
          ])
      }
    }
  }

  /// The totals of `host`.
  package func totals(on host: String) throws -> [Count] {
    try records.read { transaction in
      try transaction.connection.rows(
        "SELECT name, outcome, total FROM counters WHERE host = ? ORDER BY name, outcome",
        [.text(host.cut(to: 64))]
      ) { row in
        Count.Name(rawValue: row.text(0)).map { Count($0, row.text(1), row.integer(2)) }
      }.compactMap { $0 }
    }
  }
}

extension Records {
  package var counters: Counters { Counters(records: self) }
}

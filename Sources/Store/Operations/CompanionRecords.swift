package import Base
import MariaDB

/// The status of a companion, as it reports it.
package struct CompanionStatus: Sendable, Equatable {
  package let host: String
  package let version: String
  /// By the database's clock.
  package let lastPassAt: Timestamp
  /// Whether it was not seen for five minutes, or is late if its passes are rarer, by the
  /// database's clock.
  package let isOverdue: Bool
  /// The time since ``lastPassAt``, by the database's clock.
  package let age: Duration
  /// Whether no pass has ended in the time of two passes and a minute.
  package let isLate: Bool
  /// Names of the missing variables because of which something is not sent.
  package let missing: [String]
}

package struct CompanionRecords: Sendable {
  let records: Records

  /// Records that a whole pass has ended.
  ///
  /// - Parameters:
  ///   - interval: the time from the beginning of a pass to the beginning of the next.
  ///   - duration: the duration of this pass.
  package func recordPass(
    host: String, version: String, missing: [String], interval: Duration, duration: Duration
  ) throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        INSERT INTO companion_status
          (host, version, last_pass_at, missing, pass_interval, pass_milliseconds)
        VALUES (?, ?, UTC_TIMESTAMP(3), ?, ?, ?)
        ON DUPLICATE KEY UPDATE version = VALUES(version), last_pass_at = VALUES(last_pass_at),
          missing = VALUES(missing), pass_interval = VALUES(pass_interval),
          pass_milliseconds = VALUES(pass_milliseconds)
        """,
        [
          .text(host.cut(to: 64)), .text(version),
          .text(missing.joined(separator: " ").cut(to: 1000)),
          .integer(interval.components.seconds),
          .integer(min(duration.milliseconds, 4_294_967_295)),
        ])
    }
  }

  /// The companion that was seen last; nil if none was ever seen.
  package func companionStatus() throws -> CompanionStatus? {
    try records.read { transaction in try transaction.companions.companionStatus() }
  }
}

extension Records {
  package var companions: CompanionRecords { CompanionRecords(records: self) }
}

/// Statements on `companion_status`.
struct CompanionStatements: ~Copyable {
  let transaction: Transaction

  func companionStatus() throws(DatabaseError) -> CompanionStatus? {
    try transaction.connection.row(
      """
      SELECT host, version, last_pass_at,
        last_pass_at < UTC_TIMESTAMP(3) - INTERVAL GREATEST(300, 60 + 2 * pass_interval) SECOND, missing,
        TIMESTAMPDIFF(SECOND, last_pass_at, UTC_TIMESTAMP(3)),
        last_pass_at < UTC_TIMESTAMP(3) - INTERVAL (60 + 2 * pass_interval) SECOND
      FROM companion_status ORDER BY last_pass_at DESC LIMIT 1
      """
    ) { row in
      CompanionStatus(
        host: row.text(0), version: row.text(1), lastPassAt: row.timestamp(2),
        isOverdue: row.boolean(3), age: .seconds(row.integer(5)), isLate: row.boolean(6),
        missing: row.text(4).split(separator: " ").map(String.init))
    }
  }
}

extension Transaction {
  var companions: CompanionStatements {
    CompanionStatements(transaction: Transaction(sharing: self))
  }
}

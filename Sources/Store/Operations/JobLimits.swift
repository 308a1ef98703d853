import Base
import MariaDB

/// A limit for work that the companion does for requests. The companion counts in its own table,
/// which the responder may neither read nor write, because a job contains whatever its writer
/// wants.
///
/// A limit here is twice that of the requests, because its windows begin at other times.
struct JobLimit: Sendable {
  let name: StaticString
  let allowed: Int64
  let window: Duration
}

/// Statements on `job_limits`. They use the database's clock.
struct JobLimitStatements: ~Copyable {
  let transaction: Transaction

  /// Counts hits, also over the limit. The first call of a window is within it, however many hits
  /// it has.
  ///
  /// - Returns: whether they are within the limit.
  func admit(
    _ limit: JobLimit, of subject: String, times hits: Int64 = 1
  ) throws(DatabaseError) -> Bool {
    let window = Parameter.integer(limit.window.components.seconds)
    let counted = try transaction.connection.row(
      """
      INSERT INTO job_limits (name, subject, window_started_at, hits)
      VALUES (?, ?, UTC_TIMESTAMP(3), ?)
      ON DUPLICATE KEY UPDATE
        hits = IF(window_started_at BETWEEN UTC_TIMESTAMP(3) - INTERVAL ? SECOND AND UTC_TIMESTAMP(3),
          hits + VALUES(hits), VALUES(hits)),
        window_started_at =
          IF(window_started_at BETWEEN UTC_TIMESTAMP(3) - INTERVAL ? SECOND AND UTC_TIMESTAMP(3),
            window_started_at, VALUES(window_started_at))
      RETURNING hits
      """,
      [.text("\(limit.name)"), .text(subject), .integer(hits), window, window]
    ) { row in row.integer(0) }!  // the row that has just been counted
    return counted <= limit.allowed || counted == hits
  }
}

extension Transaction {
  var jobLimits: JobLimitStatements {
    JobLimitStatements(transaction: Transaction(sharing: self))
  }
}

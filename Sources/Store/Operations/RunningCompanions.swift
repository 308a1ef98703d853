import Base
import MariaDB

/// The processes of the companion that have begun a pass and have not ended. A process that is gone without an end has died.
///
/// Each has a row in `problems` without a reason, which nobody sees.
package struct RunningCompanions: Sendable {
  let records: Records

  /// The subject of the problem that a process has died.
  package static let subjectOfDeath = "pass"

  /// Notes that `process` runs on `host`.
  ///
  /// - Returns: the other processes that were noted there and have not ended.
  package func begin(_ process: String, on host: String) throws -> [String] {
    try records.transaction { transaction in
      try transaction.problems.record(
        ProblemCheck(.companion, subject: Self.subject(of: process), nil), by: host)
      let prefix = Self.subject(of: "")
      return try transaction.connection.rows(
        """
        SELECT SUBSTRING(subject, ?) FROM problems
        WHERE host = ? AND name = 'companion' AND subject LIKE CONCAT(?, '%') AND subject <> ?
        """,
        [
          .integer(Int64(prefix.utf8.count + 1)), .text(host.cut(to: 64)), .text(prefix),
          .text(Self.subject(of: process)),
        ]
      ) { row in row.text(0) }
    }
  }

  /// Notes that `process` ends by itself.
  package func end(_ process: String, on host: String) throws {
    try records.write { transaction in try transaction.problems.forget(process, on: host) }
  }

  /// Records as a problem that `processes` have died.
  package func recordDeath(of processes: [String], on host: String) throws {
    try records.transaction { transaction in
      for process in processes { try transaction.problems.forget(process, on: host) }
      try transaction.problems.record(
        ProblemCheck(
          .companion, subject: Self.subjectOfDeath,
          "A companion has begun a pass and not ended it: it died, or lost the database. Its log says more."
        ),
        by: host)
    }
  }

  /// Ends the problem that a process has died, a minute after the last death: a companion that dies in each pass keeps it.
  package func endOldDeath(on host: String) throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        UPDATE problems SET reason = '', since = UTC_TIMESTAMP(3)
        WHERE host = ? AND name = 'companion' AND subject = ? AND reason <> ''
          AND seen_at < UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE
        """,
        [.text(host.cut(to: 64)), .text(Self.subjectOfDeath)])
    }
  }

  fileprivate static func subject(of process: String) -> String { "process \(process)" }
}

extension Records {
  package var runningCompanions: RunningCompanions { RunningCompanions(records: self) }
}

extension ProblemStatements {
  fileprivate func forget(_ process: String, on host: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "DELETE FROM problems WHERE host = ? AND name = 'companion' AND subject = ?",
      [.text(host.cut(to: 64)), .text(RunningCompanions.subject(of: process))])
  }
}

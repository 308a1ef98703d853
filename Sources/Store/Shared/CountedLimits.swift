package import Base
import Cryptography
import MariaDB

/// The use of a limit by one subject.
package struct CountedLimit: Sendable {
  package let name: String
  /// The counted subject: an account, an address, …
  package let subject: String
  package let hits: Int64
  package let allowed: Int64
  package let freeAt: Timestamp

  /// The columns name, subject, hits, allowed, window_started_at, window_seconds, in that order from 0.
  fileprivate init(row: borrowing Row, at now: Timestamp) {
    name = row.text(0)
    subject = row.text(1)
    hits = row.integer(2)
    allowed = row.integer(3)
    freeAt = row.timestamp(4).past(at: now) + .seconds(row.integer(5))
  }
}

/// The subject of an e-mail address in the counts. The counts outlive a deleted account, so that
/// deleting it does not reset them. So they must not contain the address.
func countedSubject(ofEmail email: String) -> String {
  "email:\(hexEncoded(Array(sha256(email).prefix(16))))"
}

/// The counts of the limits, as administrators see them.
package struct CountedLimits: Sendable {
  let records: Records

  /// At most `limit` counts of windows that have not ended: the newest first; for one limit or one
  /// subject, sorted by name and subject.
  ///
  /// - Parameters:
  ///   - name: the name of one limit; nil: all.
  ///   - subject: one subject, also together with a network, or an e-mail address; nil: all.
  ///   - isUsedUp: whether to list only limits that are used up now.
  package func list(
    named name: String?, of subject: String?, isUsedUp: Bool, limit: Int
  ) throws -> FirstRows<CountedLimit> {
    let subject = subject.map(counted)
    let found = try records.read { transaction in
      let statements = transaction.countedLimits
      if name == nil && subject == nil {
        return try statements.newest(isUsedUp: isUsedUp, limit: limit + 1)
      }
      return try (name.map { [$0] } ?? transaction.namesOfLimits).flatMap { name in
        try statements.list(named: name, of: subject, isUsedUp: isUsedUp, limit: limit + 1)
      }
    }
    return FirstRows(found, limit: limit)
  }

  /// Deletes a count, and those of the subject together with a network.
  ///
  /// - Returns: false if nothing is counted under this name and subject.
  package func lift(_ name: String, of subject: String) throws -> Bool {
    let subject = counted(subject)
    return try records.transaction { transaction in
      let lifted = try transaction.connection.execute(
        "DELETE FROM rate_limits WHERE name = ? AND subject BETWEEN ? AND ?",
        [.text(name), .text(subject), .text(lastSubject(of: subject))])
      guard lifted > 0 else { return false }
      try transaction.audit.write(.limitLifted, detail: name)
      return true
    }
  }

  /// The number of different networks of callers that were counted since `age` ago, among the newest 100,000 counts.
  package func callers(within age: Duration) throws -> Int64 {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT COUNT(DISTINCT subject) FROM
          (SELECT subject FROM rate_limits FORCE INDEX (rate_limits_window) WHERE window_started_at > ?
           ORDER BY window_started_at DESC LIMIT 100000) AS newest
        WHERE subject LIKE '%::/64' OR INET_ATON(subject) IS NOT NULL AND subject LIKE '%.%.%.%'
        """,
        [.time(records.now - age)]
      ) { row in row.integer(0) } ?? 0
    }
  }

  /// The subject in the form of the counts: administrators enter e-mail addresses.
  private func counted(_ subject: String) -> String {
    let parts = subject.split(separator: " ", maxSplits: 1)
    guard let email = parts.first, email.contains("@") else { return subject }
    return ([countedSubject(ofEmail: email.lowercased())] + parts.dropFirst().map(String.init))
      .joined(separator: " ")
  }

  /// The limits among `limits` that are used up for `subject` now.
  func usedUp(_ limits: [Limit], of subject: String) throws -> [CountedLimit] {
    try records.read { transaction in
      try limits.compactMap { limit in
        try transaction.connection.row(
          """
          SELECT name, subject, hits, allowed, window_started_at, window_seconds
          FROM rate_limits WHERE name = ? AND subject = ? AND hits >= allowed
          """,
          [.text(limit.name), .text(subject)]
        ) { row in CountedLimit(row: row, at: transaction.now) }
      }.filter { $0.freeAt > records.now }
    }
  }
}

extension Records {
  package var countedLimits: CountedLimits { CountedLimits(records: self) }
}

extension Transaction {
  /// The names under which anything is counted. Each is one search in the index; for DISTINCT, MariaDB
  /// may read the whole index.
  var namesOfLimits: [String] {
    get throws(DatabaseError) {
      var names: [String] = []
      while let name = try connection.row(
        "SELECT MIN(name) FROM rate_limits WHERE name > ?", [.text(names.last ?? "")],
        { row in row.optionalText(0) }) ?? nil
      {
        names.append(name)
      }
      return names
    }
  }
}

/// The end of the range that begins with `subject`, and has it together with each network.
private func lastSubject(of subject: String) -> String { subject + " \u{10FFFF}" }

/// Statements on `rate_limits` for administrators.
private struct CountedLimitStatements: ~Copyable {
  let transaction: Transaction

  func newest(isUsedUp: Bool, limit: Int) throws(DatabaseError) -> [CountedLimit] {
    let now = transaction.now
    return try transaction.connection.rows(
      """
      SELECT name, subject, hits, allowed, window_started_at, window_seconds
      FROM rate_limits FORCE INDEX (rate_limits_window)
      WHERE window_started_at > ? AND window_started_at + INTERVAL window_seconds SECOND > ?
        AND (hits >= allowed OR NOT ?)
      ORDER BY window_started_at DESC LIMIT ?
      """,
      [
        .time(now - Duration.day), .time(now), .boolean(isUsedUp), .integer(Int64(limit)),
      ]
    ) { row in CountedLimit(row: row, at: transaction.now) }
  }

  func list(
    named name: String, of subject: String?, isUsedUp: Bool, limit: Int
  ) throws(DatabaseError) -> [CountedLimit] {
    try transaction.connection.rows(
      """
      SELECT name, subject, hits, allowed, window_started_at, window_seconds FROM rate_limits
      WHERE name = ? AND subject BETWEEN ? AND ?
        AND window_started_at + INTERVAL window_seconds SECOND > ? AND (hits >= allowed OR NOT ?)
      ORDER BY subject LIMIT ?
      """,
      [
        .text(name), .text(subject ?? ""), .text(subject.map(lastSubject) ?? "\u{10FFFF}"),
        .time(transaction.now), .boolean(isUsedUp), .integer(Int64(limit)),
      ]
    ) { row in CountedLimit(row: row, at: transaction.now) }
  }
}

extension Transaction {
  fileprivate var countedLimits: CountedLimitStatements {
    CountedLimitStatements(transaction: Transaction(sharing: self))
  }
}

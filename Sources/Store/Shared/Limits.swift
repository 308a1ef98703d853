import Base
import MariaDB

/// At most `allowed` hits of one subject in `window`, which begins with the first hit. A window
/// lasts at most a day: then the purge deletes the count. Each room declares its own.
package struct Limit: Sendable {
  package let name: String
  package private(set) var allowed: Int64
  package let window: Duration
  /// The share of the widest network, as a multiple of the share of one address.
  var widestFactor: Int64 = 10
  /// The counted events, in words for developers; empty for a limit that refuses no request.
  package var counts = ""
  /// The subjects, each of which has its own count.
  package var per = ""

  func times(_ factor: Int64) -> Limit { allowing(min(allowed * factor, Self.most)) }

  /// The same count without a limit: it takes the same statements, so that the time does not show
  /// who is limited.
  var unlimited: Limit { allowing(Self.most) }

  /// The same count with another number.
  func allowing(_ allowed: Int64) -> Limit {
    var limit = self
    limit.allowed = allowed
    return limit
  }

  /// The maximum of the column.
  private static let most = Int64(UInt32.max)

  /// The refusal of a hit of a window that is used up.
  func exceeded(by subject: String, since startedAt: Timestamp, at now: Timestamp) -> RateLimited {
    RateLimited(
      retryAfter: max(.seconds(1), startedAt.past(at: now) + window - now),
      future: startedAt < now ? [] : [RateLimited.Window(limit: name, subject: subject)])
  }
}

/// The limit is used up; it is free again after `retryAfter`.
package struct RateLimited: Error, Equatable {
  package let retryAfter: Duration
  /// The windows that may begin in the future, because the clock was set back.
  var future: [Window] = []

  struct Window {
    let limit: String
    let subject: String
  }

  package static func == (a: RateLimited, b: RateLimited) -> Bool { a.retryAfter == b.retryAfter }
}

extension RateLimited: AuditedRefusal {
  /// Lets windows that begin in the future begin now. The transaction of the refused hit was rolled back.
  package func writeAudit(in records: Records) throws {
    if future.isEmpty { return }
    try records.transaction { transaction in
      for window in future {
        _ = try transaction.connection.execute(
          """
          UPDATE rate_limits SET window_started_at = ?
          WHERE name = ? AND subject = ? AND window_started_at > ?
          """,
          [
            .time(records.now), .text(window.limit), .text(window.subject), .time(records.now),
          ])
      }
    }
  }
}

/// Statements on `rate_limits`.
struct LimitStatements: ~Copyable {
  let transaction: Transaction

  /// Counts one hit, exactly under concurrency: one statement counts and reads.
  ///
  /// - Throws: ``RateLimited`` over the limit. In a transaction, the refused hit is rolled back
  ///   with the transaction.
  /// - Returns: the hits of the window, with this one.
  @discardableResult
  func count(_ limit: Limit, of subject: String) throws -> Int64 {
    let window = try add(1, to: limit, of: subject)
    if window.hits > limit.allowed {
      throw limit.exceeded(by: subject, since: window.startedAt, at: transaction.now)
    }
    return window.hits
  }

  /// Counts several hits at once. The first call of a window is within the limit, however many hits
  /// it has.
  ///
  /// - Throws: ``RateLimited`` over the limit.
  func count(_ limit: Limit, of subject: String, times hits: Int64) throws {
    let window = try add(hits, to: limit, of: subject)
    if window.hits > limit.allowed, window.hits > hits {
      throw limit.exceeded(by: subject, since: window.startedAt, at: transaction.now)
    }
  }

  /// Counts hits, also over the limit.
  ///
  /// - Returns: whether they are within the limit.
  func admit(
    _ limit: Limit, of subject: String, times hits: Int64 = 1
  ) throws(DatabaseError) -> Bool {
    try add(hits, to: limit, of: subject).hits <= limit.allowed
  }

  /// Counts hits, also over the limit. A window that began in the future begins now: the clock was set
  /// back.
  private func add(
    _ count: Int64, to limit: Limit, of subject: String
  ) throws(DatabaseError) -> (hits: Int64, startedAt: Timestamp) {
    let now = transaction.now
    let windowEnd = Parameter.time(now - limit.window)
    return try transaction.connection.row(
      """
      INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
      VALUES (?, ?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE hits = IF(window_started_at <= ?, VALUES(hits), hits + VALUES(hits)),
        window_started_at = IF(window_started_at <= ?, VALUES(window_started_at),
          LEAST(window_started_at, VALUES(window_started_at))),
        window_seconds = VALUES(window_seconds), allowed = VALUES(allowed)
      RETURNING hits, window_started_at
      """,
      [
        .text(limit.name), .text(subject), .time(now),
        .integer(limit.window.components.seconds), .integer(count), .integer(limit.allowed),
        windowEnd, windowEnd,
      ]
    ) { row in (row.integer(0), row.timestamp(1)) }!  // the row that has just been counted
  }

  /// Counts one hit of the caller's address, for each of its ``Origin/networks``. Call it in a
  /// transaction, so that a hit counts for all of them or for none.
  ///
  /// - Throws: ``RateLimited``.
  func countAddress(_ limit: Limit) throws {
    for network in transaction.origin.networks {
      try count(limit.times(network.factor), of: network.subject)
    }
  }

  /// Counts one hit of the caller's address, also over the limit.
  ///
  /// - Returns: whether it is within the limit.
  func admitAddress(_ limit: Limit) throws(DatabaseError) -> Bool {
    var isWithin = true
    for network in transaction.origin.networks {
      let limit = limit.times(network.factor)
      if try !admit(limit, of: network.subject) { isWithin = false }
    }
    return isWithin
  }

  /// Counts one hit of the caller's networks in their shares of the subject's budget.
  ///
  /// - Throws: ``RateLimited``.
  func countShare(_ limit: Limit, of subject: String) throws {
    for share in transaction.shares(limit, of: subject) {
      try count(share.limit, of: share.subject)
    }
  }

  /// Counts hits of the caller's networks in their shares of the subject's budget, also over the
  /// limit.
  ///
  /// - Returns: whether they are within the limit.
  func admitShare(
    _ limit: Limit, of subject: String, times hits: Int64 = 1
  ) throws(DatabaseError) -> Bool {
    var isWithin = true
    for share in transaction.shares(limit, of: subject) {
      if try !admit(share.limit, of: share.subject, times: hits) { isWithin = false }
    }
    return isWithin
  }

  /// Takes back hits of the subject.
  func giveBack(
    _ limit: Limit, of subject: String, times hits: Int64 = 1
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE rate_limits SET hits = hits - ? WHERE name = ? AND subject = ? AND hits >= ?",
      [.integer(hits), .text(limit.name), .text(subject), .integer(hits)])
  }

  /// Takes back a hit that ``countAddress(_:)`` has counted.
  func giveBackAddress(_ limit: Limit) throws(DatabaseError) {
    for network in transaction.origin.networks { try giveBack(limit, of: network.subject) }
  }
}

extension Records {
  /// Counts one hit of the caller's address in a separate transaction, so that later errors do not
  /// roll it back.
  ///
  /// - Throws: ``RateLimited``.
  func countAddress(_ limit: Limit) throws {
    try transaction { transaction in try transaction.limits.countAddress(limit) }
  }
}

extension Transaction {
  var limits: LimitStatements { LimitStatements(transaction: Transaction(sharing: self)) }

  /// The shares that the caller's networks have of a budget, as `rate_limits` names them.
  func shares(_ limit: Limit, of subject: String) -> [(limit: Limit, subject: String)] {
    origin.networks.map { network in
      (limit.times(min(network.factor, limit.widestFactor)), "\(subject) \(network.subject)")
    }
  }
}

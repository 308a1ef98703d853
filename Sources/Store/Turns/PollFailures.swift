import Base
import MariaDB

/// The reason why a poll of a user failed.
package enum PollFailure: Sendable, Equatable {
  /// online-go.com as a whole does not serve us now: 429, 5xx, no answer, no JSON.
  ///
  /// - Parameter retryAfter: the wait that it asks for, at most a day.
  case refused(reason: String, retryAfter: Duration?)
  /// This user's answer has a problem.
  case unreadable(reason: String)
  /// 404: no user has this id any more.
  case gone

  fileprivate var reason: String {
    switch self {
    case .refused(let reason, _), .unreadable(let reason): reason
    case .gone: "404: there is no such user"
    }
  }
}

/// The result of recording a failure.
package enum FailureRecord: Sendable {
  case recorded
  /// Three users in a row were refused: all polls pause for a while.
  case allPaused
  /// The lease has passed to another poll; nothing was written.
  case lost
}

extension Polls {
  /// Records that a poll failed.
  ///
  /// The user is due again after 10, 20, 40 … seconds, at most 15 minutes, and never before
  /// `retryAfter`; a user who is gone is due after the longest interval. The third user in a row
  /// who is refused pauses all polls, for the same times, until one of them succeeds.
  package func recordFailure(
    _ failure: PollFailure, of user: ClaimedUser, pace: PollPace
  ) throws -> FailureRecord {
    try records.transaction { transaction in
      let statements = transaction.polls
      guard try statements.postpone(user, after: failure, pace: pace) else { return .lost }
      switch failure {
      case .refused(_, let retryAfter):
        return try statements.countRefusal(of: user.id, retryAfter: retryAfter)
          ? .allPaused : .recorded
      case .gone:
        try statements.endRefusals()
        return .recorded
      case .unreadable: return .recorded
      }
    }
  }
}

extension PollStatements {
  /// Forgets the users that were refused, because online-go.com has answered.
  func endRefusals() throws(DatabaseError) {
    // Reads first: otherwise all polls of all companions would wait for a row that each of them
    // writes.
    let isClean = try transaction.connection.row(
      "SELECT refused_users = '[]' AND pauses = 0 FROM ogs_pause WHERE id = 1"
    ) { row in row.boolean(0) }
    guard isClean == false else { return }
    _ = try transaction.connection.execute(
      """
      UPDATE ogs_pause SET refused_users = '[]', pauses = 0, paused_until = NULL WHERE id = 1
      """)
  }

  /// - Returns: false if the lease has passed to another poll.
  fileprivate func postpone(
    _ user: ClaimedUser, after failure: PollFailure, pace: PollPace
  ) throws(DatabaseError) -> Bool {
    let (leastWait, isGone) =
      switch failure {
      case .refused(_, let retryAfter): (retryAfter?.components.seconds ?? 0, false)
      case .unreadable: (Int64(0), false)
      case .gone: (pace.longestSeconds, true)
      }
    return try transaction.connection.execute(
      """
      UPDATE ogs_users
      SET claim_id = NULL, failures = LEAST(failures + 1, 1000), failure = ?, entity_tag = NULL,
        due_at = UTC_TIMESTAMP(3)
          + INTERVAL IF(?, ?, GREATEST(?, LEAST(900, 10 << LEAST(failures - 1, 7)))) SECOND
      WHERE id = ? AND claim_id = ?
      """,
      [
        .text(failure.reason.cut(to: 200)), .boolean(isGone), .integer(pace.longestSeconds),
        .integer(leastWait), .integer(user.id), .text(user.claimID),
      ]) == 1
  }

  /// - Returns: whether all polls are paused now.
  fileprivate func countRefusal(
    of userID: Int64, retryAfter: Duration?
  ) throws(DatabaseError) -> Bool {
    _ = try transaction.connection.execute(
      """
      UPDATE ogs_pause SET refused_users = JSON_ARRAY_APPEND(refused_users, '$', ?)
      WHERE id = 1 AND JSON_LENGTH(refused_users) < 3 AND NOT JSON_CONTAINS(refused_users, ?)
      """,
      [.integer(userID), .text(String(userID))])
    return try transaction.connection.execute(
      """
      UPDATE ogs_pause
      SET pauses = LEAST(pauses + 1, 1000), paused_until = UTC_TIMESTAMP(3)
        + INTERVAL GREATEST(?, LEAST(900, 10 << LEAST(pauses - 1, 7))) SECOND
      WHERE id = 1 AND JSON_LENGTH(refused_users) >= 3
      """,
      [.integer(retryAfter?.components.seconds ?? 0)]) == 1
  }
}

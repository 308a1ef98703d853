import Base
import MariaDB

/// The pace of polls for a user of online-go.com.
package struct PollPace: Sendable {
  /// The interval between two polls while games move or the user's app asks. Otherwise it grows to
  /// four times that.
  package let interval: Duration
  /// The interval while the user has a game with less than an hour for a move; it does not grow.
  package let liveInterval: Duration

  package init(interval: Duration, liveInterval: Duration? = nil) {
    self.interval = interval
    self.liveInterval = liveInterval ?? interval
  }

  var seconds: Int64 { interval.components.seconds }

  var liveSeconds: Int64 { liveInterval.components.seconds }

  var longestSeconds: Int64 { seconds * 4 }
}

/// A user that one poll holds until its lease ends.
package struct ClaimedUser: Sendable {
  package let id: Int64
  /// The entity tag of the last answer, if it had one.
  package let entityTag: String?
  let createdAt: Timestamp
  package let claimID: String

  /// The columns id, entity_tag, created_at, claim_id, in that order from 0.
  fileprivate init(row: borrowing Row) {
    id = row.integer(0)
    entityTag = row.optionalText(1)
    createdAt = row.timestamp(2)
    claimID = row.text(3)
  }
}

/// The result of claiming one user.
package enum UserClaim: Sendable {
  case claimed(ClaimedUser)
  /// Another poll is under way.
  case busy
  /// online-go.com has refused polls, of this user or of several, and is not asked for a while.
  case paused
  /// No device is registered for this user.
  case unregistered
}

/// Polls of online-go.com: the users that are due, and the results.
package struct Polls: Sendable {
  let records: Records

  /// Up to `limit` users that are due, the longest due first. Changes nothing.
  package func dueUsers(limit: Int) throws -> [Int64] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id FROM ogs_users
        WHERE due_at <= UTC_TIMESTAMP(3)
          AND EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
          AND NOT EXISTS (SELECT 1 FROM ogs_pause WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3))
        ORDER BY due_at LIMIT ?
        """,
        [.integer(Int64(limit))]
      ) { row in row.integer(0) }
    }
  }

  /// Deletes users without a device, when they are due.
  ///
  /// - Returns: the number of users.
  package func forgetUnregistered() throws -> Int {
    try records.transaction { transaction in
      try transaction.connection.execute(
        """
        DELETE FROM ogs_users WHERE due_at <= UTC_TIMESTAMP(3)
          AND NOT EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
        LIMIT 500
        """)
    }
  }

  /// Claims up to `limit` users that are due, the longest due first, for two minutes. The claim is
  /// committed before the fetch.
  ///
  /// - Parameter claimID: a UUID, made for this claim alone.
  /// - Returns: no user while all polls are paused.
  package func claim(limit: Int, as claimID: String) throws -> [ClaimedUser] {
    let claimed = try records.transaction { transaction in
      try transaction.connection.execute(
        """
        UPDATE ogs_users SET claim_id = ?, due_at = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
        WHERE due_at <= UTC_TIMESTAMP(3)
          AND EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
          AND NOT EXISTS (SELECT 1 FROM ogs_pause WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3))
        ORDER BY due_at LIMIT ?
        """,
        [.text(claimID), .integer(Int64(limit))])
    }
    guard claimed > 0 else { return [] }
    return try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id, entity_tag, created_at, claim_id FROM ogs_users WHERE claim_id = ?
        ORDER BY id
        """,
        [.text(claimID)]
      ) { row in ClaimedUser(row: row) }
    }
  }

  /// Claims one user for a minute, due or not.
  ///
  /// - Parameter claimID: a UUID, made for this claim alone.
  package func claim(_ userID: Int64, as claimID: String) throws -> UserClaim {
    try records.transaction { transaction in
      let statements = transaction.polls
      // First, so that the reads after it agree with it: it locks the user even if it claims
      // nothing.
      let isClaimed = try statements.claim(userID, as: claimID)
      let user = try statements.find(userID)
      if isClaimed, case .held(let user) = user { return .claimed(user) }
      if try statements.arePaused() { return .paused }
      switch user {
      case .held: return .busy
      case .free: return .paused
      case .unregistered: return .unregistered
      }
    }
  }

  /// Releases claimed users, which are due at once.
  package func release(_ users: [ClaimedUser]) throws {
    try records.transaction { transaction in
      for user in users {
        _ = try transaction.connection.execute(
          """
          UPDATE ogs_users SET claim_id = NULL, due_at = UTC_TIMESTAMP(3)
          WHERE id = ? AND claim_id = ?
          """,
          [.integer(user.id), .text(user.claimID)])
      }
    }
  }
}

extension Records {
  package var polls: Polls { Polls(records: self) }
}

/// Statements on `ogs_users` and `ogs_pause`.
struct PollStatements: ~Copyable {
  let transaction: Transaction

  fileprivate enum FoundUser {
    case unregistered
    case free
    case held(ClaimedUser)
  }

  fileprivate func claim(_ userID: Int64, as claimID: String) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE ogs_users SET claim_id = ?, due_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
      WHERE id = ? AND (due_at <= UTC_TIMESTAMP(3) OR claim_id IS NULL AND failures = 0)
        AND EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
        AND NOT EXISTS (SELECT 1 FROM ogs_pause WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3))
      """,
      [.text(claimID), .integer(userID)]) == 1
  }

  fileprivate func find(_ userID: Int64) throws(DatabaseError) -> FoundUser {
    try transaction.connection.row(
      """
      SELECT id, entity_tag, created_at, claim_id FROM ogs_users
      WHERE id = ? AND EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
      """,
      [.integer(userID)]
    ) { row in row.isNull(3) ? .free : .held(ClaimedUser(row: row)) } ?? .unregistered
  }

  fileprivate func arePaused() throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      "SELECT 1 FROM ogs_pause WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3)"
    ) { _ in true } ?? false
  }
}

extension Transaction {
  var polls: PollStatements { PollStatements(transaction: Transaction(sharing: self)) }
}

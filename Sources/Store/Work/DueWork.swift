import MariaDB

/// What a pass would take up now, for whoever wants to see it before it goes.
package struct DueWork: Sendable {
  package struct Push: Sendable {
    package let token: String
    package let collapseID: String
    package let environment: PushEnvironment?
  }

  package let pushes: [Push]
  /// E-mail addresses.
  package let mails: [String]
  /// Of online-go.com.
  package let users: [Int64]
  package let errands: [String]
}

extension Database {
  /// What is due, at most `limit` of each kind, those that have waited longest first. Changes
  /// nothing.
  ///
  /// - Parameter topic: for which a token's environment is known.
  package func dueWork(limit: Int, topic: String?) throws -> DueWork {
    let limit = Parameter.integer(Int64(limit))
    return try pool.read { connection in
      let pushes = try connection.rows(
        """
        SELECT d.token, n.collapse_id,
          (SELECT MAX(r.environment) FROM ogs_registrations r WHERE r.device_token = d.token AND r.topic = ?)
        FROM delivery_leases l
        JOIN deliveries d ON d.shard = l.shard AND d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3)
        JOIN notifications n ON n.id = d.notification_id
        WHERE n.expires_at > UTC_TIMESTAMP(3) AND l.leased_until <= UTC_TIMESTAMP(3)
        ORDER BY d.due_at LIMIT ?
        """,
        [.text(topic), limit]
      ) { row in
        DueWork.Push(
          token: row.text(0), collapseID: row.text(1),
          environment: row.optionalText(2).flatMap(PushEnvironment.init))
      }
      let mails = try connection.rows(
        """
        SELECT recipient FROM outbox
        WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND expires_at > UTC_TIMESTAMP(3)
        ORDER BY due_at LIMIT ?
        """,
        [limit]
      ) { row in row.text(0) }
      let users = try connection.rows(
        """
        SELECT id FROM ogs_users
        WHERE due_at <= UTC_TIMESTAMP(3)
          AND EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.ogs_user_id = ogs_users.id)
          AND NOT EXISTS (SELECT 1 FROM ogs_pause WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3))
        ORDER BY due_at LIMIT ?
        """,
        [limit]
      ) { row in row.integer(0) }
      let errands = try connection.rows(
        "SELECT kind FROM errands WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) ORDER BY due_at LIMIT ?",
        [limit]
      ) { row in row.text(0) }
      return DueWork(pushes: pushes, mails: mails, users: users, errands: errands)
    }
  }
}

extension Room {
  static let operations = Room(
    retention: [
      RetentionRule(
        .byDatabaseClock,
        """
        DELETE FROM outbox WHERE state IN ('delivered', 'suppressed')
          AND finished_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY LIMIT ?
        """),
      RetentionRule(
        .byDatabaseClock,
        "DELETE FROM outbox WHERE finished_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY LIMIT ?"),
      RetentionRule(
        .byDatabaseClock,
        "DELETE FROM jobs WHERE finished_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY LIMIT ?"),
      RetentionRule(
        .byDatabaseClock,
        "DELETE FROM dead_tokens WHERE removed_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY LIMIT ?"),
    ] + Room.pastNotifications + [
      RetentionRule(
        .after(.day), "DELETE FROM rate_limits WHERE window_started_at < ? LIMIT ?"),
      RetentionRule(
        .byDatabaseClock,
        "DELETE FROM job_limits WHERE window_started_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY LIMIT ?"
      ),
      RetentionRule(.afterAuditLifetime, "DELETE FROM audit_log WHERE at < ? LIMIT ?"),
    ] + Room.goneHosts,
    // A bank that is being asked must add no cards afterward.
    whenAuthenticatorsEnd: [Room.endOfJobs],
    whenAccountIsBanned: [
      Room.endOfJobs,
      """
      UPDATE notifications n JOIN deliveries d ON d.notification_id = n.id
      SET d.state = 'dead', d.reason = 'banned', d.finished_at = UTC_TIMESTAMP(3)
      WHERE n.account_id = ? AND d.state = 'open'
      """,
    ],
    seals: [
      "SELECT DISTINCT SUBSTRING_INDEX(sealed, '.', 1) FROM outbox WHERE state = 'open' AND sealed IS NOT NULL"
    ],
    whenRestored: [
      """
      UPDATE outbox SET state = 'dead', sealed = NULL, finished_at = UTC_TIMESTAMP(3),
        reason = 'withdrawn: the database was restored'
      WHERE state = 'open' AND kind IN ('login_code', 'address_change')
      """,
      "UPDATE jobs SET state = 'dead', finished_at = UTC_TIMESTAMP(3) WHERE state = 'open'",
    ],
    whenClockIsSetBack: [
      """
      UPDATE outbox SET due_at = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
      WHERE state = 'open' AND due_at > UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
      """,
      """
      UPDATE jobs SET due_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
      WHERE state = 'open' AND due_at > UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
      """,
      // A limit would last longer than its error says. The clocks of hosts may differ by seconds.
      """
      DELETE l FROM rate_limits l FORCE INDEX (rate_limits_window)
      WHERE l.window_started_at > UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
      """,
      // Leases of shards that are too long are void by themselves. A delivery that was never tried,
      // and was not due when it was written, waits for the end of quiet hours: a poll sends it.
      """
      UPDATE delivery_leases l
      STRAIGHT_JOIN deliveries d ON d.channel = l.channel AND d.shard = l.shard
      STRAIGHT_JOIN notifications n ON n.id = d.notification_id
      SET d.due_at = UTC_TIMESTAMP(3)
      WHERE d.state = 'open' AND d.due_at > UTC_TIMESTAMP(3)
        AND (d.reason IS NOT NULL OR d.due_at < n.created_at + INTERVAL 1 SECOND)
      """,
    ], accountData: [.events])
}

extension AuditEvent {
  static let limitLifted = AuditEvent("limit_lifted")
  static let messageDiscarded = AuditEvent("message_discarded")
  static let messageRetried = AuditEvent("message_retried")
  /// An administrator has restored the database from a backup.
  static let restored = AuditEvent("restored")
}

extension AccountData {
  /// The audit log's entries about the account.
  fileprivate static let events = AccountData(
    "events", [.time("at"), .text("event"), .text("detail")],
    """
    SELECT account_id, at, event, detail FROM account_events WHERE account_id = ?
    ORDER BY at DESC LIMIT ?
    """)
}

extension Room {
  /// Gives up the open jobs of an account. By the index on the state, it would lock those of all accounts.
  fileprivate static let endOfJobs: StaticString = """
    UPDATE jobs FORCE INDEX (jobs_account) SET state = 'dead', finished_at = UTC_TIMESTAMP(3)
    WHERE account_id = ? AND state = 'open'
    """

  /// Rows of hosts where no companion has run for thirty days.
  fileprivate static let goneHosts = [
    RetentionRule(
      .byDatabaseClock,
      """
      DELETE FROM companion_status
      WHERE last_pass_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY LIMIT ?
      """),
    RetentionRule(
      .byDatabaseClock,
      "DELETE FROM problems WHERE seen_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY LIMIT ?"),
    // A companion whose passes fail still records problems.
    RetentionRule(
      .byDatabaseClock,
      """
      DELETE FROM counters
      WHERE NOT EXISTS (SELECT 1 FROM companion_status s WHERE s.host = counters.host)
        AND NOT EXISTS (SELECT 1 FROM problems c WHERE c.host = counters.host) LIMIT ?
      """),
  ]

  // The index has channel and shard before the time, so the statements name both.
  fileprivate static let pastNotifications = [
    RetentionRule(
      .perChannel,
      """
      DELETE FROM deliveries WHERE channel = ?
        AND shard IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
        AND state = 'delivered' AND due_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY
        AND finished_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY LIMIT ?
      """),
    RetentionRule(
      .perChannel,
      """
      DELETE FROM deliveries WHERE channel = ?
        AND shard IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
        AND state = 'dead' AND due_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY
        AND finished_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY LIMIT ?
      """),
    RetentionRule(
      .byDatabaseClock,
      """
      DELETE notifications FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS old
        STRAIGHT_JOIN notifications ON notifications.id = old.id
      WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.notification_id = notifications.id)
      """,
      walk: .init(
        name: "past_notifications",
        candidates: """
          SELECT id, created_at FROM notifications
          WHERE created_at >= ? AND (created_at > ? OR id > ?)
            AND created_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY
          ORDER BY created_at, id LIMIT ?
          """)),
  ]
}

extension Room {
  static let work = Room(
    name: "Work",
    retention: [
      Retention(
        .byDatabaseClock,
        """
        DELETE FROM outbox WHERE state IN ('delivered', 'suppressed')
          AND finished_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY LIMIT ?
        """),
      Retention(
        .byDatabaseClock,
        "DELETE FROM outbox WHERE finished_at < UTC_TIMESTAMP(3) - INTERVAL 30 DAY LIMIT ?"),
      Retention(
        .byDatabaseClock,
        "DELETE FROM jobs WHERE finished_at < UTC_TIMESTAMP(3) - INTERVAL 1 DAY LIMIT ?"),
      Retention(
        .after(Retention.day), "DELETE FROM rate_limits WHERE window_started_at < ? LIMIT ?"),
      Retention(.afterAuditLifetime, "DELETE FROM audit_log WHERE at < ? LIMIT ?"),
    ])
}

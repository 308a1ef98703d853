import MariaDB
import Testing

@testable import Store

/// The database's clock was set back by an hour, so earlier times are an hour ahead.
@Suite struct ClockSetBackTests {
  private static let claimID = "01890a5d-ac96-774b-bcce-b302099a8057"
  private static let otherID = "01890a5d-ac96-774b-bcce-b302099a8058"

  @Test(arguments: [("1 HOUR", true), ("4 MINUTE", true), ("1 MINUTE", false)])
  func aLeaseThatIsTooLongIsVoid(ahead: String, isVoid: Bool) throws {
    try withStore { store throws in
      let deliveries = store.records("companion").deliveries
      store.sql(
        """
        SET time_zone = '+00:00';
        INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
          VALUES (UUID(), 'turn', 'e', 'c', NOW(3) + INTERVAL 1 DAY);
        INSERT INTO deliveries (id, notification_id, token, shard) SELECT UUID(), id, 't', 3 FROM notifications;
        UPDATE delivery_leases SET leased_until = NOW(3) + INTERVAL \(ahead)
        """)
      #expect(try deliveries.due(limit: 10).count == (isVoid ? 1 : 0))
      let lease = try deliveries.claim(shard: 3, of: .apns, as: Self.claimID)
      #expect((lease != nil) == isVoid)
    }
  }

  /// A process that holds a lease when the clock is set back keeps it for two minutes.
  @Test func aHolderKeepsItsLease() throws {
    try withStore { store throws in
      let deliveries = store.records("companion").deliveries
      let lease = try #require(try deliveries.claim(shard: 3, of: .apns, as: Self.claimID))
      store.sql("UPDATE delivery_leases SET leased_until = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR")
      #expect(try deliveries.nextBatch(of: lease, limit: 1)?.isEmpty == true)
      #expect(try deliveries.claim(shard: 3, of: .apns, as: Self.otherID) == nil)
      #expect(
        store.sql(
          "SELECT COUNT(*) FROM delivery_leases WHERE leased_until > UTC_TIMESTAMP(3) + INTERVAL 3 MINUTE"
        ) == "15")
    }
  }

  private static let waiting = """
    SET time_zone = '+00:00';
    UPDATE outbox SET state = 'open', finished_at = NULL, due_at = NOW(3) + INTERVAL 1 HOUR;
    UPDATE jobs SET state = 'open', result = NULL, finished_at = NULL, due_at = NOW(3) + INTERVAL 1 HOUR;
    UPDATE deliveries SET state = 'open', reason = 'HTTP status 503', finished_at = NULL, due_at = NOW(3) + INTERVAL 1 HOUR;
    UPDATE webhooks SET claim_id = UUID(), due_at = NOW(3) + INTERVAL 1 HOUR;
    UPDATE ogs_users SET due_at = NOW(3) + INTERVAL 1 HOUR;
    UPDATE ogs_pause SET paused_until = NOW(3) + INTERVAL 1 HOUR;
    INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed) VALUES
      ('test', 'one hour ahead', NOW(3) + INTERVAL 1 HOUR, 3600, 9, 9),
      ('test', 'ten seconds ahead', NOW(3) + INTERVAL 10 SECOND, 3600, 9, 9);
    """

  /// The remaining waiting time of each row, in minutes.
  private static let minutes = """
    SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), due_at) DIV 60 FROM outbox UNION ALL
    SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), due_at) DIV 60 FROM jobs UNION ALL
    SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), due_at) DIV 60 FROM webhooks UNION ALL
    SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), due_at) DIV 60 FROM deliveries UNION ALL
    SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), due_at) DIV 60 FROM ogs_users UNION ALL
    SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), paused_until) DIV 60 FROM ogs_pause
    """

  @Test(arguments: [("+ INTERVAL 1 HOUR", true), ("- INTERVAL 30 SECOND", false)])
  func waitsAreShortenedIfTheLastPassSeemsToHaveEndedInTheFuture(
    lastPass: String, isSetBack: Bool
  ) throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      store.sql(Self.waiting)
      store.sql("UPDATE companion_status SET last_pass_at = UTC_TIMESTAMP(3) \(lastPass)")
      let companions = store.records("companion").companions
      #expect(try companions.shortenWaitsIfClockWasSetBack() == isSetBack)
      let limits = store.sql(
        "SELECT COUNT(*) FROM rate_limits WHERE window_started_at > UTC_TIMESTAMP(3)")
      // A limit ten seconds ahead stays, because the clocks of hosts may differ so much.
      #expect(limits == (isSetBack ? "1" : "2"))
      let longest = store.column(Self.minutes).compactMap { Int($0) }
      #expect(longest.count >= 6)
      #expect(longest.allSatisfy { isSetBack ? $0 < 15 : $0 >= 59 }, "\(longest)")
      #expect(try !companions.shortenWaitsIfClockWasSetBack())
    }
  }
}

import Base
import MariaDB
import Testing

@testable import Store

@Suite struct PurgeTests {
  static let now = Timestamp.now()

  /// SQL for a time before `now`; with a minus, after `now`.
  func ago(_ span: String) -> String {
    "(FROM_UNIXTIME(\(Double(Self.now.milliseconds) / 1000)) - INTERVAL \(span))"
  }

  /// - Parameter lockTimeout: the limit for a row that another transaction has locked; nil: longer than a test.
  func report(
    _ store: TestStore, slice: Int = 500, lockTimeout: Duration? = nil,
    until isOver: () -> Bool = { false }
  ) throws -> Retention.Report {
    try store.records("companion", at: Self.now, lockTimeout: lockTimeout)
      .retention(auditLifetime: .seconds(10 * 86_400), slice: slice, share: 1).sweep(until: isOver)
  }

  func purge(_ store: TestStore) throws -> Int {
    let report = try report(store)
    #expect(report.failures.isEmpty && report.isComplete)
    return report.deleted
  }

  /// Runs the statements in UTC, like the programs' sessions.
  func insert(_ store: TestStore, _ statements: String) {
    store.sql("SET time_zone = '+00:00'; \(statements)")
  }

  func expect(
    _ kept: [String], of query: String, in store: TestStore, deleted: Int,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let purged = try purge(store)
    #expect(purged == deleted, sourceLocation: sourceLocation)
    #expect(store.column(query) == kept, sourceLocation: sourceLocation)
    #expect(try purge(store) == 0, sourceLocation: sourceLocation)
  }

  @Test func aPushTokenGoesAYearAfterItsLastRegistration() throws {
    try withStore { store throws in
      insert(
        store,
        """
        SET @account = UUID(), @device = UUID();
        INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
        VALUES (@account, 'ann@example.org', 'Ann', 'ann', 'wsim_ABCDEFGHIJKL', NOW(3));
        INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
        VALUES (@device, @account, 'd', 'D', 'ios', NOW(3), NOW(3));
        INSERT INTO push_tokens (token, device_id, platform, registered_at)
        VALUES (REPEAT('y', 64), @device, 'ios', \(ago("364 DAY"))),
          (REPEAT('o', 64), @device, 'ios', \(ago("366 DAY")));
        """)
      try expect(["y"], of: "SELECT LEFT(token, 1) FROM push_tokens", in: store, deleted: 1)
    }
  }

  @Test func mailsStayADayDeliveredAndThirtyDaysDead() throws {
    try withStore { store throws in
      let mails = [
        ("delivered", "1439 MINUTE"), ("delivered", "1441 MINUTE"), ("suppressed", "1439 MINUTE"),
        ("suppressed", "1441 MINUTE"), ("dead", "43199 MINUTE"), ("dead", "43201 MINUTE"),
      ]
      for (state, age) in mails {
        insert(
          store,
          """
          INSERT INTO outbox (id, kind, recipient, state, expires_at, finished_at, request_id)
          VALUES (UUID(), 'login_code', '\(state) \(age)', '\(state)', NOW(), NOW(3) - INTERVAL \(age), 'r')
          """)
      }
      insert(
        store,
        """
        INSERT INTO outbox (id, kind, recipient, expires_at, due_at, created_at, request_id)
        VALUES (UUID(), 'login_code', 'open', NOW() - INTERVAL 90 DAY, NOW() - INTERVAL 90 DAY,
          NOW() - INTERVAL 90 DAY, 'r')
        """)
      try expect(
        ["dead 43199 MINUTE", "delivered 1439 MINUTE", "open", "suppressed 1439 MINUTE"],
        of: "SELECT recipient FROM outbox ORDER BY recipient", in: store, deleted: 3)
    }
  }

  @Test func paymentsStayAWeekUnconfirmedAndElseAsLongAsTheAuditLog() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      let cases = [
        ("open 10079", ago("10079 MINUTE"), "NULL"),
        ("open 10081", ago("10081 MINUTE"), "NULL"),
        ("confirmed 9", ago("9 DAY"), ago("9 DAY")), ("confirmed 11", ago("11 DAY"), ago("11 DAY")),
      ]
      for (number, (name, expiry, confirmation)) in cases.enumerated() {
        insert(
          store,
          """
          INSERT INTO payments (id, merchant_id, account_id, amount, currency, order_id, challenge_hash, created_at,
            expires_at, confirmed_at, confirmed_by)
          SELECT 'pay_000000000000000000000\(number)', merchant_id, account_id, 1, 'CAD', '\(name)', challenge_hash,
            created_at, \(expiry), \(confirmation), IF(\(confirmation) IS NULL, NULL, 'passkey') FROM payments LIMIT 1
          """)
      }
      try expect(
        ["confirmed 9", "open 10079"],
        of: "SELECT order_id FROM payments WHERE order_id IS NOT NULL ORDER BY order_id", in: store,
        deleted: 2)
    }
  }

  @Test func webhooksStayThirtyDaysAfterTheirEnd() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      store.sql("DELETE FROM webhooks")
      let cases = [
        ("payment.confirmed", "delivered", "43199 MINUTE"),
        ("payment.refunded", "delivered", "43201 MINUTE"),
        ("payment.cancelled", "dead", "43201 MINUTE"), ("payment.expired", "open", "90 DAY"),
      ]
      for (event, state, age) in cases {
        insert(
          store,
          """
          INSERT INTO webhooks (id, payment_id, merchant_id, event, state, due_at, expires_at, finished_at)
          SELECT UUID(), id, merchant_id, '\(event)', '\(state)', NOW(3) - INTERVAL \(age), NOW(3),
            IF('\(state)' = 'open', NULL, NOW(3) - INTERVAL \(age)) FROM payments
          """)
      }
      try expect(
        ["payment.confirmed", "payment.expired"],
        of: "SELECT CAST(event AS CHAR) FROM webhooks ORDER BY 1", in: store, deleted: 2)
    }
  }

  /// An account stays if it is used, or if its address is proven.
  @Test func unprovenAccountsGoAfterThirtyDaysWithoutASession() throws {
    try withStore { store throws in
      let cases = [
        ("new", "43199 MINUTE", "NULL"), ("old", "43201 MINUTE", "NULL"),
        ("proven", "90 DAY", "NOW(3)"), ("used", "90 DAY", "NULL"),
        ("signed out", "90 DAY", "NULL"), ("banned", "90 DAY", "NULL"),
      ]
      for (number, (name, age, provenAt)) in cases.enumerated() {
        insert(
          store,
          """
          INSERT INTO accounts (id, email, name, username, wallet_id, created_at, created_from, email_verified_at)
          VALUES (UUID(), '\(number)@example.org', '\(name)', '\(number)', 'wsim_AAAAAAAAAAA\(number)',
            \(ago(age)), '192.0.2.1', \(provenAt))
          """)
      }
      for (name, end) in [("used", "NULL"), ("signed out", "NOW(3)")] {
        insert(
          store,
          """
          INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
          SELECT UUID(), id, 'device', 'Phone', 'ios', NOW(3), NOW(3) FROM accounts WHERE name = '\(name)';
          INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, ended_at, end_reason)
          SELECT UUID(), d.id, NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY, \(end), IF(\(end) IS NULL, NULL, 'logout')
            FROM devices d JOIN accounts a ON a.id = d.account_id WHERE a.name = '\(name)'
          """)
      }
      // The deletion would free its address for another sign-up.
      store.sql("UPDATE accounts SET banned_at = NOW(3), ban_reason = 'x' WHERE name = 'banned'")
      try expect(
        ["banned", "new", "proven", "used"],
        of: "SELECT name FROM accounts ORDER BY name",
        in: store, deleted: 2)
    }
  }

  @Test func notificationsStayADayDeliveredAndThirtyDaysDead() throws {
    try withStore { store throws in
      let cases = [
        ("delivered", "1439 MINUTE"), ("delivered", "1441 MINUTE"), ("dead", "43199 MINUTE"),
        ("dead", "43201 MINUTE"), ("open", "90 DAY"),
      ]
      for (state, age) in cases {
        insert(
          store,
          """
          SET @id = UUID();
          INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at, created_at)
          VALUES (@id, 'turn', '\(state) \(age)', 'c', NOW(3), NOW(3) - INTERVAL \(age));
          INSERT INTO deliveries (id, notification_id, token, shard, state, due_at, finished_at)
          VALUES (UUID(), @id, 't', 1, '\(state)', NOW(3) - INTERVAL \(age),
            IF('\(state)' = 'open', NULL, NOW(3) - INTERVAL \(age)))
          """)
      }
      try expect(
        ["dead 43199 MINUTE", "delivered 1439 MINUTE", "open 90 DAY"],
        of: "SELECT event_key FROM notifications ORDER BY event_key", in: store, deleted: 4)
    }
  }

  @Test func deadTokensAreRememberedForThirtyDays() throws {
    try withStore { store throws in
      for age in ["43199 MINUTE", "43201 MINUTE"] {
        insert(
          store,
          "INSERT INTO dead_tokens (token, removed_at) VALUES ('\(age)', NOW(3) - INTERVAL \(age))")
      }
      try expect(["43199 MINUTE"], of: "SELECT token FROM dead_tokens", in: store, deleted: 1)
    }
  }

  @Test func jobsGoADayAfterTheirEnd() throws {
    try withStore { store throws in
      for (name, age) in [("old", "1441 MINUTE"), ("young", "1439 MINUTE")] {
        insert(
          store,
          """
          INSERT INTO jobs (id, kind, request, state, request_id, finished_at)
          VALUES (UUID(), 'turn_check', '{}', 'dead', '\(name)', NOW(3) - INTERVAL \(age))
          """)
      }
      insert(
        store,
        """
        INSERT INTO jobs (id, kind, request, request_id, due_at)
        VALUES (UUID(), 'turn_check', '{}', 'open', NOW(3) - INTERVAL 90 DAY)
        """)
      try expect(
        ["open", "young"], of: "SELECT request_id FROM jobs ORDER BY 1", in: store, deleted: 1)
    }
  }

  @Test func limitsGoADayAfterTheirWindowBegan() throws {
    try withStore { store throws in
      for (name, age, window) in [
        ("old", "86401 SECOND", 60), ("border", "1 DAY", 60), ("open", "59 SECOND", 60),
        ("long", "3599 SECOND", 3600), ("long and old", "86401 SECOND", 3600),
      ] {
        insert(
          store,
          """
          INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
          VALUES ('\(name)', 's', \(ago(age)), \(window), 1, 1)
          """)
      }
      try expect(
        ["border", "long", "open"], of: "SELECT name FROM rate_limits ORDER BY 1", in: store,
        deleted: 2)
    }
  }

  @Test func theLimitsOfJobsGoADayAfterTheirWindowBegan() throws {
    try withStore { store throws in
      for (name, age) in [("old", "1441 MINUTE"), ("young", "1439 MINUTE")] {
        insert(
          store,
          """
          INSERT INTO job_limits (name, subject, window_started_at, hits)
          VALUES ('\(name)', 's', NOW(3) - INTERVAL \(age), 1)
          """)
      }
      try expect(["young"], of: "SELECT name FROM job_limits", in: store, deleted: 1)
    }
  }

  @Test func theAuditLogIsKeptAsLongAsItWasSaid() throws {
    try withStore { store throws in
      for (name, age) in [("old", "864001 SECOND"), ("border", "10 DAY"), ("young", "1 DAY")] {
        insert(
          store,
          """
          INSERT INTO audit_log (at, event, request_id, address)
          VALUES (\(ago(age)), '\(name)', 'r', 'a')
          """)
      }
      try expect(
        ["border", "young"], of: "SELECT event FROM audit_log ORDER BY 1", in: store, deleted: 1)
    }
  }

  @Test func whatIsInUseStays() throws {
    try withStore { store throws in
      store.sql("SET time_zone = '+00:00'; \(SampleRows.statements)")
      store.sql("UPDATE device_registrations SET credential_expires_at = '2100-01-01'")
      #expect(try purge(store) == 0)
    }
  }
}

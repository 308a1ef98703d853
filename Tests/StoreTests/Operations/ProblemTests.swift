import Testing

@testable import Store

@Suite struct ProblemTests {
  private func records(_ store: TestStore) -> Records {
    store.database("companion").records(at: .now(), from: .companion)
  }

  @Test func sinceIsWhenItBeganToFailOrToBeWell() throws {
    try withStore { store throws in
      let problems = records(store).problems
      func note(_ reason: String?) throws {
        store.sql("UPDATE problems SET since = '2020-01-01'")
        try problems.record([ProblemCheck(.mail, reason)], by: "host")
      }
      func isNew() -> Bool { store.sql("SELECT since > '2020-01-01' FROM problems") == "1" }
      try note("Mails fail: 1.")
      #expect(isNew())
      try note("Mails fail: 2.")
      #expect(!isNew())
      #expect(store.sql("SELECT reason FROM problems") == "Mails fail: 2.")
      try note(nil)
      #expect(isNew())
      try note(nil)
      #expect(!isNew())
    }
  }

  @Test func eachHostAndSubjectHasItsOwn() throws {
    try withStore { store throws in
      let records = records(store)
      try records.problems.record(
        [ProblemCheck(.bank, subject: "a", "A."), ProblemCheck(.bank, subject: "b", "B.")],
        by: "one")
      try records.problems.record([ProblemCheck(.bank, subject: "a", nil)], by: "two")
      let problems = try records.health().problems.filter { $0.name == .bank }
      #expect(problems.map { "\($0.host) \($0.subject) \($0.reason)" } == ["one a A.", "one b B."])
    }
  }

  @Test func theLastLookIsForgottenAfterItsTime() throws {
    try withStore { store throws in
      let problems = records(store).problems
      func look() throws -> Bool {
        try problems.lastGoodLook(at: .certificate, by: "host", within: .seconds(3_600)) != nil
      }
      #expect(try !look())
      try problems.record([ProblemCheck(.certificate, nil)], by: "host")
      #expect(try look())
      #expect(
        try problems.lastGoodLook(at: .certificate, by: "other", within: .seconds(3_600)) == nil)
      for moment in ["- INTERVAL 61 MINUTE", "+ INTERVAL 1 DAY"] {
        store.sql("UPDATE problems SET seen_at = UTC_TIMESTAMP(3) \(moment)")
        #expect(try !look())
      }
    }
  }

  @Test func countersAdd() throws {
    try withStore { store throws in
      let counters = records(store).counters
      for _ in 1...2 {
        try counters.add([Count(.mails, "delivered", 2), Count(.polls, "refused", 1)], on: "host")
      }
      try counters.add([Count(.mails, "delivered", 7)], on: "other")
      #expect(
        try counters.totals(on: "host")
          == [Count(.mails, "delivered", 4), Count(.polls, "refused", 2)])
    }
  }

  /// Each table that measures the purge, with a row that is two days late.
  @Test(arguments: [
    ("audit_log", "UPDATE audit_log SET at = UTC_TIMESTAMP(3) - INTERVAL 32 DAY"),
    (
      "deliveries",
      """
      UPDATE deliveries SET shard = 0, state = 'delivered', finished_at = NOW(3),
        due_at = UTC_TIMESTAMP(3) - INTERVAL 3 DAY
      """
    ),
    (
      "jobs",
      "UPDATE jobs SET state = 'dead', finished_at = UTC_TIMESTAMP(3) - INTERVAL 3 DAY"
    ),
    ("notifications", "UPDATE notifications SET created_at = UTC_TIMESTAMP(3) - INTERVAL 33 DAY"),
    (
      "outbox",
      """
      UPDATE outbox SET state = 'dead', sealed = NULL,
        finished_at = UTC_TIMESTAMP(3) - INTERVAL 32 DAY
      """
    ),
    (
      "phone_challenges",
      "UPDATE phone_challenges SET expires_at = UTC_TIMESTAMP(3) - INTERVAL 3 DAY"
    ),
    ("rate_limits", "UPDATE rate_limits SET window_started_at = UTC_TIMESTAMP(3) - INTERVAL 3 DAY"),
    (
      "sessions",
      """
      UPDATE sessions SET created_at = UTC_TIMESTAMP(3) - INTERVAL 40 DAY,
        rotated_at = created_at, expires_at = UTC_TIMESTAMP(3) - INTERVAL 32 DAY
      """
    ),
  ])
  func aLatePurgeIsMeasured(table: String, statement: String) throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      func late() throws -> [String] {
        try records(store).measurements.purgeLateness(auditLifetime: Duration.day * 30)
          .filter { $0.late > RetentionRule.grace }.map(\.table)
      }
      #expect(try late() == [])
      store.sql("SET time_zone = '+00:00'; \(statement)")
      #expect(try late() == [table])
    }
  }

  @Test func anEmptyDatabaseHasNoLatePurge() throws {
    try withStore { store throws in
      #expect(
        try records(store).measurements.purgeLateness(auditLifetime: Duration.day) == [])
    }
  }

  @Test func queuesAreCountedWithWhatIsDue() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      store.sql(
        """
        UPDATE outbox SET due_at = UTC_TIMESTAMP(3) - INTERVAL 1 HOUR;
        UPDATE jobs SET due_at = UTC_TIMESTAMP(3) + INTERVAL 1 DAY;
        UPDATE deliveries SET due_at = UTC_TIMESTAMP(3) - INTERVAL 2 HOUR;
        UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3) - INTERVAL 3 HOUR;
        UPDATE webhooks SET due_at = UTC_TIMESTAMP(3) - INTERVAL 4 HOUR;
        """)
      let queues = try records(store).measurements.queues()
      #expect(
        queues.map { "\($0.name) \($0.length)" } == [
          "deliveries 1", "jobs 0", "mails 1", "polls 1", "webhooks 1",
        ])
      #expect(queues.map { $0.oldest.components.seconds / 3600 } == [2, 0, 1, 3, 4])
    }
  }

  /// The list includes tables whose rows the companion may not read.
  @Test func everyTableHasASize() throws {
    try withStore { store throws in
      #expect(
        Set(try records(store).measurements.tableSizes().map(\.table)) == Set(SchemaText.tables))
    }
  }
}

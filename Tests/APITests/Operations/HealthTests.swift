import Foundation
import MariaDB
import Store
import Support
import Testing

@testable import API

@Suite struct HealthTests {
  private func fail(
    _ site: TestApplication, _ name: String, _ reason: String, on host: String = "secret-host"
  ) {
    site.sql(
      """
      INSERT INTO problems (host, name, reason, since, seen_at)
      VALUES ('\(host)', '\(name)', '\(reason)', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))
      """)
  }

  @Test func healthIsOKWhileTheDatabaseAnswersAndACompanionIsSeen() throws {
    try withApplication { site in
      site.sql(
        """
        INSERT INTO companion_status (host, version, last_pass_at)
        VALUES ('h', '1', '2099-01-02 03:04:05')
        """)
      let answer = site.send("GET", "/health")
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"status":"ok","database":"ok","last_poll":"2099-01-02T03:04:05Z","problems":[]}"#)
    }
  }

  @Test func aDeliveryThatIsOverdueIsAProblem() throws {
    try withApplication { site in
      site.seeCompanion(age: "1 SECOND")
      site.sql(
        """
        INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
          VALUES (UUID(), 'turn', 'e', 'c', UTC_TIMESTAMP(3) + INTERVAL 1 HOUR);
        INSERT INTO deliveries (id, notification_id, token, channel, shard, due_at)
          SELECT UUID(), id, 'web:x', 'webpush', 1, UTC_TIMESTAMP(3) - INTERVAL 390 SECOND
          FROM notifications;
        """)
      let answer = site.send("GET", "/health")
      #expect(answer.status == 200)
      #expect(
        answer.text.hasSuffix(
          #""problems":[{"name":"deliveries","reason":"Notifications by the channel webpush are overdue by 6 minutes."}]}"#
        ), "\(answer.text)")
    }
  }

  @Test func withoutACompanionItIsDegraded() throws {
    try withApplication { site in
      let answer = site.send("GET", "/health")
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"status":"degraded","database":"ok","last_poll":null,"#
          + #""problems":[{"name":"companion","reason":"No companion has ended a pass yet."}]}"#)
    }
  }

  @Test(arguments: [
    ("60 SECOND", 30, false), ("121 SECOND", 30, true), ("121 SECOND", 60, false),
    ("6 MINUTE", 30, true),
  ])
  func aCompanionIsLateAfterTwoIntervalsAndAMinute(age: String, interval: Int, isLate: Bool) throws
  {
    try withApplication { site in
      site.seeCompanion(age: age)
      site.sql("UPDATE companion_status SET pass_interval = \(interval)")
      let answer = site.send("GET", "/health")
      #expect(answer.status == 200)
      #expect(answer.text.contains("No companion has ended a pass for") == isLate)
      #expect(answer.string("status") == (isLate ? "degraded" : "ok"))
    }
  }

  @Test func itSaysForHowLong() throws {
    try withApplication { site in
      site.seeCompanion(age: "6 MINUTE")
      #expect(
        site.send("GET", "/health").text.contains("No companion has ended a pass for 6 minutes."))
    }
  }

  @Test func itNamesWhatACompanionFoundOnceAndNotWhere() throws {
    try withApplication { site in
      site.seeCompanion()
      fail(site, "mail", "Mails fail: the mail command ended with status 75.")
      fail(site, "mail", "Mails fail: the mail command ended with status 75.", on: "other-host")
      fail(site, "apns", "")
      fail(site, "of a later version", "Not known here.")
      let answer = site.send("GET", "/health")
      #expect(answer.status == 200)
      #expect(answer.string("status") == "degraded")
      #expect(
        answer.text.hasSuffix(
          #""problems":[{"name":"mail","reason":"Mails fail: the mail command ended with status 75."}]}"#
        ))
      #expect(!answer.text.contains("host"))
    }
  }

  @Test func whichSecretIsExposedIsToldToAdministratorsAlone() throws {
    try withApplication { site in
      site.seeCompanion()
      fail(site, "secrets", "Anybody on this host can read jwt-keys in /etc/switchboard/secrets.")
      let answer = site.send("GET", "/health")
      #expect(answer.text.contains(#"{"name":"secrets","reason":"Every user of the host can read"#))
      #expect(!answer.text.contains("jwt-keys"))
    }
  }

  @Test func whatNobodyHasLookedAtForADayIsForgotten() throws {
    try withApplication { site in
      site.seeCompanion()
      fail(site, "mail", "Mails fail.")
      site.sql("UPDATE problems SET seen_at = UTC_TIMESTAMP(3) - INTERVAL 25 HOUR")
      #expect(site.send("GET", "/health").string("status") == "ok")
    }
  }

  @Test func anotherVersionOfTheSchemaIsNamed() throws {
    try withApplication { site in
      site.seeCompanion()
      site.sql("UPDATE schema_version SET version = 99")
      #expect(
        site.send("GET", "/health").text.contains(
          #"{"name":"schema","reason":"The schema has version 99, and this program needs version \#(Database.schemaVersion)."}"#
        ))
    }
  }

  @Test func itWritesAlsoAfterTheClockWasSetBack() throws {
    try withApplication { site in
      for moment in ["2020-01-01", "2099-01-01"] {
        site.sql("UPDATE health SET written_at = '\(moment)'")
        _ = site.send("GET", "/health")
        #expect(
          site.sql("SELECT written_at BETWEEN '2026-01-01' AND UTC_TIMESTAMP(3) FROM health") == "1"
        )
      }
    }
  }

  /// Errors of a server with a full disk, and of InnoDB in read-only mode.
  @Test(arguments: [
    (1114, "full"), (1021, "full"), (1030, "full"), (1836, "read_only"), (1290, "read_only"),
  ])
  func aDatabaseThatCannotBeWrittenIs503(number: Int, word: String) throws {
    try withApplication { site in
      site.seeCompanion()
      site.sql(
        """
        CREATE TRIGGER refusal BEFORE UPDATE ON health FOR EACH ROW
          SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = \(number)
        """)
      let answer = site.send("GET", "/health")
      #expect(answer.status == 503)
      #expect(answer.field("Retry-After") == "2")
      #expect(answer.string("status") == "down")
      #expect(answer.string("database") == word)
      #expect(answer.string("error") == "Temporarily unavailable")
      #expect(answer.text.contains(#"{"name":"database","reason":"The database"#))
      site.sql("DROP TRIGGER refusal")
      #expect(site.send("GET", "/health").string("status") == "ok")
    }
  }

  /// Updates of rows need no room, so health's own writes do not reveal a full disk.
  @Test func aDatabaseWithoutRoomForNewRowsIs503ForAMinute() throws {
    try withApplication { site in
      site.seeCompanion()
      site.sql(
        """
        CREATE TRIGGER refusal BEFORE INSERT ON rate_limits FOR EACH ROW
          SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114
        """)
      #expect(site.send("GET", "/health").status == 200)
      #expect(site.send("GET", "/api/v1/models").status == 503)
      let answer = site.send("GET", "/health")
      #expect(answer.status == 503)
      #expect(answer.string("database") == "full")
      #expect(
        answer.text.contains(
          #""problems":[{"name":"database","reason":"The database's disk is full."}]"#))
      site.sql("UPDATE health SET full_at = UTC_TIMESTAMP(3) - INTERVAL 61 SECOND")
      #expect(site.send("GET", "/health").string("status") == "ok")
    }
  }

  @Test func aReadOnlyServerIs503UntilItIsWritable() throws {
    let server = MariaDBServer()
    let schema = try String(contentsOf: projectSchema, encoding: .utf8)
    server.createDatabase("switchboard", schema: schema)
    server.run(
      """
      CREATE USER responder@localhost; GRANT switchboard_responder TO responder@localhost;
      SET DEFAULT ROLE switchboard_responder FOR responder@localhost;
      INSERT INTO companion_status (host, version, last_pass_at) VALUES ('h', '1', '2099-01-01');
      """, database: "switchboard")
    let application = Application.ofTests(
      on: ConnectionSettings(
        socket: server.socket, database: "switchboard", user: "responder", password: nil))
    for (isReadOnly, status, database) in [(1, 503, "read_only"), (0, 200, "ok")] {
      server.run("SET GLOBAL read_only = \(isReadOnly)")
      let answer = application.send("GET", "/health")
      #expect(answer.status == status)
      #expect(answer.string("database") == database)
    }
  }

  @Test func aBankThatDoesNotAnswerIsNamedUntilItDoes() throws {
    try withBank { site, ann, bank throws in
      site.seeCompanion()
      let id = site.sql("SELECT bsim_id FROM banks")
      bank.play { $0.faults[.token] = .status(503) }
      _ = try site.enroll(ann, at: bank)
      #expect(
        site.send("GET", "/health").text.contains(
          #"{"name":"bank","reason":"The bank \#(id) does not answer: token 503."}"#))
      bank.play { $0.faults = [:] }
      _ = try site.enroll(ann, at: bank)
      #expect(site.send("GET", "/health").string("status") == "ok")
    }
  }

  /// A bank that refuses a person is not a problem of the site.
  @Test func aBankThatRefusesAPersonIsWell() throws {
    try withBank { site, ann, bank throws in
      site.seeCompanion()
      bank.play { $0.faults[.token] = .status(400) }
      _ = try site.enroll(ann, at: bank)
      #expect(site.send("GET", "/health").string("status") == "ok")
    }
  }
}

package import Base
import MariaDB

/// A problem, in words for people.
package struct Problem: Sendable, Equatable {
  package let name: Name
  /// The part with the problem, if there are several: the id of a bank, a disk. Otherwise empty.
  package let subject: String
  /// The host of the companion that found it; empty if the reader found it.
  package let host: String
  /// The reason: a whole sentence, without secrets, addresses and names of hosts. It may name
  /// files.
  package let reason: String
  /// By the database's clock; nil if the reader found it.
  package let since: Timestamp?

  /// A problem that the reader found.
  init(_ name: Name, of subject: String = "", _ reason: String) {
    (self.name, self.subject, self.reason) = (name, subject, reason)
    (host, since) = ("", nil)
  }

  /// - Returns: nil for a name that this version does not know.
  fileprivate init?(row: borrowing Row) {
    guard let name = Name(rawValue: row.text(1)) else { return nil }
    self.name = name
    host = row.text(0)
    subject = row.text(2)
    reason = row.text(3)
    since = row.timestamp(4)
  }
}

extension Problem {
  /// The kinds of problems. Status, metrics, alerts and the manual say only ``meaning`` and
  /// ``advice``.
  package enum Name: String, Sendable, CaseIterable {
    case database, schema, companion, site, mail, keys, secrets, apns, fcm
    case webPush = "webpush"
    case deliveries, ogs, bank, webhooks, disk, clock, certificate, purge

    /// A sentence that is true while the problem exists.
    package var meaning: String {
      switch self {
      case .database: "The database does not answer, or accepts no writes."
      case .schema: "The database has another version of the schema than the programs."
      case .companion:
        "A companion does not end its passes, so nothing is sent or polled, or not all."
      case .site: "The site does not answer requests."
      case .mail: "Mails are not sent."
      case .keys: "Something was sealed for keys that the companion does not have."
      case .secrets: "Every user of the host can read a secret."
      case .apns: "Apple does not take notifications."
      case .fcm: "Google does not take notifications for Android."
      case .webPush: "Push services do not take notifications for browsers."
      case .deliveries: "Notifications are over five minutes late: no companion sends them."
      case .ogs: "online-go.com does not answer polls."
      case .bank: "A bank does not answer, so enrollments there fail."
      case .webhooks: "A merchant's server does not take webhooks."
      case .disk: "A disk is nearly full."
      case .clock: "Clocks differ by more than a minute."
      case .certificate: "The site's certificate has expired or soon will."
      case .purge: "Old rows are not deleted in time."
      }
    }

    /// The action that solves the problem.
    package var advice: String {
      switch self {
      case .database:
        "Look at the database's log. If its disk is full, make room; if it is read-only, make it writable again."
      case .schema: "Apply the schema.sql of the installed programs, then restart them."
      case .companion:
        "Look at the log of switchboard-companion, and see that switchboard-companion.timer runs."
      case .site:
        "See that the web server runs, and switchboard-responder.socket and switchboard-responder, and look at their "
          + "logs."
      case .mail:
        "Try SWITCHBOARD_MAIL_COMMAND by hand, and look at the log of the mail system."
      case .keys:
        "See that SWITCHBOARD_COMPANION_PUBLIC_KEYS of the responder are the public halves of the companion's keys, "
          + "and that the companion has all its keys."
      case .secrets:
        "Let only their owner read the files: chmod 700 for their folder, chmod 600 for each. Then replace their secrets, "
          + "because another user may have read them."
      case .apns:
        "Compare APNS_KEY_ID, APNS_TEAM_ID, APNS_BUNDLE_ID and APNS_USE_SANDBOX with Apple's developer site, and see "
          + "that this host reaches Apple."
      case .fcm:
        "Compare the service account of FCM_SERVICE_ACCOUNT with the Firebase console, and see that this host reaches "
          + "Google and that its clock is right."
      case .webPush:
        "See that WEBPUSH_VAPID_KEY is the key for which the pages subscribed, and that this host reaches the push "
          + "services of browsers and its clock is right."
      case .deliveries:
        "Look at the log of switchboard-companion, and see that it is set up for this channel. Then restart it."
      case .ogs:
        "See that this host reaches online-go.com. If it refuses polls, lower OGS_REQUESTS_PER_SECOND."
      case .bank:
        "Ask the bank, and compare its addresses with those that switchboard banks lists."
      case .webhooks:
        "Ask the merchant. Look at switchboard merchants webhooks, and send those that were given up again with "
          + "switchboard merchants resend."
      case .disk: "Make room, or enlarge the disk."
      case .clock: "See that every host sets its clock by NTP."
      case .certificate: "Renew the certificate, and reload nginx."
      case .purge:
        "See that the companion ends its passes. If it does, give the database a faster disk."
      }
    }
  }
}

/// The result of a companion's check for one problem.
package struct ProblemCheck: Sendable, Equatable {
  package let name: Problem.Name
  package let subject: String
  /// nil if there is no problem.
  package let reason: String?

  package init(_ name: Problem.Name, subject: String = "", _ reason: String?) {
    self.name = name
    self.subject = subject
    self.reason = reason
  }
}

/// The problems that companions check for.
package struct Problems: Sendable {
  let records: Records

  /// Writes the results of the companion on `host`. Problems that it has not checked stay as they
  /// were.
  package func record(_ checks: [ProblemCheck], by host: String) throws {
    guard !checks.isEmpty else { return }
    try records.transaction { transaction in
      for check in checks { try transaction.problems.record(check, by: host) }
    }
  }

  /// The problems that companions find.
  package func failing() throws -> [Problem] {
    try records.read { transaction in try transaction.problems.failing() }
  }

  /// The time of the last check for `name` by the companion on `host`; nil if that was more than
  /// `age` ago or never, or if it found a problem.
  package func lastGoodLook(at name: Problem.Name, by host: String, within age: Duration) throws
    -> Timestamp?
  {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT MAX(seen_at) FROM problems
        WHERE host = ? AND name = ? AND reason = '' AND seen_at BETWEEN UTC_TIMESTAMP(3) - INTERVAL ? SECOND AND UTC_TIMESTAMP(3)
        """,
        [.text(host.cut(to: 64)), .text(name.rawValue), .integer(age.components.seconds)]
      ) { row in row.optionalTimestamp(0) } ?? nil
    }
  }
}

extension Records {
  package var problems: Problems { Problems(records: self) }
}

/// Statements on `problems`.
struct ProblemStatements: ~Copyable {
  let transaction: Transaction

  func record(_ check: ProblemCheck, by host: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO problems (host, name, subject, reason, since, seen_at)
      VALUES (?, ?, ?, ?, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))
      ON DUPLICATE KEY UPDATE since = IF((reason = '') = (VALUES(reason) = ''), since, VALUES(since)),
        reason = VALUES(reason), seen_at = VALUES(seen_at)
      """,
      [
        .text(host.cut(to: 64)), .text(check.name.rawValue),
        .text(check.subject.cut(to: 64)), .text((check.reason ?? "").cut(to: 400)),
      ])
  }

  /// The problems. Omits those that were not checked for a day: their host or bank may be gone.
  func failing() throws(DatabaseError) -> [Problem] {
    try transaction.connection.rows(
      """
      SELECT host, name, subject, reason, since FROM problems
      WHERE reason <> '' AND seen_at > UTC_TIMESTAMP(3) - INTERVAL 1 DAY
      ORDER BY name, subject, host
      """
    ) { row in Problem(row: row) }.compactMap { $0 }
  }
}

extension Transaction {
  var problems: ProblemStatements {
    ProblemStatements(transaction: Transaction(sharing: self))
  }
}

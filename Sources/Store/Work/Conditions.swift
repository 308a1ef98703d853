package import Base
import MariaDB

/// Something that fails, in the words that people read.
package struct Condition: Sendable, Equatable {
  package let name: Name
  /// Which one, where there are several: the id of a bank, a disk. Empty where there is one.
  package let subject: String
  /// Of the companion that found it; empty where the reader found it.
  package let host: String
  /// Why it fails: a whole sentence, without secrets, addresses and names of hosts. It may name files.
  package let reason: String
  /// By the database's clock; nil where the reader found it.
  package let since: Timestamp?

  /// A condition that the reader found.
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

extension Condition {
  /// What can fail. ``meaning`` and ``advice`` are all that status, metrics, alerts and the manual say.
  package enum Name: String, Sendable, CaseIterable {
    case database, schema, companion, site, mail, keys, secrets, apns, fcm
    case webPush = "webpush"
    case deliveries, ogs, bank, disk, clock, certificate, purge

    /// A sentence that holds while it fails.
    package var meaning: String {
      switch self {
      case .database: "The database does not do what it is asked."
      case .schema: "The database has another version of the schema than the programs."
      case .companion: "No companion ends its passes, so nothing is sent or polled."
      case .site: "The site does not answer requests."
      case .mail: "Mails are not sent."
      case .keys: "Something was sealed for keys that the companion does not have."
      case .secrets: "Anybody on the host can read a secret."
      case .apns: "Apple does not take notifications."
      case .fcm: "Google does not take notifications for Android."
      case .webPush: "Push services do not take notifications for browsers."
      case .deliveries: "Notifications are overdue by more than five minutes: nobody sends them."
      case .ogs: "online-go.com does not answer polls."
      case .bank: "A bank does not answer, so nobody can enroll there."
      case .disk: "A disk is nearly full."
      case .clock: "Clocks differ by more than a minute."
      case .certificate: "The site's certificate has expired or soon will."
      case .purge: "Old rows are not deleted in time."
      }
    }

    /// What to do about it.
    package var advice: String {
      switch self {
      case .database:
        "Look at the database's log. Where its disk is full, make room; where it is read-only, make it writable again."
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
        "Take the files from everybody else: chmod 700 for their folder, chmod 600 for each. Then replace what they hold, "
          + "because somebody may have read it."
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
        "See that this host reaches online-go.com. Where it refuses, lower OGS_REQUESTS_PER_SECOND."
      case .bank:
        "Ask the bank, and compare its addresses with those that switchboard banks lists."
      case .disk: "Make room, or give the disk more."
      case .clock: "See that every host sets its clock by NTP."
      case .certificate: "Renew the certificate, and reload nginx."
      case .purge:
        "See that the companion ends its passes. If it does, give the database a faster disk."
      }
    }
  }
}

/// What a companion has seen of one condition.
package struct Observation: Sendable, Equatable {
  package let name: Condition.Name
  package let subject: String
  /// nil where all is well.
  package let reason: String?

  package init(_ name: Condition.Name, subject: String = "", _ reason: String?) {
    self.name = name
    self.subject = subject
    self.reason = reason
  }
}

/// What companions find well or failing.
package struct Conditions: Sendable {
  let records: Records

  /// Writes what the companion on `host` has seen. What it has not seen stays as it was.
  package func record(_ observations: [Observation], by host: String) throws {
    guard !observations.isEmpty else { return }
    try records.transaction { transaction in
      for observation in observations { try transaction.conditions.record(observation, by: host) }
    }
  }

  /// What companions find failing.
  package func failing() throws -> [Condition] {
    try records.read { transaction in try transaction.conditions.failing() }
  }

  /// When the companion on `host` has last looked at `name`; nil where that was more than `age` ago or never, or where
  /// it found something.
  package func lastGoodLook(at name: Condition.Name, by host: String, within age: Duration) throws
    -> Timestamp?
  {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT MAX(seen_at) FROM conditions
        WHERE host = ? AND name = ? AND reason = '' AND seen_at BETWEEN UTC_TIMESTAMP(3) - INTERVAL ? SECOND AND UTC_TIMESTAMP(3)
        """,
        [.text(host.cut(to: 64)), .text(name.rawValue), .integer(age.components.seconds)]
      ) { row in row.optionalTimestamp(0) } ?? nil
    }
  }
}

extension Records {
  package var conditions: Conditions { Conditions(records: self) }
}

/// Statements on `conditions`.
struct ConditionStatements: ~Copyable {
  let transaction: Transaction

  func record(_ observation: Observation, by host: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO conditions (host, name, subject, reason, since, seen_at)
      VALUES (?, ?, ?, ?, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))
      ON DUPLICATE KEY UPDATE since = IF((reason = '') = (VALUES(reason) = ''), since, VALUES(since)),
        reason = VALUES(reason), seen_at = VALUES(seen_at)
      """,
      [
        .text(host.cut(to: 64)), .text(observation.name.rawValue),
        .text(observation.subject.cut(to: 64)), .text((observation.reason ?? "").cut(to: 400)),
      ])
  }

  /// What fails. What nobody has looked at for a day may have gone, with its host or its bank.
  func failing() throws(DatabaseError) -> [Condition] {
    try transaction.connection.rows(
      """
      SELECT host, name, subject, reason, since FROM conditions
      WHERE reason <> '' AND seen_at > UTC_TIMESTAMP(3) - INTERVAL 1 DAY
      ORDER BY name, subject, host
      """
    ) { row in Condition(row: row) }.compactMap { $0 }
  }
}

extension Transaction {
  var conditions: ConditionStatements {
    ConditionStatements(transaction: Transaction(sharing: self))
  }
}

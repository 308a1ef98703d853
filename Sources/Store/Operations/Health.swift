import Base
import MariaDB

/// The state of the site, as far as the database shows it.
package struct Health: Sendable {
  package enum Status: String, Sendable, CaseIterable {
    case ok
    /// There is a problem, but requests are answered.
    case degraded
    /// Requests cannot be answered.
    case down
  }

  package enum DatabaseState: String, Sendable, CaseIterable {
    case ok, full, unavailable
    case readOnly = "read_only"
  }

  package let database: DatabaseState
  /// The companion that was seen last.
  package let companion: CompanionStatus?
  /// The problems, the database first.
  package let problems: [Problem]

  package var status: Status {
    database != .ok ? .down : problems.isEmpty ? .ok : .degraded
  }
}

extension Health {
  /// The field of an answer to a request under the site's public name that seems to come from this machine, where no proxy is
  /// known, and its value. A proxy that names no client makes each request seem so.
  package static let (senderField, thisMachine) = ("X-Seen-From", "this machine")
}

extension Health {
  /// The health that `error` shows: all that is known without the database.
  ///
  /// - Returns: nil for an error that does not show the database's state.
  package init?(without error: any Error) {
    guard let error = error as? DatabaseError, let state = DatabaseState(error) else { return nil }
    self.init(
      database: state, companion: nil, problems: [Problem(.database, state.problem(error))])
  }
}

extension Records {
  /// Reads the problems that companions found, and writes one row, at most once a second.
  ///
  /// - Throws: `DatabaseError` if the database answers but does not know the tables.
  package func health() throws -> Health {
    var (state, problems) = (Health.DatabaseState.ok, [Problem]())
    var found = HealthReading()
    do {
      found = try read { transaction in try transaction.health.reading() }
      if found.isFull {
        state = .full
        problems = [Problem(.database, state.sentence)]
      }
      if found.isWriteDue { try write { transaction in try transaction.health.write() } }
    } catch let error as DatabaseError {
      guard let failure = Health.DatabaseState(error) else { throw error }
      state = failure
      problems = [Problem(.database, failure.problem(error))]
    }
    return Health(
      database: state, companion: found.companion, problems: problems + found.problems)
  }
}

extension Health.DatabaseState {
  /// - Returns: nil for an error that does not show the database's state.
  fileprivate init?(_ error: DatabaseError) {
    if error.isReadOnly {
      self = .readOnly
    } else if error.isStorageFull {
      self = .full
    } else if Database.isUnavailable(error) {
      self = .unavailable
    } else {
      return nil
    }
  }

  fileprivate func problem(_ error: DatabaseError) -> String {
    switch self {
    case _ where error.isRefused:
      "The database refuses the account or the password of this program: see SWITCHBOARD_DB_USER and SWITCHBOARD_DB_PASSWORD."
    case _ where error.isCrowded: "The database has too many connections."
    case _ where error.isOutOfStatements:
      "The database has too many prepared statements: raise its max_prepared_stmt_count."
    default: sentence
    }
  }

  fileprivate var sentence: String {
    switch self {
    case .readOnly: "The database is read-only."
    case .full: "The database's disk is full."
    case .ok, .unavailable: "The database does not answer."
    }
  }
}

/// The answer of the database.
private struct HealthReading {
  var companion: CompanionStatus?
  var problems: [Problem] = []
  /// Whether the last write was more than a second ago, or the clock was set back.
  var isWriteDue = true
  /// Whether a write found no room within the last minute. Existing rows may still be changed.
  var isFull = false
}

/// Statements on `health`.
private struct HealthStatements: ~Copyable {
  let transaction: Transaction

  func reading() throws(DatabaseError) -> HealthReading {
    let state = try transaction.connection.row(
      """
      SELECT h.written_at BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 SECOND AND UTC_TIMESTAMP(3),
        (SELECT version FROM schema_version WHERE id = 1),
        h.full_at BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE AND UTC_TIMESTAMP(3)
      FROM health h WHERE h.id = 1
      """
    ) { row in
      (isFresh: row.boolean(0), version: row.optionalInteger(1), isFull: row.boolean(2))
    }
    let companion = try transaction.companions.companionStatus()
    var problems: [Problem] = []
    if state?.version != Database.schemaVersion {
      problems.append(
        Problem(
          .schema,
          "The schema has version \(state?.version ?? 0), and this program needs version \(Database.schemaVersion)."
        ))
    }
    if let sentence = Self.sentence(about: companion) {
      problems.append(Problem(.companion, sentence))
    }
    problems += try transaction.deliveries.waits().compactMap(Problem.init(overdue:))
    return HealthReading(
      companion: companion, problems: problems + (try transaction.problems.failing()),
      isWriteDue: state?.isFresh != true, isFull: state?.isFull == true)
  }

  private static func sentence(about companion: CompanionStatus?) -> String? {
    guard let companion else { return "No companion has ended a pass yet." }
    guard companion.isLate else { return nil }
    let minutes = max(2, companion.age.components.seconds / 60)
    return "No companion has ended a pass for \(minutes) minutes."
  }

  func write() throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE health SET written_at = UTC_TIMESTAMP(3) WHERE id = 1")
  }
}

extension Problem {
  /// - Returns: nil if nothing is overdue.
  fileprivate init?(overdue wait: DeliveryWait) {
    guard wait.oldest > DeliveryWait.longest else { return nil }
    let minutes = wait.oldest.components.seconds / 60
    self.init(
      .deliveries, of: wait.channel.name,
      "Notifications by the channel \(wait.channel.name) are overdue by \(minutes) minutes.")
  }
}

extension Transaction {
  fileprivate var health: HealthStatements {
    HealthStatements(transaction: Transaction(sharing: self))
  }
}

import Base
import Glibc
import MariaDB

/// Deletes the rows that the rooms' retention rules name, in small transactions, each of which
/// locks only the rows that it deletes. A rule that fails does not affect the others.
package struct Retention: Sendable {
  let records: Records
  /// The time for which the audit log is kept.
  let auditLifetime: Duration
  /// Rows in one transaction.
  let slice: Int
  /// The share of the time for which the purge may keep the database busy, above 0 and at most 1.
  /// It sleeps for the rest.
  let share: Double

  /// The result of a purge.
  package struct Report: Sendable {
    package var deleted = 0
    /// The error of each rule that failed.
    package var failures: [any Error] = []
    /// Whether all rows are deleted that are due.
    package var isComplete = true
  }

  /// The most candidates of a walking rule that one purge checks if none of them may be deleted.
  private static let mostCandidates = 5_000

  /// Deletes until nothing is left or `isOver` returns true.
  ///
  /// - Throws: an error if the database does not answer.
  package func sweep(until isOver: () -> Bool) throws -> Report {
    var report = Report()
    var open = try tasks()
    while !open.isEmpty {
      if isOver() {
        report.isComplete = false
        break
      }
      open = try open.filter { task in try hasMore(task, after: &report) }
    }
    return report
  }

  /// Deletes a slice.
  private func hasMore(_ task: Task, after report: inout Report) throws -> Bool {
    let start = ContinuousClock.now
    do {
      let slice = try task.rule.walk.map { try follow($0, of: task) } ?? deleteOldest(task)
      report.deleted += slice.deleted
      rest(after: ContinuousClock.now - start, slice.deleted)
      return slice.hasMore
    } catch let error as DatabaseError where error.isUnreachable {
      throw error
    } catch {
      report.failures.append(error)
      report.isComplete = false
      return false
    }
  }

  private func rest(after work: Duration, _ deleted: Int) {
    guard deleted > 0, share < 1 else { return }
    usleep(useconds_t(work * (1 / share - 1) / .microseconds(1)))
  }

  private func deleteOldest(_ task: Task) throws -> Slice {
    let deleted = try records.lockingRows { transaction in
      try transaction.connection.execute(
        task.rule.statement, task.parameters + [.integer(Int64(slice))])
    }
    return Slice(deleted: deleted, hasMore: deleted == slice)
  }

  /// Checks the next candidates, and deletes those that need not stay.
  private func follow(_ walk: RetentionRule.Walk, of task: Task) throws -> Slice {
    var slice = Slice(deleted: 0, hasMore: true)
    var looked = 0
    while slice.deleted == 0, slice.hasMore, looked < Self.mostCandidates {
      let rows = try nextCandidates(on: walk, of: task)
      looked += rows.count
      if !rows.isEmpty {
        // Repeatable reads, so that the rows that keep a candidate from deletion are locked as
        // well.
        slice.deleted = try records.transaction { transaction in
          try transaction.connection.execute(
            task.rule.statement, [.bytes(JSONWriter.array(of: rows.map(\.id)))])
        }
      }
      slice.hasMore = rows.count == self.slice
      try keep(slice.hasMore ? rows.last : nil, as: walk.name)
    }
    if slice.deleted == 0 { slice.hasMore = false }
    return slice
  }

  private func nextCandidates(on walk: RetentionRule.Walk, of task: Task) throws -> [Place] {
    try records.read { transaction in
      let place =
        try transaction.connection.row(
          "SELECT at, id FROM purge_places WHERE rule = ?", [.text(walk.name.description)]
        ) { row in Place(at: row.timestamp(0), id: row.text(1)) } ?? .start
      return try transaction.connection.rows(
        walk.candidates,
        [.time(place.at), .time(place.at), .text(place.id)] + task.parameters
          + [.integer(Int64(slice))]
      ) { row in Place(at: row.timestamp(1), id: row.text(0)) }
    }
  }

  /// - Parameter place: nil for the beginning.
  private func keep(_ place: Place?, as name: StaticString) throws {
    let place = place ?? .start
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        INSERT INTO purge_places (rule, at, id) VALUES (?, ?, ?)
        ON DUPLICATE KEY UPDATE at = VALUES(at), id = VALUES(id)
        """,
        [.text(name.description), .time(place.at), .text(place.id)])
    }
  }

  /// A rule with the parameters of its age.
  private struct Task {
    let rule: RetentionRule
    let parameters: [Parameter]
  }

  private struct Slice {
    var deleted: Int
    var hasMore: Bool
  }

  /// The position of a walking rule.
  private struct Place {
    let at: Timestamp
    let id: String

    static let start = Place(
      at: Timestamp(milliseconds: 0), id: "00000000-0000-0000-0000-000000000000")
  }

  private func tasks() throws -> [Task] {
    let channels = try records.read { transaction in
      try transaction.connection.rows("SELECT DISTINCT channel FROM delivery_leases") { row in
        row.text(0)
      }
    }
    return records.database.rooms.flatMap(\.retention).flatMap { rule in
      switch rule.age {
      case .byDatabaseClock: [Task(rule: rule, parameters: [])]
      case .perChannel: channels.map { Task(rule: rule, parameters: [.text($0)]) }
      case .after(let age): [Task(rule: rule, parameters: [.time(records.now - age)])]
      case .afterAuditLifetime:
        [Task(rule: rule, parameters: [.time(records.now - auditLifetime)])]
      }
    }
  }
}

extension Records {
  /// - Parameters:
  ///   - slice: rows in one transaction.
  ///   - share: the share of the time for which the purge may keep the database busy, above 0 and
  ///     at most 1.
  package func retention(
    auditLifetime: Duration, slice: Int = 500, share: Double = 0.25
  ) -> Retention {
    Retention(records: self, auditLifetime: auditLifetime, slice: slice, share: share)
  }
}

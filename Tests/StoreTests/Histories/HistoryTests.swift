import Support
import Testing

/// Histories of eight clients on the same rows, whose connections are cut before or after a command: one-time
/// values, refreshes and leases behave as if each call happened at one moment.
@Suite struct HistoryTests {
  @Test(arguments: SharedObjects.allCases)
  func eachCallHappensAtOneMoment(on objects: SharedObjects) throws {
    try withStore { store in
      let problems = try objects.play(in: store, HistoryCondition(count: 40))
      #expect(problems == [])
    }
  }

  /// A committed call is not lost, and a call that the end of the server cut has its effect once or never.
  @Test(arguments: SharedObjects.allCases)
  func alsoWhenTheServerIsKilled(on objects: SharedObjects) throws {
    try withStoreOnItsOwnServer { store in
      let problems = try objects.play(in: store, HistoryCondition(count: 2, kills: true))
      #expect(problems == [])
    }
  }

  /// Without one of these conditions of the statements, a history shows a problem.
  @Test(arguments: tickets + refreshes + leases)
  fileprivate func aMissingConditionIsFound(_ planted: PlantedChange) throws {
    try withStore { store in
      // The first problem ends the histories; a machine may run the threads one after the other.
      let problems = try planted.objects.play(
        in: store, HistoryCondition(count: 400, change: planted.change))
      try #require(planted.change.count > 0, "no statement contains this")
      #expect(problems != [])
    }
  }

  fileprivate struct PlantedChange: Sendable, CustomTestStringConvertible {
    let objects: SharedObjects
    let change: SQLChange

    init(_ objects: SharedObjects, _ original: String, _ replacement: String) {
      (self.objects, change) = (objects, SQLChange(original, replacement))
    }

    var testDescription: String { change.description }
  }

  private static let tickets = [
    PlantedChange(.tickets, "SET spent_at = ?\n", "SET expires_at = IFNULL(expires_at, ?)\n"),
    PlantedChange(.tickets, "WHERE ticket_hash = ? AND", "WHERE ? IS NOT NULL AND"),
    PlantedChange(
      .tickets, "spent_at IS NULL AND expires_at >= ?", "spent_at IS NULL AND ? IS NULL"),
    PlantedChange(
      .tickets, "spent_at IS NULL AND expires_at", "spent_at IS NOT NULL AND expires_at"),
  ]

  private static let refreshes = [
    PlantedChange(
      .refreshes, "a.id = d.account_id\nWHERE s.id = ?", "a.id = d.account_id\nWHERE ? IS NOT NULL"),
    PlantedChange(
      .refreshes, "SET generation = generation + 1,", "SET generation = generation + 2,"),
    PlantedChange(
      .refreshes, "generation = ? AND branch = ? AND ended",
      "? IS NOT NULL AND ? IS NOT NULL AND ended"),
    PlantedChange(
      .refreshes, "generation = ? AND branch = ? AND NOT",
      "? IS NOT NULL AND ? IS NOT NULL AND NOT"),
    PlantedChange(.refreshes, "SET branch = branch + 1,", "SET branch = branch + 2,"),
    PlantedChange(.refreshes, "first_branch = branch, confirmed", "confirmed"),
    PlantedChange(
      .refreshes, "rotated_at = ?, answered_at = NULL, expires_at = ?\n",
      "expires_at = ?, answered_at = NULL, rotated_at = ?\n"),
  ]

  private static let leases = [
    PlantedChange(
      .leases,
      "(leased_until <= UTC_TIMESTAMP(3) OR leased_until > UTC_TIMESTAMP(3) + INTERVAL 3 MINUTE)",
      "TRUE"),
    PlantedChange(
      .leases, "SET claim_id = ?, leased_until = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE",
      "SET claim_id = ?, leased_until = UTC_TIMESTAMP(3)"),
    PlantedChange(.leases, "SET claim_id = ?,", "SET claim_id = COALESCE(claim_id, ?),"),
    PlantedChange(
      .leases,
      "UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE))\nWHERE channel = ? AND shard = ? AND claim_id = ?",
      "UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE))\nWHERE channel = ? AND shard = ? AND ? IS NOT NULL"),
    PlantedChange(
      .leases,
      "SET batch = '[]', leased_until = UTC_TIMESTAMP(3)\nWHERE channel = ? AND shard = ? AND claim_id = ?",
      "SET batch = '[]', leased_until = UTC_TIMESTAMP(3)\nWHERE channel = ? AND shard = ? AND ? IS NOT NULL"
    ),
    PlantedChange(
      .leases, "SET batch = '[]', leased_until = UTC_TIMESTAMP(3)\nWHERE",
      "SET leased_until = leased_until\nWHERE"),
  ]
}

import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// Random histories of polls, of 20 users for each seed.
@Suite struct PollSimulationTests {
  @Test func everyTurnIsToldOnceAndNobodyWaitsForever() throws {
    try withDelivery { delivery in
      let database = StillDatabase(delivery)
      let problems = try simulate(3) { seed in
        try PollHistory(delivery, through: database.settings, seed: seed).play()
      }
      #expect(problems == [])
    }
  }

  /// Without one of these conditions of the statements, the simulation finds a problem.
  @Test(arguments: [
    SQLChange("WHERE due_at <= UTC_TIMESTAMP(3)\n  AND EXISTS", "WHERE TRUE\n  AND EXISTS"),
    SQLChange("due_at = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE", "due_at = UTC_TIMESTAMP(3)"),
    SQLChange("id = 1 AND paused_until > UTC_TIMESTAMP(3))\nORDER", "id = 0)\nORDER"),
    SQLChange(
      "failure = NULL\nWHERE id = ? AND claim_id = ?",
      "failure = NULL\nWHERE id = ? AND ? IS NOT NULL"),
    SQLChange("INTERVAL interval_seconds SECOND", "INTERVAL 1 DAY"),
    SQLChange(
      "(failures - 1, 7)))) SECOND\nWHERE id = ? AND claim_id = ?",
      "(failures - 1, 7)))) SECOND\nWHERE id = ? AND ? IS NOT NULL"),
    SQLChange("LEAST(900, 10 << LEAST(failures - 1, 7))", "90000"),
    SQLChange("JSON_LENGTH(refused_users) >= 3", "JSON_LENGTH(refused_users) >= 2"),
    SQLChange(
      "SET refused_users = '[]', pauses = 0, paused_until = NULL",
      "SET pauses = 0, paused_until = NULL"),
    SQLChange("LEAST(900, 10 << LEAST(pauses - 1, 7))", "0"),
  ])
  func aMissingConditionIsFound(_ change: SQLChange) throws {
    try withDelivery { delivery in
      let isFound = try change.isFound(in: delivery) { settings, seed in
        try PollHistory(delivery, through: settings, seed: seed).play()
      }
      #expect(isFound)
    }
  }
}

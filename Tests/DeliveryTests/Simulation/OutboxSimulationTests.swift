import Store
import Support
import Testing

@testable import Delivery

/// Random histories of notifications on their way through the outbox, 200 for each seed.
@Suite struct OutboxSimulationTests {
  @Test func noNotificationIsLostOrSentAgainAfterItsOutcome() throws {
    try withDelivery { delivery in
      let database = StillDatabase(delivery)
      let outbox = try SimulatedOutbox(delivery, through: database.settings)
      let problems = try simulate(3) { try OutboxHistory(outbox, seed: $0).play() }
      #expect(problems == [])
    }
  }

  /// Every condition of the statements is needed: without it, the simulation finds a problem.
  @Test(arguments: leases + losses + choices + outcomes)
  func aMissingConditionIsFound(_ change: SQLChange) throws {
    try withDelivery { delivery in
      let isFound = try change.isFound(in: delivery) { settings, seed in
        let outbox = try SimulatedOutbox(delivery, through: settings)
        return try OutboxHistory(outbox, seed: seed).play()
      }
      #expect(isFound)
    }
  }

  /// Two passes hold a lease, one loses its own, or one ends that of another.
  private static let leases = [
    SQLChange(
      "(leased_until <= UTC_TIMESTAMP(3) OR leased_until > UTC_TIMESTAMP(3) + INTERVAL 3 MINUTE)",
      "TRUE"),
    SQLChange(
      "leased_until = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE\nWHERE",
      "leased_until = UTC_TIMESTAMP(3)\nWHERE"),
    SQLChange(
      "claim_id = ? AND leased_until > UTC_TIMESTAMP(3)",
      "? IS NOT NULL AND leased_until > UTC_TIMESTAMP(3)"),
    SQLChange(
      "+ INTERVAL 1000 MICROSECOND, UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE)", ", UTC_TIMESTAMP(3))"),
    SQLChange(
      "SET batch = '[]', leased_until = UTC_TIMESTAMP(3)\nWHERE channel = ? AND shard = ? AND claim_id = ?",
      "SET batch = '[]', leased_until = UTC_TIMESTAMP(3)\nWHERE channel = ? AND shard = ? AND ? IS NOT NULL"
    ),
  ]

  /// Ended senders are not counted, or more than once.
  private static let losses = [
    SQLChange("SET batch = ?, leased_until", "SET batch = IF(? IS NULL, '', '[]'), leased_until"),
    SQLChange("SET batch = '[]'", "SET batch = batch"),
    SQLChange("IF(d.losses + 1 >= 5, 'dead', 'open')", "'open'"),
    SQLChange("IF(d.losses + 1 >= 5, UTC_TIMESTAMP(3), NULL)", "NULL"),
    SQLChange(
      "d.attempts = d.attempts + 1, d.losses = d.losses + 1", "d.attempts = d.attempts + 1"),
    SQLChange("d.attempts = d.attempts + 1, d.losses = d.losses + 1", "d.losses = d.losses + 1"),
    SQLChange("d.due_at = UTC_TIMESTAMP(3) + INTERVAL 5 SECOND", "d.due_at = d.due_at"),
  ]

  /// Deliveries are sent that are closed, expired or not due.
  private static let choices = [
    SQLChange(
      "d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3)\nORDER",
      "d.due_at <= UTC_TIMESTAMP(3)\nORDER"),
    SQLChange(
      "d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3)\nORDER", "d.state = 'open'\nORDER"),
    SQLChange("n.expires_at <= UTC_TIMESTAMP(3), d.attempts", "TRUE, d.attempts"),
    SQLChange(
      "AND d.due_at <= UTC_TIMESTAMP(3)\n       LIMIT 1",
      "AND d.due_at > UTC_TIMESTAMP(3)\n       LIMIT 1"),
  ]

  /// Outcomes are recorded twice, or not as they are.
  private static let outcomes = [
    SQLChange(
      "WHERE id = ? AND state = 'open' AND attempts = ?",
      "WHERE id = ? AND state = 'open' AND ? IS NOT NULL"),
    SQLChange(
      "SET attempts = attempts + ?, status", "SET attempts = attempts + (? IS NULL), status"),
    SQLChange("+ INTERVAL ? MICROSECOND\nWHERE id", "+ INTERVAL (? IS NULL) SECOND\nWHERE id"),
    SQLChange("SET d.state = 'delivered'", "SET d.state = 'dead'"),
    SQLChange(
      "d.attempts = d.attempts + 1,\n  d.finished_at = UTC_TIMESTAMP(3)\nWHERE d.state = 'open'",
      "d.attempts = d.attempts + 1,\n  d.finished_at = UTC_TIMESTAMP(3)\nWHERE TRUE"),
    SQLChange(
      "d.status = 200, d.reason = NULL, d.attempts = d.attempts + 1",
      "d.status = 200, d.reason = NULL"),
    SQLChange("SET state = 'dead', attempts = attempts + 1,", "SET state = 'dead',"),
    SQLChange(
      "finished_at = UTC_TIMESTAMP(3)\nWHERE id = ? AND state = 'open'",
      "finished_at = UTC_TIMESTAMP(3)\nWHERE id = ?"),
  ]
}

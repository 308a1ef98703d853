import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// Random histories of notifications on their way through the outbox, 200 for each seed.
@Suite struct OutboxSimulationTests {
  @Test func noNotificationIsLostOrSentAgainAfterItsOutcome() throws {
    try withDelivery { delivery in
      let outbox = try SimulatedOutbox(delivery, through: delivery.account(of: "companion"))
      #expect(try simulate(3) { try OutboxHistory(outbox, seed: $0).play() } == [])
    }
  }

  /// Every condition of the statements is needed: without it, the simulation finds a problem.
  @Test(arguments: leases + losses + choices + outcomes)
  func aMissingConditionIsFound(_ change: Change) throws {
    try withDelivery { delivery in
      let hits = Atomic(0)
      let proxy = MariaDBProxy(delivery.account(of: "companion")) { command in
        guard case .prepare(let sql) = command, sql.contains(change.original) else { return .pass }
        hits.add(1, ordering: .relaxed)
        return .rewrite(sql.replacing(change.original, with: change.replacement))
      }
      let outbox = try SimulatedOutbox(delivery, through: proxy.settings)
      var problem: String?
      for seed in 1...20 as ClosedRange<UInt64> where problem == nil {
        do {
          problem = try OutboxHistory(outbox, seed: seed).play()
        } catch {
          problem = "\(error)"  // the schema does not allow it
        }
      }
      #expect(problem != nil)
      #expect(hits.load(ordering: .relaxed) > 0, "no statement contains this")
    }
  }

  /// A change of a statement that a programmer could make by mistake.
  struct Change: Sendable, CustomTestStringConvertible {
    let original: String
    let replacement: String

    init(_ original: String, _ replacement: String) {
      (self.original, self.replacement) = (original, replacement)
    }

    var testDescription: String { "\(original) → \(replacement)" }
  }

  /// Two passes hold a lease, one loses its own, or one ends that of another.
  private static let leases = [
    Change(
      "(leased_until <= UTC_TIMESTAMP(3) OR leased_until > UTC_TIMESTAMP(3) + INTERVAL 3 MINUTE)",
      "TRUE"),
    Change(
      "leased_until = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE\nWHERE",
      "leased_until = UTC_TIMESTAMP(3)\nWHERE"),
    Change(
      "claim_id = ? AND leased_until > UTC_TIMESTAMP(3)",
      "? IS NOT NULL AND leased_until > UTC_TIMESTAMP(3)"),
    Change(
      "+ INTERVAL 1000 MICROSECOND, UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE)", ", UTC_TIMESTAMP(3))"),
    Change(
      "SET leased_until = UTC_TIMESTAMP(3)\nWHERE channel = ? AND shard = ? AND claim_id = ?",
      "SET leased_until = UTC_TIMESTAMP(3)\nWHERE channel = ? AND shard = ? AND ? IS NOT NULL"),
  ]

  /// Ended senders are not counted, or more than once.
  private static let losses = [
    Change("SET batch = ?, leased_until", "SET batch = IF(? IS NULL, '', '[]'), leased_until"),
    Change("SET batch = '[]'", "SET batch = batch"),
    Change("IF(d.losses + 1 >= 5, 'dead', 'open')", "'open'"),
    Change("IF(d.losses + 1 >= 5, UTC_TIMESTAMP(3), NULL)", "NULL"),
    Change("d.attempts = d.attempts + 1, d.losses = d.losses + 1", "d.attempts = d.attempts + 1"),
    Change("d.attempts = d.attempts + 1, d.losses = d.losses + 1", "d.losses = d.losses + 1"),
    Change("d.due_at = UTC_TIMESTAMP(3) + INTERVAL 5 SECOND", "d.due_at = d.due_at"),
  ]

  /// Deliveries are sent that are closed, expired or not due.
  private static let choices = [
    Change(
      "d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3)\nORDER",
      "d.due_at <= UTC_TIMESTAMP(3)\nORDER"),
    Change("d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3)\nORDER", "d.state = 'open'\nORDER"),
    Change("n.expires_at <= UTC_TIMESTAMP(3), d.attempts", "TRUE, d.attempts"),
    Change(
      "AND d.due_at <= UTC_TIMESTAMP(3)\n       LIMIT 1",
      "AND d.due_at > UTC_TIMESTAMP(3)\n       LIMIT 1"),
  ]

  /// Outcomes are recorded twice, or not as they are.
  private static let outcomes = [
    Change(
      "WHERE id = ? AND state = 'open' AND attempts = ?",
      "WHERE id = ? AND state = 'open' AND ? IS NOT NULL"),
    Change("SET attempts = attempts + ?, status", "SET attempts = attempts + (? IS NULL), status"),
    Change("+ INTERVAL ? MICROSECOND\nWHERE id", "+ INTERVAL (? IS NULL) SECOND\nWHERE id"),
    Change("SET d.state = 'delivered'", "SET d.state = 'dead'"),
    Change(
      "d.attempts = d.attempts + 1,\n  d.finished_at = UTC_TIMESTAMP(3)\nWHERE d.state = 'open'",
      "d.attempts = d.attempts + 1,\n  d.finished_at = UTC_TIMESTAMP(3)\nWHERE TRUE"),
    Change(
      "d.status = 200, d.reason = NULL, d.attempts = d.attempts + 1",
      "d.status = 200, d.reason = NULL"),
    Change("SET state = 'dead', attempts = attempts + 1,", "SET state = 'dead',"),
    Change(
      "finished_at = UTC_TIMESTAMP(3)\nWHERE id = ? AND state = 'open'",
      "finished_at = UTC_TIMESTAMP(3)\nWHERE id = ?"),
  ]
}

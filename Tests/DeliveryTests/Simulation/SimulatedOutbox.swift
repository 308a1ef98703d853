import Base
import MariaDB
import Store
import Support

/// Notifications in the outbox, with a clock that can be set: the times in the rows move, not the database's clock.
final class SimulatedOutbox {
  static let count = 200
  static let channel = Channel("apns")
  static let shards: [Int64] = [0, 1, 2]

  private let root: Connection
  let deliveries: Deliveries
  /// Time since the start; it may have been set back.
  private(set) var time = Duration.zero

  /// The state of a delivery in its row.
  struct Stored {
    let id: String
    let state: String
    let reason: String
    let attempts: Int64
    let losses: Int64
    let isExpired: Bool
  }

  /// - Parameter settings: those of a ``StillDatabase``.
  init(_ delivery: TestDelivery, through settings: ConnectionSettings) throws {
    root = try Connection(delivery.root)
    deliveries = Database(settings).records(at: .now(), from: .companion).deliveries
    try deliveries.addLeases(of: Self.channel)
  }

  /// Replaces all rows. Two notifications each go to one device; they expire after 5 minutes to a day.
  func fill(seed: UInt64) throws {
    time = .zero
    _ = try root.execute("DELETE FROM notifications")
    _ = try root.execute(
      "UPDATE delivery_leases SET claim_id = NULL, leased_until = '1970-01-01', batch = '[]'")
    _ = try root.execute(
      """
      INSERT INTO notifications (id, kind, event_key, collapse_id, body, expires_at)
      SELECT CONCAT('00000000-0000-4000-8000-', LPAD(seq, 12, '0')), 'turn', CONCAT('event ', seq),
        CONCAT('c', seq), 'x', TIMESTAMP'2030-01-01 00:00:00' + INTERVAL 300 + CRC32(CONCAT(?, ' ', seq)) % 86400 SECOND
      FROM seq_1_to_200
      """,
      [.integer(Int64(bitPattern: seed))])
    _ = try root.execute(
      """
      INSERT INTO deliveries (id, notification_id, token, shard, due_at)
      SELECT id, id, CONCAT('token ', RIGHT(id, 4) DIV 2), (RIGHT(id, 4) DIV 2) % 3,
        TIMESTAMP'2030-01-01 00:00:00' + INTERVAL RIGHT(id, 4) MICROSECOND
      FROM notifications
      """)
  }

  /// Sets the clock forward, or back if `span` is negative.
  func advance(by span: Duration) throws {
    time += span
    let span = Parameter.integer(span.milliseconds * 1000)
    _ = try root.execute(
      "UPDATE notifications SET expires_at = expires_at - INTERVAL ? MICROSECOND", [span])
    _ = try root.execute("UPDATE deliveries SET due_at = due_at - INTERVAL ? MICROSECOND", [span])
    _ = try root.execute(
      """
      UPDATE delivery_leases SET leased_until = leased_until - INTERVAL ? MICROSECOND
      WHERE leased_until > '1980-01-01'
      """,
      [span])
  }

  func rows() throws -> [Stored] {
    try root.rows(
      """
      SELECT d.id, d.state, COALESCE(d.reason, ''), d.attempts, d.losses, n.expires_at <= TIMESTAMP'2030-01-01 00:00:00'
      FROM deliveries d JOIN notifications n ON n.id = d.notification_id ORDER BY d.id
      """
    ) { row in
      Stored(
        id: row.text(0), state: row.text(1), reason: row.text(2), attempts: row.integer(3),
        losses: row.integer(4), isExpired: row.boolean(5))
    }
  }
}

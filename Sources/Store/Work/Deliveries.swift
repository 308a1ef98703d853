import Base
import Cryptography
import MariaDB

/// A notification that is new to the outbox.
package struct NewNotification: Sendable {
  package enum Kind: String, Sendable { case turn }

  package let kind: Kind
  /// Names the event: the same event again makes no second notification.
  package let eventKey: String
  /// At most 64 bytes.
  package let collapseID: String
  /// JSON, at most 4096 bytes.
  package let payload: [UInt8]
  /// After this it is neither sent nor kept by Apple.
  package let lifetime: Duration
  /// Hex.
  package let tokens: [String]

  package init(
    kind: Kind, eventKey: String, collapseID: String, payload: [UInt8], lifetime: Duration,
    tokens: [String]
  ) {
    self.kind = kind
    self.eventKey = eventKey
    self.collapseID = collapseID
    self.payload = payload
    self.lifetime = lifetime
    self.tokens = tokens
  }
}

/// One notification to one device, as a pass holds it.
package struct Delivery: Sendable {
  /// `apns-id`
  package let id: String
  package let token: String
  package let collapseID: String
  /// JSON
  package let payload: [UInt8]
  /// Unix seconds: `apns-expiration`.
  package let expiresAt: Int64
  /// By the database's clock.
  package let isExpired: Bool
  /// Before this one.
  package let attempts: Int64
  /// Of these, those whose sender ended without an outcome.
  package let losses: Int64
  /// Where Apple has taken the token, if that was not the host that is asked first.
  package let environment: PushEnvironment?
}

/// Apple has two hosts, and a token belongs to one of them.
package enum PushEnvironment: String, Sendable { case production, sandbox }

/// What became of a delivery that Apple or we did not refuse for good.
package enum DeliveryOutcome: Sendable, Equatable {
  case delivered
  /// Due again after `delay`; `countsAsAttempt` is false where Apple did not look at it.
  case later(delay: Duration, status: Int64?, reason: String, countsAsAttempt: Bool)
  /// Given up.
  case dead(status: Int64?, reason: String)
}

/// The lease of one shard of the outbox, held by one pass.
package struct ShardLease: Sendable {
  package let shard: Int64
  package let claimID: String
}

extension Connection {
  /// Puts a notification into the outbox, in the transaction of the event that it tells of.
  ///
  /// - Returns: false where the event has been told already; nothing is written then.
  func post(_ new: NewNotification, at now: Timestamp) throws(DatabaseError) -> Bool {
    let id = timeOrderedUUID(milliseconds: now.milliseconds)
    let inserted = try execute(
      """
      INSERT INTO notifications (id, kind, event_key, collapse_id, payload, expires_at)
      VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(3) + INTERVAL ? SECOND)
      ON DUPLICATE KEY UPDATE event_key = event_key
      """,
      [
        .text(id), .text(new.kind.rawValue), .text(new.eventKey), .text(new.collapseID),
        .bytes(new.payload), .integer(new.lifetime.components.seconds),
      ])
    guard inserted == 1 else { return false }
    for token in new.tokens {
      let delivery = timeOrderedUUID(milliseconds: now.milliseconds)
      _ = try execute(
        "INSERT INTO deliveries (id, notification_id, token, shard) VALUES (?, ?, ?, ?)",
        [.text(delivery), .text(id), .text(token), .integer(Int64(sha256(token)[0] & 15))])
    }
    return true
  }
}

extension Database {
  /// The shards that have work due, in no order.
  package func dueShards() throws -> [Int64] {
    try pool.read { connection in
      try connection.rows(
        """
        SELECT shard FROM delivery_leases l
        WHERE (SELECT 1 FROM deliveries d
               WHERE d.shard = l.shard AND d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3)
               LIMIT 1) = 1
        """
      ) { row in row.integer(0) }
    }
  }

  /// Claims a shard for two minutes, committed before the work begins.
  ///
  /// What the holder before had in hand when its lease ended without an outcome counts as
  /// attempted, and waits a while: a delivery that crashes its sender ends as dead letter after
  /// five such attempts.
  ///
  /// - Returns: nil where another pass holds it.
  package func claim(shard: Int64, as claimID: String) throws -> ShardLease? {
    try pool.transaction { connection in
      let claimed = try connection.execute(
        """
        UPDATE delivery_leases
        SET claim_id = ?, leased_until = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
        WHERE shard = ? AND leased_until <= UTC_TIMESTAMP(3)
        """,
        [.text(claimID), .integer(shard)])
      guard claimed == 1 else { return nil }
      try connection.inherit(shard: shard)
      return ShardLease(shard: shard, claimID: claimID)
    }
  }

  /// The next deliveries of the shard that are due, at most `limit`; renews the lease and writes
  /// down in it what is in hand. One that lost its senders three times comes alone, so that it takes
  /// no other along if it is what ends them.
  ///
  /// - Parameter topic: for which a token's environment is known.
  /// - Returns: nil where the lease has passed to another pass.
  package func nextBatch(
    of lease: ShardLease, limit: Int, topic: String
  ) throws -> [Delivery]? {
    try pool.transaction { connection in
      var deliveries = try connection.rows(
        """
        SELECT d.id, d.token, n.collapse_id, n.payload, CAST(UNIX_TIMESTAMP(n.expires_at) AS SIGNED),
          n.expires_at <= UTC_TIMESTAMP(3), d.attempts, d.losses,
          (SELECT MAX(r.environment) FROM ogs_registrations r WHERE r.device_token = d.token AND r.topic = ?)
        FROM deliveries d JOIN notifications n ON n.id = d.notification_id
        WHERE d.shard = ? AND d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3)
        ORDER BY d.due_at LIMIT ?
        """,
        [.text(topic), .integer(lease.shard), .integer(Int64(limit))]
      ) { row in Delivery(row: row) }
      if let suspect = deliveries.first(where: { $0.losses >= 3 }) { deliveries = [suspect] }
      return try connection.renew(lease, holding: deliveries.map(\.id)) ? deliveries : nil
    }
  }

  /// Records what became of a batch, if the lease is still one's own.
  ///
  /// - Returns: false where the lease has passed to another pass; nothing is written then.
  package func record(
    _ outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)], under lease: ShardLease
  ) throws -> Bool {
    try pool.transaction { connection in
      guard try connection.renew(lease, holding: []) else { return false }
      var delivered: [String] = []
      for (delivery, outcome) in outcomes {
        if outcome == .delivered {
          delivered.append(delivery.id)
        } else {
          try connection.record(outcome, of: delivery)
        }
      }
      try connection.recordDelivered(delivered)
      return true
    }
  }

  /// Removes a token that Apple calls dead, wherever it is registered, unless it has been registered
  /// again since.
  ///
  /// - Returns: the number of registrations that went.
  package func removeDeadToken(
    _ token: String, registeredBefore instant: Timestamp
  ) throws -> Int {
    try pool.transaction { connection in
      let turns = try connection.execute(
        "DELETE FROM ogs_registrations WHERE device_token = ? AND registered_at < ?",
        [.text(token), .time(instant)])
      let pushes = try connection.execute(
        "DELETE FROM push_tokens WHERE token = ? AND registered_at < ?",
        [.text(token), .time(instant)])
      return turns + pushes
    }
  }

  /// Keeps where Apple takes notifications of `topic` to a token, wherever the token is registered.
  package func keep(
    _ environment: PushEnvironment, topic: String, ofToken token: String
  ) throws {
    try pool.transaction { connection in
      _ = try connection.execute(
        "UPDATE ogs_registrations SET environment = ?, topic = ? WHERE device_token = ?",
        [.text(environment.rawValue), .text(topic), .text(token)])
    }
  }

  /// Gives the lease back before its time.
  package func release(_ lease: ShardLease) throws {
    try pool.write { connection in
      _ = try connection.execute(
        """
        UPDATE delivery_leases SET leased_until = UTC_TIMESTAMP(3)
        WHERE shard = ? AND claim_id = ? AND leased_until > UTC_TIMESTAMP(3)
        """,
        [.integer(lease.shard), .text(lease.claimID)])
    }
  }
}

extension Connection {
  /// Writes down what is in hand, for two minutes from now.
  ///
  /// The time always grows: a row that stays as it is does not count as affected, and the lease
  /// would seem lost.
  ///
  /// - Returns: false where the lease has passed to another pass.
  fileprivate func renew(
    _ lease: ShardLease, holding ids: [String]
  ) throws(DatabaseError) -> Bool {
    try execute(
      """
      UPDATE delivery_leases
      SET batch = ?, leased_until = GREATEST(leased_until + INTERVAL 1000 MICROSECOND,
        UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE)
      WHERE shard = ? AND claim_id = ? AND leased_until > UTC_TIMESTAMP(3)
      """,
      [.bytes(JSONWriter.array(of: ids)), .integer(lease.shard), .text(lease.claimID)]) == 1
  }

  /// Counts an attempt for whatever stands in the lease's batch, and empties it.
  fileprivate func inherit(shard: Int64) throws(DatabaseError) {
    _ = try execute(
      """
      UPDATE delivery_leases l
      JOIN JSON_TABLE(l.batch, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS held
      JOIN deliveries d ON d.id = held.id
      SET d.state = IF(d.losses + 1 >= 5, 'dead', 'open'),
        d.finished_at = IF(d.losses + 1 >= 5, UTC_TIMESTAMP(3), NULL),
        d.reason = 'no outcome', d.due_at = UTC_TIMESTAMP(3) + INTERVAL 5 SECOND,
        d.attempts = d.attempts + 1, d.losses = d.losses + 1
      WHERE l.shard = ? AND d.state = 'open'
      """,
      [.integer(shard)])
    _ = try execute(
      "UPDATE delivery_leases SET batch = '[]' WHERE shard = ?", [.integer(shard)])
  }

  fileprivate func recordDelivered(_ ids: [String]) throws(DatabaseError) {
    guard !ids.isEmpty else { return }
    _ = try execute(
      """
      UPDATE deliveries d JOIN JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS sent
        ON d.id = sent.id
      SET d.state = 'delivered', d.status = 200, d.reason = NULL, d.attempts = d.attempts + 1,
        d.finished_at = UTC_TIMESTAMP(3)
      WHERE d.state = 'open'
      """,
      [.bytes(JSONWriter.array(of: ids))])
  }

  fileprivate func record(
    _ outcome: DeliveryOutcome, of delivery: Delivery
  ) throws(DatabaseError) {
    switch outcome {
    case .delivered: try recordDelivered([delivery.id])
    case .later(let delay, let status, let reason, let counts):
      _ = try execute(
        """
        UPDATE deliveries
        SET attempts = attempts + ?, status = ?, reason = ?,
          due_at = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
        WHERE id = ? AND state = 'open' AND attempts = ?
        """,
        [
          .integer(counts ? 1 : 0), .integer(status), .text(reason.cut(to: 64)),
          .integer(delay.milliseconds * 1000), .text(delivery.id), .integer(delivery.attempts),
        ])
    case .dead(let status, let reason):
      _ = try execute(
        """
        UPDATE deliveries
        SET state = 'dead', attempts = attempts + 1, status = ?, reason = ?,
          finished_at = UTC_TIMESTAMP(3)
        WHERE id = ? AND state = 'open'
        """,
        [.integer(status), .text(reason.cut(to: 64)), .text(delivery.id)])
    }
  }
}

extension Delivery {
  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    token = row.text(1)
    collapseID = row.text(2)
    payload = row.bytes(3)
    expiresAt = row.integer(4)
    isExpired = row.boolean(5)
    attempts = row.integer(6)
    losses = row.integer(7)
    environment = row.optionalText(8).flatMap(PushEnvironment.init)
  }
}

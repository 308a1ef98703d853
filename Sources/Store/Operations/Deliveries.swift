package import Base
import MariaDB

/// One notification to one device, as a pass holds it. A class, because a pass keeps each one in several
/// places.
package final class Delivery: Sendable {
  package let id: String
  package let token: String
  /// The name of the notification's ``NewNotification/Kind``.
  let kind: String
  package let content: NotificationContent
  /// Unix seconds.
  package let expiresAt: Int64
  /// By the database's clock.
  package let isExpired: Bool
  /// Attempts before this one.
  package let attempts: Int64
  /// Attempts whose sender ended without an outcome.
  package let losses: Int64
  /// The app that registered the token; nil if it did not name itself.
  package let bundleID: String?

  init(row: borrowing Row) {
    id = row.text(0)
    token = row.text(1)
    expiresAt = row.integer(2)
    isExpired = row.boolean(3)
    attempts = row.integer(4)
    losses = row.integer(5)
    bundleID = row.optionalText(6)
    kind = row.text(7)
    content = NotificationContent(row: row, 8)
  }
}

/// A delivery that is due, for a look at it before it is sent.
package struct DueDelivery: Sendable {
  package let token: String
  package let collapseID: String
  package let channel: Channel
  /// The app that registered the token; nil if it did not name itself.
  package let bundleID: String?
}

/// The outcome of a delivery.
package enum DeliveryOutcome: Sendable, Equatable {
  case delivered
  /// Due again after `delay`; `countsAsAttempt` is false if no service has seen it.
  case later(delay: Duration, status: Int64?, reason: String, countsAsAttempt: Bool)
  /// Rejected for good.
  case dead(status: Int64?, reason: String)
  /// Given up by us without a rejection: it has expired, or was tried too often.
  case undelivered(reason: String)
}

/// The lease of one shard of a channel's deliveries, held by one pass.
package struct ShardLease: Sendable {
  package let channel: Channel
  package let shard: Int64
  package let claimID: String
}

/// The outbox of notifications as the companion uses it. It uses only the database's clock.
package struct Deliveries: Sendable {
  let records: Records

  /// Creates the leases of a channel that has none yet.
  package func addLeases(of channel: Channel) throws {
    let count = try records.read { transaction in
      try transaction.connection.row(
        "SELECT COUNT(*) FROM delivery_leases WHERE channel = ?", [.text(channel.name)]
      ) { row in row.integer(0) }
    }
    if count == 16 { return }
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        INSERT INTO delivery_leases (channel, shard)
        SELECT ?, shard
        FROM JSON_TABLE('[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]',
          '$[*]' COLUMNS (shard TINYINT UNSIGNED PATH '$')) AS shards
        ON DUPLICATE KEY UPDATE leased_until = leased_until
        """,
        [.text(channel.name)])
    }
  }

  /// The shards of the channel that have work due, in no order.
  package func dueShards(of channel: Channel) throws -> [Int64] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT shard FROM delivery_leases l
        WHERE l.channel = ? AND (SELECT 1 FROM deliveries d
               WHERE d.channel = l.channel AND d.shard = l.shard AND d.state = 'open'
                 AND d.due_at <= UTC_TIMESTAMP(3)
               LIMIT 1) = 1
        """,
        [.text(channel.name)]
      ) { row in row.integer(0) }
    }
  }

  /// Claims a shard for two minutes, committed before the work begins.
  ///
  /// Deliveries that the previous holder was sending when its lease ended count as attempted, and
  /// wait a while: a delivery that crashes its sender is given up after five such attempts.
  ///
  /// A lease that seems to end in more than three minutes was written before the clock was set
  /// back: it is void.
  ///
  /// - Returns: nil if another pass holds it.
  package func claim(
    shard: Int64, of channel: Channel, as claimID: String
  ) throws -> ShardLease? {
    let lease = ShardLease(channel: channel, shard: shard, claimID: claimID)
    return try records.transaction { transaction in
      let claimed = try transaction.connection.execute(
        """
        UPDATE delivery_leases
        SET claim_id = ?, leased_until = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
        WHERE channel = ? AND shard = ?
          AND (leased_until <= UTC_TIMESTAMP(3) OR leased_until > UTC_TIMESTAMP(3) + INTERVAL 3 MINUTE)
        """,
        [.text(claimID), .text(channel.name), .integer(shard)])
      guard claimed == 1 else { return nil }
      try transaction.deliveries.countLosses(under: lease)
      return lease
    }
  }

  /// The next deliveries of the shard that are due, at most `limit`, and at most one for each
  /// device, so that each device gets them in order. Renews the lease and stores this batch in it.
  /// A delivery that lost its senders three times comes alone, so that it cannot crash the sender
  /// of others.
  ///
  /// Omits deliveries that must not be sent (``Room/whatIsOver``), unless they have expired.
  ///
  /// The lease is locked before any read: a delivery is either withdrawn before, or it is in the
  /// batch.
  ///
  /// - Returns: nil if another pass has the lease.
  package func nextBatch(of lease: ShardLease, limit: Int) throws -> [Delivery]? {
    try records.transaction { transaction in
      try transaction.deliveries.lockLease(of: lease.channel, shard: lease.shard)
      var deliveries: [Delivery] = []
      var aside: Set<String> = []
      repeat {
        // One that was closed since this transaction's snapshot comes again.
        let due = try transaction.deliveries.due(under: lease, limit: limit)
          .filter { !aside.contains($0.id) }
        if due.isEmpty { break }
        aside.formUnion(try transaction.deliveries.setAside(due.filter { !$0.isExpired }))
        deliveries = due.filter { !aside.contains($0.id) }
      } while deliveries.isEmpty
      var tokens: Set<String> = []
      deliveries = deliveries.filter { tokens.insert($0.token).inserted }
      if let suspect = deliveries.first(where: { $0.losses >= 3 }) { deliveries = [suspect] }
      let isHeld = try transaction.deliveries.renew(lease, holding: deliveries.map(\.id))
      return isHeld ? deliveries : nil
    }
  }

  /// Records the outcomes of a batch, if the lease still holds.
  ///
  /// - Returns: false if another pass has the lease; then nothing is written.
  package func record(
    _ outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)], under lease: ShardLease
  ) throws -> Bool {
    try records.transaction { transaction in
      guard try transaction.deliveries.renew(lease, holding: []) else { return false }
      var delivered: [String] = []
      for (delivery, outcome) in outcomes {
        if outcome == .delivered {
          delivered.append(delivery.id)
        } else {
          try transaction.deliveries.record(outcome, of: delivery)
        }
      }
      try transaction.deliveries.recordDelivered(delivered)
      return true
    }
  }

  /// Removes a token that its channel reports as dead, wherever it is registered, unless it was
  /// registered again at `instant` or later.
  ///
  /// - Returns: the number of removed rows.
  package func removeDeadToken(_ token: String, registeredBefore instant: Timestamp) throws -> Int {
    try records.transaction { transaction in
      var removed = 0
      for statement in transaction.rooms.flatMap(\.whenTokenDies) {
        removed += try transaction.connection.execute(statement, [.text(token), .time(instant)])
      }
      if removed > 0 { try transaction.deadTokens.note(token) }
      return removed
    }
  }

  /// The number of these tokens, of which those of one person count only up to `limit`: anybody can
  /// register any number of invented tokens.
  package func count(_ tokens: [String], ofEachOwner limit: Int) throws -> Int {
    let owners = try records.read { transaction in
      try transaction.rooms.flatMap(\.ownersOfTokens).flatMap { statement in
        try transaction.connection.rows(statement, [.bytes(JSONWriter.array(of: tokens))]) { row in
          (token: row.text(0), owner: row.text(1))
        }
      }
    }
    let ownersByToken = Dictionary(grouping: owners, by: \.token)
    var counts: [String: Int] = [:]
    return tokens.count { token in
      guard let owners = ownersByToken[token] else { return true }
      guard let owner = owners.map(\.owner).first(where: { counts[$0, default: 0] < limit })
      else { return false }
      counts[owner, default: 0] += 1
      return true
    }
  }

  /// Ends the lease early. Nothing may be in flight under it: a batch that was read and never sent is
  /// due again at once, without a counted attempt.
  package func release(_ lease: ShardLease) throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        UPDATE delivery_leases SET batch = '[]', leased_until = UTC_TIMESTAMP(3)
        WHERE channel = ? AND shard = ? AND claim_id = ? AND leased_until > UTC_TIMESTAMP(3)
        """,
        [.text(lease.channel.name), .integer(lease.shard), .text(lease.claimID)])
    }
  }

  /// At most `limit` deliveries that are due and that no pass holds, the longest waiting first.
  package func due(limit: Int) throws -> [DueDelivery] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT d.token, n.collapse_id, d.channel, d.bundle_id
        FROM delivery_leases l
        JOIN deliveries d ON d.channel = l.channel AND d.shard = l.shard AND d.state = 'open'
          AND d.due_at <= UTC_TIMESTAMP(3)
        JOIN notifications n ON n.id = d.notification_id
        WHERE n.expires_at > UTC_TIMESTAMP(3)
          AND (l.leased_until <= UTC_TIMESTAMP(3)
            OR l.leased_until > UTC_TIMESTAMP(3) + INTERVAL 3 MINUTE)
        ORDER BY d.due_at LIMIT ?
        """,
        [.integer(Int64(limit))]
      ) { row in
        DueDelivery(
          token: row.text(0), collapseID: row.text(1), channel: Channel(row.text(2)),
          bundleID: row.optionalText(3))
      }
    }
  }
}

extension Records {
  package var deliveries: Deliveries { Deliveries(records: self) }
}

import Base
import MariaDB

/// Statements on `deliveries` and their leases.
struct DeliveryStatements: ~Copyable {
  let transaction: Transaction

  /// Locks a lease until the transaction ends.
  func lockLease(of channel: Channel, shard: Int64) throws(DatabaseError) {
    _ = try transaction.connection.row(
      "SELECT shard FROM delivery_leases WHERE channel = ? AND shard = ? FOR UPDATE",
      [.text(channel.name), .integer(shard)]
    ) { row in row.integer(0) }
  }

  /// Locks a lease until the transaction ends.
  ///
  /// - Returns: the deliveries that are being sent under it, or were when it ended.
  func lockBatch(of channel: Channel, shard: Int64) throws(DatabaseError) -> [String] {
    try lockLease(of: channel, shard: shard)
    return try transaction.connection.rows(
      """
      SELECT held.id FROM delivery_leases l
      JOIN JSON_TABLE(l.batch, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS held
      WHERE l.channel = ? AND l.shard = ? LOCK IN SHARE MODE
      """,
      [.text(channel.name), .integer(shard)]
    ) { row in row.text(0) }
  }

  /// The deliveries of the lease's shard that are due, at most `limit`, the longest waiting first.
  func due(under lease: ShardLease, limit: Int) throws(DatabaseError) -> [Delivery] {
    try transaction.connection.rows(
      """
      SELECT d.id, d.token, CAST(UNIX_TIMESTAMP(n.expires_at) AS SIGNED),
        n.expires_at <= UTC_TIMESTAMP(3), d.attempts, d.losses, d.bundle_id,
        n.kind, n.title, n.body, n.badge, n.sound, n.thread, n.category, n.is_urgent, n.data,
        n.collapse_id
      FROM deliveries d JOIN notifications n ON n.id = d.notification_id
      WHERE d.channel = ? AND d.shard = ? AND d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3)
      ORDER BY d.due_at, d.id LIMIT ?
      """,
      [.text(lease.channel.name), .integer(lease.shard), .integer(Int64(limit))]
    ) { row in Delivery(row: row) }
  }

  /// Stores the batch in the lease, and renews the lease for two minutes.
  ///
  /// The time always grows: an unchanged row does not count as affected, and the lease would seem
  /// lost. If the clock was set back, the lease gets a new time.
  ///
  /// - Returns: false if another pass has the lease.
  func renew(_ lease: ShardLease, holding ids: [String]) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE delivery_leases
      SET batch = ?, leased_until = IF(leased_until > UTC_TIMESTAMP(3) + INTERVAL 3 MINUTE,
        UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE,
        GREATEST(leased_until + INTERVAL 1000 MICROSECOND, UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE))
      WHERE channel = ? AND shard = ? AND claim_id = ? AND leased_until > UTC_TIMESTAMP(3)
      """,
      [
        .bytes(JSONWriter.array(of: ids)), .text(lease.channel.name), .integer(lease.shard),
        .text(lease.claimID),
      ]) == 1
  }

  /// Counts an attempt for each delivery in the lease's batch, and empties the batch.
  func countLosses(under lease: ShardLease) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE delivery_leases l
      JOIN JSON_TABLE(l.batch, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS held
      JOIN deliveries d ON d.id = held.id
      SET d.state = IF(d.losses + 1 >= 5, 'dead', 'open'),
        d.finished_at = IF(d.losses + 1 >= 5, UTC_TIMESTAMP(3), NULL),
        d.reason = 'no outcome', d.due_at = UTC_TIMESTAMP(3) + INTERVAL 5 SECOND,
        d.attempts = d.attempts + 1, d.losses = d.losses + 1
      WHERE l.channel = ? AND l.shard = ? AND d.state = 'open'
      """,
      [.text(lease.channel.name), .integer(lease.shard)])
    _ = try transaction.connection.execute(
      "UPDATE delivery_leases SET batch = '[]' WHERE channel = ? AND shard = ?",
      [.text(lease.channel.name), .integer(lease.shard)])
  }

  /// Closes the deliveries whose device may not get them any more, and those whose event has ended
  /// are due in a minute: their room closes or replaces them, and they do not stand before others.
  ///
  /// - Returns: the ids of both.
  func setAside(_ deliveries: [Delivery]) throws(DatabaseError) -> Set<String> {
    var aside: Set<String> = []
    for rule in transaction.rooms.flatMap(\.whatIsOver) {
      let ids = deliveries.filter { rule.kinds.contains($0.kind) }.map(\.id)
      if ids.isEmpty { continue }
      let over = try transaction.connection.rows(
        rule.statement, [.bytes(JSONWriter.array(of: ids))]
      ) { row in (id: row.text(0), isWithdrawn: row.boolean(1)) }
      try withdraw(over.filter(\.isWithdrawn).map(\.id))
      try postpone(over.filter { !$0.isWithdrawn }.map(\.id))
      aside.formUnion(over.map(\.id))
    }
    return aside
  }

  func withdraw(_ ids: [String]) throws(DatabaseError) {
    if ids.isEmpty { return }
    _ = try transaction.connection.execute(
      """
      UPDATE deliveries d JOIN JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS untrue
        ON d.id = untrue.id
      SET d.state = 'dead', d.reason = 'withdrawn', d.finished_at = UTC_TIMESTAMP(3)
      WHERE d.state = 'open'
      """,
      [.bytes(JSONWriter.array(of: ids))])
  }

  private func postpone(_ ids: [String]) throws(DatabaseError) {
    if ids.isEmpty { return }
    _ = try transaction.connection.execute(
      """
      UPDATE deliveries d JOIN JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS untrue
        ON d.id = untrue.id
      SET d.reason = 'not true any more', d.due_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
      WHERE d.state = 'open'
      """,
      [.bytes(JSONWriter.array(of: ids))])
  }

  func recordDelivered(_ ids: [String]) throws(DatabaseError) {
    guard !ids.isEmpty else { return }
    _ = try transaction.connection.execute(
      """
      UPDATE deliveries d JOIN JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS sent
        ON d.id = sent.id
      SET d.state = 'delivered', d.status = 200, d.reason = NULL, d.attempts = d.attempts + 1,
        d.finished_at = UTC_TIMESTAMP(3)
      WHERE d.state = 'open'
      """,
      [.bytes(JSONWriter.array(of: ids))])
    for statement in transaction.rooms.flatMap(\.whenDelivered) {
      _ = try transaction.connection.execute(statement, [.bytes(JSONWriter.array(of: ids))])
    }
  }

  func record(_ outcome: DeliveryOutcome, of delivery: Delivery) throws(DatabaseError) {
    switch outcome {
    case .delivered: try recordDelivered([delivery.id])
    case .later(let delay, let status, let reason, let counts):
      _ = try transaction.connection.execute(
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
    case .undelivered(let reason): try giveUp(delivery.id, because: reason)
    case .dead(let status, let reason): _ = try close(delivery.id, status: status, reason: reason)
    }
  }

  /// Ends a delivery that no service has rejected.
  func giveUp(_ id: String, because reason: String) throws(DatabaseError) {
    guard try close(id, status: nil, reason: reason) else { return }
    for statement in transaction.rooms.flatMap(\.whenGivenUp) {
      _ = try transaction.connection.execute(statement, [.bytes(JSONWriter.array(of: [id]))])
    }
  }

  /// - Returns: false if it was not open any more.
  private func close(_ id: String, status: Int64?, reason: String) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE deliveries
      SET state = 'dead', attempts = attempts + 1, status = ?, reason = ?,
        finished_at = UTC_TIMESTAMP(3)
      WHERE id = ? AND state = 'open'
      """,
      [.integer(status), .text(reason.cut(to: 64)), .text(id)]) == 1
  }

  /// The time for which the oldest open delivery of each channel has been due; omits channels
  /// without one. Reads the first entry of each shard in the index `deliveries_due`.
  func waits() throws(DatabaseError) -> [DeliveryWait] {
    let shards = try transaction.connection.rows(
      """
      SELECT channel, TIMESTAMPDIFF(SECOND, MIN(due_at), UTC_TIMESTAMP(3)) FROM deliveries
      WHERE state = 'open' GROUP BY channel, shard
      """
    ) { row in (channel: row.text(0), oldest: row.integer(1)) }
    return Dictionary(shards.map { ($0.channel, $0.oldest) }, uniquingKeysWith: max)
      .sorted { $0.key < $1.key }
      .map { DeliveryWait(channel: Channel($0.key), oldest: .seconds(max(0, $0.value))) }
  }
}

extension Transaction {
  var deliveries: DeliveryStatements { DeliveryStatements(transaction: Transaction(sharing: self)) }
}

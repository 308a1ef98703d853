import Cryptography
import MariaDB

/// Expired deliveries of channels by which a companion does not send. The run of a channel gives up
/// its own.
extension Deliveries {
  /// The channels by which a companion has sent, or may send.
  package func channels() throws -> [Channel] {
    try records.read { transaction in
      try transaction.connection.rows("SELECT DISTINCT channel FROM delivery_leases") { row in
        Channel(row.text(0))
      }
    }
  }

  /// Gives up the expired deliveries among the first `limit` of each shard, the longest due first.
  /// Leaves out shards that a pass holds.
  ///
  /// - Returns: how many.
  package func giveUpExpired(of channel: Channel, limit: Int) throws -> Int {
    var total = 0
    for shard in try dueShards(of: channel) {
      let isWorkLeft = try records.read { transaction in
        try !transaction.deliveries.expired(of: channel, shard: shard, among: limit).isEmpty
      }
      guard isWorkLeft else { continue }
      let claimID = timeOrderedUUID(milliseconds: records.now.milliseconds)
      guard let lease = try claim(shard: shard, of: channel, as: claimID) else { continue }
      total += try giveUpExpired(under: lease, among: limit)
      try release(lease)
    }
    return total
  }

  private func giveUpExpired(under lease: ShardLease, among limit: Int) throws -> Int {
    try records.transaction { transaction in
      guard try transaction.deliveries.renew(lease, holding: []) else { return 0 }
      let expired = try transaction.deliveries.expired(
        of: lease.channel, shard: lease.shard, among: limit)
      for id in expired { try transaction.deliveries.giveUp(id, because: "expired") }
      return expired.count
    }
  }
}

extension DeliveryStatements {
  /// The expired deliveries among the first `limit` that are due.
  fileprivate func expired(
    of channel: Channel, shard: Int64, among limit: Int
  ) throws(DatabaseError) -> [String] {
    try transaction.connection.rows(
      """
      SELECT d.id, n.expires_at <= UTC_TIMESTAMP(3)
      FROM deliveries d JOIN notifications n ON n.id = d.notification_id
      WHERE d.channel = ? AND d.shard = ? AND d.state = 'open' AND d.due_at <= UTC_TIMESTAMP(3)
      ORDER BY d.due_at LIMIT ?
      """,
      [.text(channel.name), .integer(shard), .integer(Int64(limit))]
    ) { row in row.boolean(1) ? row.text(0) : nil }.compactMap { $0 }
  }
}

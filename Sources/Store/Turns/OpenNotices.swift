import Base
import MariaDB

/// A notification to a user's device that is not delivered yet.
struct OpenNotice: Sendable {
  enum Kind: String {
    case turn, clock
    case ended = "game_ended"
  }

  /// The id of the delivery.
  let id: String
  let token: String
  let kind: Kind
  let games: Set<GameMark>
  let badge: Int64
  /// The notification waits for the end of quiet hours, and was never tried.
  let isDeferred: Bool
  /// A pass is sending it, or was sending it when it ended: the service may already have it.
  let isBeingSent: Bool
  /// The collapse id under which the device may already show it, because a pass ended before it
  /// recorded the outcome; nil if no pass did.
  let shownUnder: String?

  /// Whether the device may already show it, and all of its games still wait: if sent again, it
  /// replaces itself.
  func isShownAndTrue(_ waiting: Set<GameMark>) -> Bool {
    shownUnder != nil && waiting.isSuperset(of: games)
  }
}

extension TurnNotices {
  /// The open notifications of the user, locked until the transaction ends. Locks the leases first,
  /// as senders do: from now on no pass begins to send one of them.
  func openNotices() throws(DatabaseError) -> [OpenNotice] {
    let shards = try transaction.connection.rows(
      """
      SELECT DISTINCT d.channel, d.shard
      FROM turn_notices t JOIN deliveries d ON d.notification_id = t.notification_id
      WHERE t.ogs_user_id = ? AND t.created_at > UTC_TIMESTAMP(3) - INTERVAL 2 DAY
        AND d.state = 'open'
      ORDER BY d.channel, d.shard
      """,
      [.integer(user.id)]
    ) { row in (channel: row.text(0), shard: row.integer(1)) }
    var inHand: Set<String> = []
    for (channel, shard) in shards {
      inHand.formUnion(try transaction.deliveries.lockBatch(of: Channel(channel), shard: shard))
    }
    if shards.isEmpty { return [] }
    return try transaction.connection.rows(
      """
      SELECT d.id, d.token, n.kind, t.games, t.badge, IF(d.losses > 0, n.collapse_id, NULL),
        d.reason IS NULL AND d.due_at > UTC_TIMESTAMP(3)
      FROM turn_notices t JOIN notifications n ON n.id = t.notification_id
      JOIN deliveries d ON d.notification_id = t.notification_id
      WHERE t.ogs_user_id = ? AND t.created_at > UTC_TIMESTAMP(3) - INTERVAL 2 DAY
        AND d.state = 'open'
      FOR UPDATE
      """,
      [.integer(user.id)]
    ) { row in
      OpenNotice(
        id: row.text(0), token: row.text(1), kind: OpenNotice.Kind(rawValue: row.text(2)) ?? .ended,
        games: GameMark.list(row.text(3)), badge: row.integer(4),
        isDeferred: row.boolean(6), isBeingSent: inHand.contains(row.text(0)),
        shownUnder: row.optionalText(5))
    }
  }
}

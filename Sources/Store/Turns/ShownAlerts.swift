import Base
import MariaDB

/// A notification that a device shows, as far as we know.
struct ShownAlert: Sendable {
  let token: String
  /// The id by which the app finds it.
  let collapseID: String
  let kind: OpenNotice.Kind
  let games: Set<GameMark>

  /// - Parameter awaiting: the games in which the user must act, also paused ones: their
  ///   notifications stay.
  fileprivate func isOver(_ awaiting: [TurnGame]) -> Bool {
    // The next turn of the same game has the same collapse id.
    kind == .turn
      ? Set(awaiting.map(\.id)).isDisjoint(with: games.map(\.id))
      : Set(awaiting.map(GameMark.init)).isDisjoint(with: games)
  }
}

extension TurnNotices {
  /// The most alerts that one message removes; the next poll continues.
  private static var mostRemoved: Int { 30 }

  func shownAlerts() throws(DatabaseError) -> [ShownAlert] {
    try transaction.connection.rows(
      """
      SELECT device_token, collapse_id, kind, games FROM turn_alerts WHERE ogs_user_id = ?
      ORDER BY device_token, collapse_id
      """,
      [.integer(user.id)]
    ) { row in
      ShownAlert(
        token: row.text(0), collapseID: row.text(1),
        kind: OpenNotice.Kind(rawValue: row.text(2)) ?? .turn, games: GameMark.list(row.text(3)))
    }
  }

  /// Makes the devices remove the alerts whose games do not wait for the user any more.
  ///
  /// - Parameter games: all games of the user, as stored now.
  /// - Returns: the devices that get such a message, and with it the badge.
  func removeAlerts(
    from devices: [DeviceBadge], _ alerts: [ShownAlert], games: [TurnGame]
  ) throws -> Set<String> {
    let awaiting = games.filter { $0.currentPlayer == user.id }
    let over = alerts.filter { $0.isOver(awaiting) }
    var told: Set<String> = []
    for device in devices {
      let mine = Array(over.filter { $0.token == device.token }.prefix(Self.mostRemoved))
      if mine.isEmpty { continue }
      let removed = mine.map { alert in
        RemovedAlert(
          collapseID: alert.collapseID, lastMove: alert.games.map(\.lastMove).max() ?? 0)
      }
      try transaction.badges.post(.removal(of: removed, badge: device.waiting), to: device)
      try forget(mine)
      told.insert(device.token)
    }
    // Devices that are not registered any more get no message.
    let tokens = Set(devices.map(\.token))
    try forget(alerts.filter { !tokens.contains($0.token) })
    return told
  }

  private func forget(_ alerts: [ShownAlert]) throws(DatabaseError) {
    for alert in alerts {
      _ = try transaction.connection.execute(
        "DELETE FROM turn_alerts WHERE ogs_user_id = ? AND device_token = ? AND collapse_id = ?",
        [.integer(user.id), .text(alert.token), .text(alert.collapseID)])
    }
  }

  /// Remembers the alerts that devices show. Omits browsers: a push without a notification makes
  /// them end the subscription.
  ///
  /// Parameter: JSON array of the ids of deliveries.
  static var rememberAlerts: StaticString {
    """
    INSERT INTO turn_alerts (ogs_user_id, device_token, collapse_id, kind, games, shown_at)
    SELECT t.ogs_user_id, d.token, n.collapse_id, n.kind, t.games, UTC_TIMESTAMP(3)
    FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS sent
    JOIN deliveries d ON d.id = sent.id AND d.channel <> 'webpush'
    JOIN notifications n ON n.id = d.notification_id AND n.kind IN ('turn', 'clock')
    JOIN turn_notices t ON t.notification_id = d.notification_id AND t.ogs_user_id IS NOT NULL
    ORDER BY t.ogs_user_id, d.token, n.collapse_id
    ON DUPLICATE KEY UPDATE kind = VALUES(kind), games = VALUES(games), shown_at = VALUES(shown_at)
    """
  }
}

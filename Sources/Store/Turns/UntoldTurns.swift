import MariaDB

extension TurnNotices {
  /// Takes the turns whose notifications were given up before they reached the devices, by token.
  /// The caller tells those that still wait. Turns of a device in its quiet hours stay for later.
  func takeUntold(of devices: [DeviceBadge]) throws(DatabaseError) -> [String: Set<GameMark>] {
    var untold: [String: Set<GameMark>] = [:]
    for device in devices where device.hasUntold && silence(of: device) == nil {
      // Locked: turns that are given up from now on stay.
      let games = try transaction.connection.row(
        """
        SELECT untold FROM ogs_registrations
        WHERE ogs_user_id = ? AND device_token = ? AND untold IS NOT NULL FOR UPDATE
        """,
        [.integer(user.id), .text(device.token)]
      ) { row in GameMark.list(row.text(0)) }
      _ = try transaction.connection.execute(
        "UPDATE ogs_registrations SET untold = NULL WHERE ogs_user_id = ? AND device_token = ?",
        [.integer(user.id), .text(device.token)])
      untold[device.token] = games
    }
    return settings.kinds.contains(.turn) ? untold : [:]
  }
}

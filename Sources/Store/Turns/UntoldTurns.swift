import MariaDB

extension TurnNotices {
  /// Takes the turns whose notifications were given up before devices had them, by token; the caller tells what still
  /// waits of them. During quiet hours they stay for later.
  func takeUntold() throws(DatabaseError) -> [String: Set<GameMark>] {
    let isAny = try transaction.connection.row(
      "SELECT 1 FROM ogs_registrations WHERE ogs_user_id = ? AND untold IS NOT NULL LIMIT 1",
      [.integer(user.id)]
    ) { row in row.boolean(0) }
    if isAny == nil { return [:] }
    let settings = try transaction.turnSettings.find(of: user.id)
    if settings.isQuiet(at: transaction.now) { return [:] }
    // Locked: what is given up from now on stays.
    let untold = try transaction.connection.rows(
      """
      SELECT device_token, untold FROM ogs_registrations
      WHERE ogs_user_id = ? AND untold IS NOT NULL FOR UPDATE
      """,
      [.integer(user.id)]
    ) { row in (row.text(0), GameMark.list(row.text(1))) }
    _ = try transaction.connection.execute(
      "UPDATE ogs_registrations SET untold = NULL WHERE ogs_user_id = ? AND untold IS NOT NULL",
      [.integer(user.id)])
    guard settings.kinds.contains(.turn) else { return [:] }
    return Dictionary(untold) { first, _ in first }
  }
}

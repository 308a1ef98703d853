import MariaDB

extension CompanionRecords {
  /// Shortens waits that are too long because the database's clock was set back, as each room
  /// declares. The last pass then seems to have ended in the future.
  ///
  /// - Returns: whether the clock was set back.
  package func shortenWaitsIfClockWasSetBack() throws -> Bool {
    try records.transaction { transaction in
      // Ten seconds: another host may record a pass while this statement waits for its row.
      let futures = try transaction.connection.execute(
        """
        UPDATE companion_status SET last_pass_at = UTC_TIMESTAMP(3)
        WHERE last_pass_at > UTC_TIMESTAMP(3) + INTERVAL 10 SECOND
        """)
      guard futures > 0 else { return false }
      for statement in transaction.rooms.flatMap(\.whenClockIsSetBack) {
        _ = try transaction.connection.execute(statement)
      }
      return true
    }
  }
}

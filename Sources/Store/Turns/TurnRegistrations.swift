import Base
import MariaDB

/// Registrations of devices for the turns of users.
package struct TurnRegistrations: Sendable {
  let records: Records

  /// Registers a device, with its properties, for a user's turns. If the device is new, the user is
  /// due for a poll at once, unless online-go.com has refused the last poll.
  ///
  /// - Parameter key: SHA-256 of the API key that must still be the user's; nil if the request
  ///   shows none.
  /// - Throws: ``RateLimited`` at more than 60 an hour for one user.
  /// - Returns: false if the key is gone; then nothing is written.
  @discardableResult
  package func add(
    _ device: TurnDevice, of userID: Int64, by key: [UInt8]? = nil
  ) throws -> Bool {
    try records.transaction(rollingBack: Bool.self) { transaction in
      try transaction.limits.count(.turnRegistrations, of: String(userID))
      let statements = transaction.turnRegistrations
      let isNew = try statements.insert(device, of: userID)
      if let key, try !transaction.apiKeys.isLive(key) { throw RolledBack(outcome: false) }
      guard isNew else { return true }
      try statements.makeDue(userID)
      try transaction.audit.write(.turnsRegistered, detail: "OGS user \(userID)")
      return true
    }
  }

  /// Removes a device from a user's turns, if it is registered for them.
  package func remove(_ token: String, of userID: Int64) throws {
    try records.transaction { transaction in
      let deleted = try transaction.connection.execute(
        "DELETE FROM ogs_registrations WHERE ogs_user_id = ? AND device_token = ?",
        [.integer(userID), .text(token)])
      guard deleted == 1 else { return }
      try transaction.traces.eraseHosts(ofTokens: [token])
      try transaction.badges.markStale(token)
      try transaction.audit.write(.turnsUnregistered, detail: "OGS user \(userID)")
    }
  }

  /// The users that a device is registered for, in the order of registration. Empty unless `userID`
  /// is among them.
  package func users(ofDevice token: String, askedBy userID: Int64) throws -> [Int64] {
    let users = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT ogs_user_id FROM ogs_registrations WHERE device_token = ?
        ORDER BY registered_at, ogs_user_id
        """,
        [.text(token)]
      ) { row in row.integer(0) }
    }
    return users.contains(userID) ? users : []
  }
}

extension Records {
  package var turnRegistrations: TurnRegistrations { TurnRegistrations(records: self) }
}

/// Statements on `ogs_registrations`.
struct TurnRegistrationStatements: ~Copyable {
  let transaction: Transaction

  /// - Returns: whether the device is new to this user.
  fileprivate func insert(
    _ device: TurnDevice, of userID: Int64
  ) throws(DatabaseError) -> Bool {
    _ = try transaction.connection.execute(
      "INSERT IGNORE INTO ogs_users (id) VALUES (?)", [.integer(userID)])
    let isNew =
      try transaction.connection.execute(
        """
        INSERT INTO ogs_registrations (ogs_user_id, device_token, channel, sealed, language, bundle_id,
          registered_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON DUPLICATE KEY UPDATE channel = VALUES(channel), sealed = VALUES(sealed),
          language = COALESCE(VALUES(language), language),
          bundle_id = COALESCE(VALUES(bundle_id), bundle_id), registered_at = VALUES(registered_at)
        """,
        [
          .integer(userID), .text(device.token), .text(device.channel.name), .text(device.sealed),
          .text(device.language?.rawValue), .text(transaction.origin.bundleID),
          .time(transaction.now),
        ]) == 1
    if case .set(let quietHours) = device.quietHours {
      try set(quietHours, of: device.token, of: userID)
    }
    return isNew
  }

  private func set(
    _ quietHours: PhoneQuietHours?, of token: String, of userID: Int64
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE ogs_registrations SET quiet_from = ?, quiet_to = ?, time_zone = ?
      WHERE ogs_user_id = ? AND device_token = ?
      """,
      [
        .integer(quietHours?.hours.from), .integer(quietHours?.hours.to),
        .text(quietHours?.timeZone), .integer(userID), .text(token),
      ])
  }

  /// The quiet hours of each device of a user that can be reached; nil: the user's own apply there.
  func quietHours(of userID: Int64) throws(DatabaseError) -> [PhoneQuietHours?] {
    try transaction.connection.rows(
      """
      SELECT r.quiet_from, r.quiet_to, r.time_zone FROM ogs_registrations r
      WHERE r.ogs_user_id = ?
        AND EXISTS (SELECT 1 FROM delivery_leases s WHERE s.channel = r.channel AND s.shard = 0)
      """,
      [.integer(userID)]
    ) { row in PhoneQuietHours(row: row, 0) }
  }

  func makeDue(_ userID: Int64) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE ogs_users SET due_at = LEAST(due_at, UTC_TIMESTAMP(3))
      WHERE id = ? AND claim_id IS NULL AND failures = 0
      """,
      [.integer(userID)])
  }

  /// The device tokens that are registered for a user.
  func tokens(of userID: Int64) throws(DatabaseError) -> [String] {
    try transaction.connection.rows(
      "SELECT device_token FROM ogs_registrations WHERE ogs_user_id = ? ORDER BY device_token",
      [.integer(userID)]
    ) { row in row.text(0) }
  }
}

extension Transaction {
  var turnRegistrations: TurnRegistrationStatements {
    TurnRegistrationStatements(transaction: Transaction(sharing: self))
  }
}

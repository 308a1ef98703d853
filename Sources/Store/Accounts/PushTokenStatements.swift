import MariaDB

/// Statements on `push_tokens`. The device that a token belongs to is locked by
/// ``SessionStatements/lock(_:)`` or a statement like it.
struct PushTokenStatements: ~Copyable {
  let transaction: Transaction

  /// Gives `token` to the device, and takes it from any other. Its app is the one that sends the
  /// request; if the app does not name itself, the known app stays, because a token never moves to
  /// another app.
  func store(
    _ token: PushToken, platform: PushPlatform, of deviceID: String
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO push_tokens (token, device_id, platform, bundle_id, registered_at)
      VALUES (?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE device_id = VALUES(device_id), platform = VALUES(platform),
        bundle_id = COALESCE(VALUES(bundle_id), bundle_id), registered_at = VALUES(registered_at)
      """,
      [
        .text(token.text), .text(deviceID), .text(platform.rawValue),
        .text(transaction.origin.bundleID), .time(transaction.now),
      ])
  }

  /// Whether the device has a push token.
  func exist(on deviceID: String) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      "SELECT EXISTS (SELECT 1 FROM push_tokens WHERE device_id = ?)", [.text(deviceID)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Removes `token` if it is still the device's.
  func remove(_ token: String, of deviceID: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "DELETE FROM push_tokens WHERE token = ? AND device_id = ?",
      [.text(token), .text(deviceID)])
    try transaction.traces.eraseHosts(ofTokens: [token])
  }

  /// Removes the tokens of the device, all but `kept`. Lock the device before the first read of the transaction.
  ///
  /// One by one, by primary key: a range of the index by device would lock the gaps into which other
  /// devices' tokens go.
  func removeAll(of deviceID: String, except kept: PushToken? = nil) throws(DatabaseError) {
    let tokens = try transaction.connection.rows(
      "SELECT token FROM push_tokens WHERE device_id = ?", [.text(deviceID)]
    ) { row in row.text(0) }
    for token in tokens where token != kept?.text { try remove(token, of: deviceID) }
  }

  /// Removes the tokens of a device that signs out, also those that other rooms keep.
  ///
  /// Reads them FOR UPDATE: the transaction may have read before it waited for the device, and a token may
  /// have been set until then.
  func removeAll(ofSigningOut deviceID: String) throws(DatabaseError) {
    let tokens = try transaction.connection.rows(
      "SELECT token FROM push_tokens WHERE device_id = ? FOR UPDATE", [.text(deviceID)]
    ) { row in row.text(0) }
    for token in tokens { try remove(token, of: deviceID) }
    for statement in transaction.rooms.flatMap(\.whenDeviceSignsOut) {
      _ = try transaction.connection.execute(
        statement, [.time(transaction.now), .text(deviceID)])
    }
  }
}

extension Transaction {
  var pushTokens: PushTokenStatements {
    PushTokenStatements(transaction: Transaction(sharing: self))
  }
}

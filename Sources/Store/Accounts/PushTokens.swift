import Base
import MariaDB

/// A push token that is well-formed: 20 to 512 letters, digits, and `: _ - .`
package struct PushToken: Sendable, Equatable {
  package let text: String

  package init?(_ text: String) {
    let isWellFormed = text.utf8.allSatisfy { $0.isAlphanumeric || ":_-.".utf8.contains($0) }
    guard (20...512).contains(text.utf8.count), isWellFormed else { return nil }
    self.text = text
  }
}

/// Push tokens as requests use them.
package struct PushTokens: Sendable {
  let records: Records

  /// Makes `token` the only push token of the caller's device.
  ///
  /// - Parameter platform: nil means the device's own.
  /// - Throws: ``Refusal``.
  package func set(_ token: PushToken, platform: DevicePlatform?, by caller: Caller) throws {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let device = try transaction.sessions.live(caller).deviceID
      let platform = try platform ?? transaction.devices.platform(of: device)
      try transaction.pushTokens.removeAll(of: device, except: token)
      try transaction.pushTokens.store(token, platform: platform, of: device)
      try transaction.audit.write(.pushTokenSet, account: caller.accountID, device: device)
    }
  }

  /// Removes the push tokens of a device of the caller's account.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false where the account has no such device.
  package func clear(ofDevice clientDeviceID: String, by caller: Caller) throws -> Bool {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let locked = try transaction.devices.lock(clientDeviceID, of: caller.accountID)
      _ = try transaction.sessions.live(caller)
      guard let device = locked else { return false }
      try transaction.pushTokens.removeAll(of: device)
      try transaction.audit.write(.pushTokenRemoved, account: caller.accountID, device: device)
      return true
    }
  }
}

extension Records {
  package var pushTokens: PushTokens { PushTokens(records: self) }
}

/// Statements on `push_tokens`. The device that a token belongs to is locked by
/// ``SessionStatements/lock(_:)`` or a statement like it.
struct PushTokenStatements: ~Copyable {
  let transaction: Transaction

  /// Gives `token` to the device, whoever had it before.
  func store(
    _ token: PushToken, platform: DevicePlatform, of deviceID: String
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO push_tokens (token, device_id, platform, registered_at) VALUES (?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE device_id = VALUES(device_id), platform = VALUES(platform),
        registered_at = VALUES(registered_at)
      """,
      [
        .text(token.text), .text(deviceID), .text(platform.rawValue), .time(transaction.now),
      ])
  }

  /// Removes `token` if it is still the device's.
  func remove(_ token: String, of deviceID: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "DELETE FROM push_tokens WHERE token = ? AND device_id = ?",
      [.text(token), .text(deviceID)])
  }

  /// Removes the tokens of the device, all but `kept`.
  ///
  /// One by one, by primary key: a range of the index by device would lock the gaps into which other
  /// devices' tokens go.
  func removeAll(of deviceID: String, except kept: PushToken? = nil) throws(DatabaseError) {
    let tokens = try transaction.connection.rows(
      "SELECT token FROM push_tokens WHERE device_id = ?", [.text(deviceID)]
    ) { row in row.text(0) }
    for token in tokens where token != kept?.text { try remove(token, of: deviceID) }
  }
}

extension Transaction {
  var pushTokens: PushTokenStatements {
    PushTokenStatements(transaction: Transaction(sharing: self))
  }
}

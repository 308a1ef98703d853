import MariaDB

/// A push token that is well-formed: 20 to 512 letters, digits, and `: _ - .`
package struct PushToken: Sendable, Equatable {
  package let text: String

  package init?(_ text: String) {
    let isTokenByte = { (byte: UInt8) in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
      default: ":_-.".utf8.contains(byte)
      }
    }
    guard (20...512).contains(text.utf8.count), text.utf8.allSatisfy(isTokenByte) else {
      return nil
    }
    self.text = text
  }
}

extension Connection {
  /// Gives `token` to the device, whoever had it before.
  mutating func store(
    _ token: PushToken, platform: DevicePlatform, of deviceID: String, at now: Timestamp
  ) throws(DatabaseError) {
    _ = try execute(
      """
      INSERT INTO push_tokens (token, device_id, platform, registered_at) VALUES (?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE device_id = VALUES(device_id), platform = VALUES(platform),
        registered_at = VALUES(registered_at)
      """,
      [.text(token.text), .text(deviceID), .text(platform.rawValue), .time(now)])
  }

  /// Removes `token` if it is still the device's.
  mutating func removePushToken(_ token: String, of deviceID: String) throws(DatabaseError) {
    _ = try execute(
      "DELETE FROM push_tokens WHERE token = ? AND device_id = ?",
      [.text(token), .text(deviceID)])
  }

  /// Removes the tokens of the device, all but `kept`.
  ///
  /// By primary key, one by one: a range of the index by device would lock the gaps into which other
  /// devices' tokens go.
  mutating func removePushTokens(
    of deviceID: String, except kept: PushToken? = nil
  ) throws(DatabaseError) {
    let tokens = try rows(
      "SELECT token FROM push_tokens WHERE device_id = ?", [.text(deviceID)]
    ) { row in row.text(0) }
    for token in tokens where token != kept?.text {
      try removePushToken(token, of: deviceID)
    }
  }
}

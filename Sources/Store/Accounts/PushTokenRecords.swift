package import Base
import MariaDB

/// A push token of an account's device, as administrators see it.
package struct PushTokenRecord: Sendable {
  package let token: String
  package let platform: PushPlatform
  package let registeredAt: Timestamp
  package let deviceID: String
  package let accountID: String
  package let email: String
  /// Whether the device's preferences allow pushes.
  package let takesPushes: Bool

  /// The columns token, platform, registered_at, device id, account id, email, whether pushes are on, in
  /// that order from 0.
  fileprivate init(row: borrowing Row) {
    token = row.text(0)
    platform = PushPlatform(row: row, 1)
    registeredAt = row.timestamp(2)
    deviceID = row.text(3)
    accountID = row.text(4)
    email = row.text(5)
    takesPushes = row.boolean(6)
  }
}

/// Push tokens as administrators see them.
extension PushTokens {
  /// At most `limit` tokens that begin with `prefix`, which has only characters of tokens.
  package func find(beginning prefix: String, limit: Int) throws -> [PushTokenRecord] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT t.token, t.platform, t.registered_at, d.id, a.id, a.email,
          COALESCE(p.version = 0 OR p.push_enabled, TRUE)
        FROM push_tokens t JOIN devices d ON d.id = t.device_id JOIN accounts a ON a.id = d.account_id
        LEFT JOIN device_preferences p ON p.device_id = d.id
        WHERE t.token BETWEEN ? AND CONCAT(?, '~') ORDER BY t.token LIMIT ?
        """,
        [.text(prefix), .text(prefix), .integer(Int64(limit))]
      ) { row in PushTokenRecord(row: row) }
    }
  }

  /// At most `limit` tokens of the account's devices.
  package func list(of account: String, limit: Int) throws -> [PushTokenRecord] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT t.token, t.platform, t.registered_at, d.id, a.id, a.email,
          COALESCE(p.version = 0 OR p.push_enabled, TRUE)
        FROM accounts a JOIN devices d ON d.account_id = a.id JOIN push_tokens t ON t.device_id = d.id
        LEFT JOIN device_preferences p ON p.device_id = d.id
        WHERE a.id = ? ORDER BY t.token LIMIT ?
        """,
        [.text(account), .integer(Int64(limit))]
      ) { row in PushTokenRecord(row: row) }
    }
  }

  /// The limits that keep devices of the account from registering tokens now.
  package func limitsUsedUp(by account: String) throws -> [CountedLimit] {
    try records.countedLimits.usedUp([.pushTokens], of: account)
  }
}

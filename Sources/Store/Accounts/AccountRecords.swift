package import Base
import MariaDB

/// An account as administrators see it: without the name.
package struct AccountRecord: Sendable {
  package let id: String
  package let email: String
  package let createdAt: Timestamp
  /// When the e-mail address was first proven; nil: it is not.
  package let provenAt: Timestamp?
  /// When an administrator banned the account, and why; nil: it is not banned.
  package let bannedAt: Timestamp?
  package let banReason: String?

  /// The columns id, email, created_at, email_verified_at, banned_at, ban_reason, in that order from 0.
  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    email = row.text(1)
    createdAt = row.timestamp(2)
    provenAt = row.optionalTimestamp(3)
    bannedAt = row.optionalTimestamp(4)
    banReason = row.optionalText(5)
  }
}

/// A device of an account as administrators see it: without the name.
package struct DeviceRecord: Sendable {
  package let id: String
  package let platform: DevicePlatform
  package let createdAt: Timestamp
  package let lastUsedAt: Timestamp
  package let revokedAt: Timestamp?
  /// Whether the device's preferences allow pushes.
  package let takesPushes: Bool
}

/// A sign-in that has not ended.
package struct SessionRecord: Sendable {
  package let id: String
  package let deviceID: String
  package let startedAt: Timestamp
  /// When the app last got new tokens.
  package let refreshedAt: Timestamp
  package let expiresAt: Timestamp
}

/// Accounts as administrators see them.
extension Accounts {
  /// At most `limit` accounts whose e-mail addresses sort after `email`, in that order.
  package func list(after email: String, limit: Int) throws -> FirstRows<AccountRecord> {
    let found = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id, email, created_at, email_verified_at, banned_at, ban_reason FROM accounts FORCE INDEX (accounts_email)
        WHERE email > ? ORDER BY email LIMIT ?
        """,
        [.text(email), .integer(Int64(limit) + 1)]
      ) { row in AccountRecord(row: row) }
    }
    return FirstRows(found, limit: limit)
  }

  /// The account with this e-mail address, which is compared in lower case.
  package func find(_ email: String) throws -> AccountRecord? {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT id, email, created_at, email_verified_at, banned_at, ban_reason FROM accounts
        WHERE email = ?
        """,
        [.text(email.lowercased())]
      ) { row in AccountRecord(row: row) }
    }
  }

  /// At most `limit` devices of the account, the last used one first; also revoked ones.
  package func devices(of account: String, limit: Int) throws -> FirstRows<DeviceRecord> {
    let found = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT d.id, d.platform, d.created_at, d.last_used_at, d.revoked_at,
          COALESCE(p.version = 0 OR p.push_enabled, TRUE)
        FROM devices d LEFT JOIN device_preferences p ON p.device_id = d.id
        WHERE d.account_id = ? ORDER BY d.last_used_at DESC, d.id LIMIT ?
        """,
        [.text(account), .integer(Int64(limit) + 1)]
      ) { row in
        DeviceRecord(
          id: row.text(0), platform: DevicePlatform(row: row, 1), createdAt: row.timestamp(2),
          lastUsedAt: row.timestamp(3), revokedAt: row.optionalTimestamp(4),
          takesPushes: row.boolean(5))
      }
    }
    return FirstRows(found, limit: limit)
  }

  /// At most `limit` live sessions of the account, the newest first.
  package func sessions(of account: String, limit: Int) throws -> FirstRows<SessionRecord> {
    let found = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT s.id, s.device_id, s.created_at, s.rotated_at, s.expires_at
        FROM devices d JOIN sessions s ON s.device_id = d.id
        WHERE d.account_id = ? AND s.ended_at IS NULL AND s.expires_at > ?
        ORDER BY s.created_at DESC, s.id LIMIT ?
        """,
        [.text(account), .time(records.now), .integer(Int64(limit) + 1)]
      ) { row in
        SessionRecord(
          id: row.text(0), deviceID: row.text(1), startedAt: row.timestamp(2),
          refreshedAt: row.timestamp(3), expiresAt: row.timestamp(4))
      }
    }
    return FirstRows(found, limit: limit)
  }
}

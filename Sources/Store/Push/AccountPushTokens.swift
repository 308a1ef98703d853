import Base
import MariaDB

extension PushTokens {
  /// The tokens of the account with this e-mail address, as targets of an administrator's test. At most 500, the newest
  /// first.
  package func targets(ofEmail email: String) throws -> [PushTarget] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT t.token, t.platform, p.version = 0 OR p.push_enabled, t.bundle_id
        FROM accounts a
        JOIN devices d ON d.account_id = a.id
        JOIN push_tokens t ON t.device_id = d.id
        JOIN device_preferences p ON p.device_id = d.id
        WHERE a.email = ? ORDER BY t.registered_at DESC, t.token LIMIT 500
        """,
        [.text(email)]
      ) { row in
        PushTarget(
          token: row.text(0), platform: PushPlatform(row: row, 1), registeredAt: .unknown,
          isEnabled: row.boolean(2), bundleID: row.optionalText(3))
      }
    }
  }

  /// One token as the target of a test; a token that is not registered here counts as Apple's.
  package func target(_ token: PushToken) throws -> PushTarget {
    let known = try records.read { transaction in
      try transaction.connection.row(
        "SELECT platform, bundle_id FROM push_tokens WHERE token = ?", [.text(token.text)]
      ) { row in (platform: PushPlatform(row: row, 0), bundleID: row.optionalText(1)) }
    }
    return PushTarget(
      token: token.text, platform: known?.platform ?? .ios, registeredAt: .unknown,
      isEnabled: true, bundleID: known?.bundleID)
  }
}

extension Timestamp {
  /// Earlier than any registration. If Apple rejects the token, only an earlier registration would
  /// be removed: it stays, because an administrator's test may be wrong itself.
  fileprivate static let unknown = Timestamp(milliseconds: 0)
}

import Base
import MariaDB

/// The tokens to which a test goes, and what the search for them removed.
package struct PushTargets: Sendable {
  /// The newest registration first.
  package let targets: [PushTest.Target]
  /// Malformed tokens, which only an administrator can have stored.
  package let malformedRemoved: Int
  /// Tokens of devices that the account has revoked: the registration came too late.
  package let staleRemoved: Int
}

/// Tests of push as requests use them.
package struct PushTests: Sendable {
  let records: Records

  /// The companion that was seen last; nil where none ever was.
  ///
  /// - Throws: ``Refusal``.
  package func companionStatus(for caller: Caller) throws -> CompanionStatus? {
    try records.read { transaction in
      _ = try transaction.sessions.live(caller)
      return try transaction.upkeep.companionStatus()
    }
  }

  /// The tokens of the caller's account, or `token` alone if the account has it. At most 500, the
  /// newest.
  ///
  /// - Throws: ``Refusal``; ``RateLimited`` at more than 300 tokens a minute of one account. The first
  ///   test of a minute may have more.
  package func targets(for caller: Caller, token: PushToken?) throws -> PushTargets {
    try records.transaction { transaction in
      _ = try transaction.sessions.live(caller)
      let account = Parameter.text(caller.accountID)
      let malformed =
        token == nil ? try transaction.pushTokens.removeMalformed(of: caller.accountID) : 0
      let stale = try transaction.connection.execute(
        """
        DELETE t FROM push_tokens t JOIN devices d ON d.id = t.device_id
        WHERE d.account_id = ? AND d.revoked_at IS NOT NULL AND t.token = COALESCE(?, t.token)
        """,
        [account, .text(token?.text)])
      let targets = try transaction.connection.rows(
        """
        SELECT t.token, t.platform, t.registered_at, p.version = 0 OR p.push_enabled
        FROM devices d
        JOIN push_tokens t ON t.device_id = d.id
        JOIN device_preferences p ON p.device_id = d.id
        WHERE d.account_id = ? AND d.revoked_at IS NULL AND t.token = COALESCE(?, t.token)
        ORDER BY t.registered_at DESC, t.token LIMIT 500
        """,
        [account, .text(token?.text)]
      ) { row in PushTest.Target(row: row, isNamed: token != nil) }
      if !targets.isEmpty {
        try transaction.limits.count(
          .pushTestTokens, of: caller.accountID, times: Int64(targets.count))
      }
      return PushTargets(targets: targets, malformedRemoved: malformed, staleRemoved: stale)
    }
  }
}

extension Limit {
  fileprivate static let pushTestTokens = Limit(
    name: "push-test", allowed: 300, window: .seconds(60))
}

extension Records {
  package var pushTests: PushTests { PushTests(records: self) }
}

extension PushTest.Target {
  fileprivate init(row: borrowing Row, isNamed: Bool) {
    self.init(
      token: row.text(0), platform: PushPlatform(row: row, 1), registeredAt: row.timestamp(2),
      isEnabled: isNamed || row.boolean(3))
  }
}

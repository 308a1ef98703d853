import Base
import MariaDB

/// The tokens for a test, and the numbers of tokens that the search for them removed.
package struct PushTargets: Sendable {
  /// The newest registration first.
  package let targets: [PushTarget]
  /// Malformed tokens, which only an administrator can have stored.
  package let malformedRemoved: Int
  /// Tokens of devices that the account has revoked: the registration came too late.
  package let staleRemoved: Int
}

/// Tests of push as requests use them.
package struct DemoPushes: Sendable {
  let records: Records

  /// The companion that was seen last; nil if none was ever seen.
  ///
  /// - Throws: ``Refusal``.
  package func companionStatus(for caller: Caller) throws -> CompanionStatus? {
    try records.read { transaction in
      _ = try transaction.sessions.live(caller)
      return try transaction.companions.companionStatus()
    }
  }

  /// The tokens of the caller's account, or only `token` if the account has it, on devices that are
  /// signed in. At most 500, the newest.
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
        SELECT t.token, t.platform, t.registered_at, p.version = 0 OR p.push_enabled, t.bundle_id
        FROM devices d
        JOIN push_tokens t ON t.device_id = d.id
        JOIN device_preferences p ON p.device_id = d.id
        WHERE d.account_id = ? AND d.revoked_at IS NULL AND t.token = COALESCE(?, t.token)
          AND EXISTS (SELECT 1 FROM sessions s
            WHERE s.device_id = d.id AND s.ended_at IS NULL AND s.expires_at > ?)
        ORDER BY t.registered_at DESC, t.token LIMIT 500
        """,
        [account, .text(token?.text), .time(transaction.now)]
      ) { row in PushTarget(row: row, isNamed: token != nil) }
      if !targets.isEmpty {
        try transaction.limits.count(
          .demoPushTokens, of: caller.accountID, times: Int64(targets.count))
      }
      return PushTargets(targets: targets, malformedRemoved: malformed, staleRemoved: stale)
    }
  }

  /// The tokens of the test that its account has now, on devices that are signed in, in the test's
  /// order, each once.
  package func targets(of test: DemoPush) throws -> [PushTarget] {
    var seen: Set<String> = []
    let tokens = test.tokens.prefix(DemoPush.maximumTokens).filter { seen.insert($0).inserted }
    return try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT t.token, t.platform, t.registered_at, p.version = 0 OR p.push_enabled, t.bundle_id
        FROM JSON_TABLE(?, '$[*]'
          COLUMNS (number FOR ORDINALITY, token VARCHAR(512) PATH '$')) AS wanted
        STRAIGHT_JOIN push_tokens t ON t.token = wanted.token
        JOIN devices d ON d.id = t.device_id
        JOIN device_preferences p ON p.device_id = d.id
        WHERE d.account_id = ? AND d.revoked_at IS NULL
          AND EXISTS (SELECT 1 FROM sessions s
            WHERE s.device_id = d.id AND s.ended_at IS NULL AND s.expires_at > ?)
        ORDER BY wanted.number
        """,
        [.bytes(JSONWriter.array(of: tokens)), .text(test.accountID), .time(transaction.now)]
      ) { row in PushTarget(row: row, isNamed: test.isNamed) }
    }
  }

  /// Counts the tokens of a test by an account, and by the site.
  ///
  /// - Returns: whether the test may be sent.
  package func admit(_ count: Int, of account: String) throws -> Bool {
    try records.transaction { transaction in
      let limits = transaction.jobLimits
      let hits = Int64(count)
      guard try limits.admit(.demoPush, of: account, times: hits) else { return false }
      return try limits.admit(.demoPushOfSite, of: "site", times: hits)
    }
  }
}

extension JobLimit {
  fileprivate static let demoPush = JobLimit(name: "push-test", allowed: 600, window: .seconds(60))
  /// Everyone can make accounts, so all of them together have a limit too.
  fileprivate static let demoPushOfSite = JobLimit(
    name: "push-test-site", allowed: 6_000, window: .seconds(60))
}

extension Limit {
  package static let demoPushTokens = Limit(
    name: "push-test", allowed: 300, window: .seconds(60),
    counts: "tokens of tests; the first test may have more,", per: "account")
}

extension Records {
  package var demoPushes: DemoPushes { DemoPushes(records: self) }
}

extension PushTarget {
  fileprivate init(row: borrowing Row, isNamed: Bool) {
    self.init(
      token: row.text(0), platform: PushPlatform(row: row, 1), registeredAt: row.timestamp(2),
      isEnabled: isNamed || row.boolean(3), bundleID: row.optionalText(4))
  }
}

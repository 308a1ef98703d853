package import Base
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

/// What `unregister` removed.
package struct RemovedPushTokens: Sendable, Equatable {
  /// Well-formed ones.
  package let tokens: Int
  /// Malformed ones, which only an administrator can have put there.
  package let malformed: Int
}

/// The tokens to which a test goes, and what was cleared away in looking for them.
package struct PushTargets: Sendable {
  /// The newest registration first.
  package let targets: [PushTest.Target]
  /// Malformed tokens, which only an administrator can have put there.
  package let malformedRemoved: Int
  /// Tokens of devices that the account has revoked: the registration came too late.
  package let staleRemoved: Int
}

extension Database {
  /// Lets the caller in, and does nothing else.
  ///
  /// - Throws: ``Refusal``.
  package func admit(_ caller: Caller, at now: Timestamp) throws {
    try pool.read { connection in _ = try connection.live(caller, at: now) }
  }

  /// The companion that was seen last, if the caller may come in; nil where none ever was.
  ///
  /// - Throws: ``Refusal``.
  package func companionStatus(for caller: Caller, at now: Timestamp) throws -> CompanionStatus? {
    try pool.read { connection in
      _ = try connection.live(caller, at: now)
      return try connection.companionStatus()
    }
  }

  /// Adds `token` to those of the caller's device, whoever had it before. A device keeps its newest
  /// 100.
  ///
  /// - Throws: ``Refusal``.
  package func register(
    _ token: PushToken, platform: DevicePlatform, by caller: Caller, at now: Timestamp
  ) throws {
    try pool.transaction { connection in
      try connection.hold(caller)
      let device = try connection.live(caller, at: now).deviceID
      try connection.store(token, platform: platform, of: device, at: now)
      _ = try connection.execute(
        """
        DELETE FROM push_tokens WHERE device_id = ? AND registered_at <
          (SELECT registered_at FROM push_tokens WHERE device_id = ?
           ORDER BY registered_at DESC LIMIT 1 OFFSET 99)
        """,
        [.text(device), .text(device)])
      try connection.audit(
        .pushTokenSet, account: caller.accountID, device: device, from: caller.origin, at: now)
    }
  }

  /// Removes `token`, or all tokens, of the caller's account.
  ///
  /// - Throws: ``Refusal``.
  package func unregister(
    _ token: PushToken?, by caller: Caller, at now: Timestamp
  ) throws -> RemovedPushTokens {
    try pool.transaction { connection in
      let device = try connection.live(caller, at: now).deviceID
      let malformed =
        token == nil ? try connection.removeMalformedPushTokens(of: caller.accountID) : 0
      let removed = try connection.execute(
        """
        DELETE t FROM push_tokens t JOIN devices d ON d.id = t.device_id
        WHERE d.account_id = ? AND t.token = COALESCE(?, t.token)
        """,
        [.text(caller.accountID), .text(token?.text)])
      try connection.audit(
        .pushTokenRemoved, account: caller.accountID, device: device,
        detail: "\(removed + malformed) of the account", from: caller.origin, at: now)
      return RemovedPushTokens(tokens: removed, malformed: malformed)
    }
  }

  /// The tokens of the caller's account, or `token` alone if it is the account's. At most 500, the
  /// newest.
  ///
  /// - Throws: ``Refusal``.
  package func pushTargets(
    for caller: Caller, token: PushToken?, at now: Timestamp
  ) throws -> PushTargets {
    try pool.transaction { connection in
      _ = try connection.live(caller, at: now)
      let account = Parameter.text(caller.accountID)
      let malformed =
        token == nil ? try connection.removeMalformedPushTokens(of: caller.accountID) : 0
      let stale = try connection.execute(
        """
        DELETE t FROM push_tokens t JOIN devices d ON d.id = t.device_id
        WHERE d.account_id = ? AND d.revoked_at IS NOT NULL AND t.token = COALESCE(?, t.token)
        """,
        [account, .text(token?.text)])
      let targets = try connection.rows(
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
      return PushTargets(targets: targets, malformedRemoved: malformed, staleRemoved: stale)
    }
  }

  /// Removes a token that Apple has called dead, unless it was registered again at `instant` or
  /// later.
  ///
  /// - Returns: whether it was there.
  package func removePushToken(_ token: String, registeredBefore instant: Timestamp) throws -> Bool
  {
    try pool.write { connection in
      try connection.execute(
        "DELETE FROM push_tokens WHERE token = ? AND registered_at < ?",
        [.text(token), .time(instant)]) == 1
    }
  }
}

extension Connection {
  /// Gives `token` to the device, which is held, whoever had it before.
  func store(
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
  func removePushToken(_ token: String, of deviceID: String) throws(DatabaseError) {
    _ = try execute(
      "DELETE FROM push_tokens WHERE token = ? AND device_id = ?",
      [.text(token), .text(deviceID)])
  }

  /// Removes the tokens of the device, which is held, all but `kept`.
  ///
  /// By primary key, one by one: a range of the index by device would lock the gaps into which other
  /// devices' tokens go.
  func removePushTokens(
    of deviceID: String, except kept: PushToken? = nil
  ) throws(DatabaseError) {
    let tokens = try rows(
      "SELECT token FROM push_tokens WHERE device_id = ?", [.text(deviceID)]
    ) { row in row.text(0) }
    for token in tokens where token != kept?.text {
      try removePushToken(token, of: deviceID)
    }
  }

  /// - Returns: how many tokens of the account were not what ``PushToken`` takes.
  fileprivate func removeMalformedPushTokens(
    of account: String
  ) throws(DatabaseError) -> Int {
    try execute(
      #"""
      DELETE t FROM push_tokens t JOIN devices d ON d.id = t.device_id
      WHERE d.account_id = ? AND t.token NOT REGEXP '^[A-Za-z0-9:_.-]{20,512}\\z'
      """#,
      [.text(account)])
  }
}

/// What an errand of the kind ``Errand/Kind/pushTest`` asks for.
package struct PushTest: Codable, Sendable, Equatable {
  package struct Target: Codable, Sendable, Equatable {
    package let token: String
    package let platform: String
    /// Unix milliseconds
    package let registeredAt: Int64
    /// Whether the device's preferences let anything be sent. A token that the request names is
    /// sent to regardless: who names it wants to know whether it works.
    package let isEnabled: Bool

    package init(token: String, platform: DevicePlatform, registeredAt: Timestamp, isEnabled: Bool)
    {
      self.token = token
      self.platform = platform.rawValue
      self.registeredAt = registeredAt.milliseconds
      self.isEnabled = isEnabled
    }
  }

  package let tokens: [Target]
  /// JSON text as it goes to Apple.
  package let payload: String

  package init(tokens: [Target], payload: [UInt8]) {
    self.tokens = tokens
    self.payload = String(decoding: payload, as: UTF8.self)
  }
}

/// What came of a ``PushTest``.
package struct PushTestOutcome: Codable, Sendable, Equatable {
  package struct Result: Codable, Sendable, Equatable {
    package let ok: Bool
    /// Apple's; 0 where Apple has not answered or was not asked.
    package let status: Int64
    package let token: String
    /// `apns-id`; nil where Apple was not asked.
    package let apnsId: String?
    /// Apple's word or ours; nil where Apple gave none.
    package let reason: String?

    package init(ok: Bool, status: Int64, token: String, apnsId: String?, reason: String?) {
      self.ok = ok
      self.status = status
      self.token = token
      self.apnsId = apnsId
      self.reason = reason
    }
  }

  /// The variables for want of which nothing was sent; empty as a rule.
  package let missing: [String]
  /// Requests that were in flight at most.
  package let concurrency: Int64
  package let staleTokensRemoved: Int64
  /// In the order of the targets.
  package let results: [Result]

  package init(
    missing: [String] = [], concurrency: Int = 0, staleTokensRemoved: Int = 0,
    results: [Result] = []
  ) {
    self.missing = missing
    self.concurrency = Int64(concurrency)
    self.staleTokensRemoved = Int64(staleTokensRemoved)
    self.results = results
  }
}

extension PushTest.Target {
  fileprivate init(row: borrowing Row, isNamed: Bool) {
    self.init(
      token: row.text(0), platform: DevicePlatform(row: row, 1),
      registeredAt: Timestamp(milliseconds: row.milliseconds(2)),
      isEnabled: isNamed || row.boolean(3))
  }
}

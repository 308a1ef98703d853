package import Base
import MariaDB

/// The numbers of tokens that ``PushTokens/unregister(_:by:)`` removed.
package struct RemovedPushTokens: Sendable, Equatable {
  /// Well-formed tokens.
  package let tokens: Int
  /// Malformed tokens, which only an administrator can have stored.
  package let malformed: Int
}

extension PushTokens {
  /// Adds `token` to those of the caller's device, and takes it from any other. A device keeps its
  /// newest 100.
  ///
  /// - Throws: ``Refusal``; ``RateLimited`` at more than 300 an hour of one account.
  package func register(
    _ token: PushToken, platform: PushPlatform, by caller: Caller
  ) throws {
    try records.transaction { transaction in
      try transaction.pushTokens.add(token, platform: platform, by: caller)
    }
  }

  /// Removes `token`, or all tokens, of the caller's account.
  ///
  /// - Throws: ``Refusal``.
  package func unregister(_ token: PushToken?, by caller: Caller) throws -> RemovedPushTokens {
    try records.transaction { transaction in
      let device = try transaction.sessions.live(caller).deviceID
      let malformed =
        token == nil ? try transaction.pushTokens.removeMalformed(of: caller.accountID) : 0
      let owned = try transaction.pushTokens.owned(by: caller.accountID, token: token)
      let removed = try transaction.connection.execute(
        """
        DELETE t FROM push_tokens t JOIN devices d ON d.id = t.device_id
        WHERE d.account_id = ? AND t.token = COALESCE(?, t.token)
        """,
        [.text(caller.accountID), .text(token?.text)])
      try transaction.traces.eraseHosts(ofTokens: owned)
      try transaction.audit.write(
        .pushTokenRemoved, account: caller.accountID, device: device,
        detail: "\(removed + malformed) of the account")
      return RemovedPushTokens(tokens: removed, malformed: malformed)
    }
  }

  /// Removes a token that Apple reports as dead, unless it was registered again at `instant` or
  /// later.
  ///
  /// - Returns: whether the token was removed.
  package func remove(_ token: String, registeredBefore instant: Timestamp) throws -> Bool {
    try records.transaction { transaction in
      let removed = try transaction.connection.execute(
        "DELETE FROM push_tokens WHERE token = ? AND registered_at < ?",
        [.text(token), .time(instant)])
      if removed == 1 { try transaction.deadTokens.note(token) }
      return removed == 1
    }
  }
}

extension PushTokenStatements {
  /// Adds `token` to those of the caller's device, of which the newest 100 stay.
  ///
  /// - Throws: ``Refusal``; ``RateLimited``.
  func add(_ token: PushToken, platform: PushPlatform, by caller: Caller) throws {
    try transaction.sessions.lock(caller)
    let device = try transaction.sessions.live(caller).deviceID
    try transaction.limits.count(.pushTokens, of: caller.accountID)
    try store(token, platform: platform, of: device)
    _ = try transaction.connection.execute(
      """
      DELETE FROM push_tokens WHERE device_id = ? AND registered_at <
        (SELECT registered_at FROM push_tokens WHERE device_id = ?
         ORDER BY registered_at DESC LIMIT 1 OFFSET 99)
      """,
      [.text(device), .text(device)])
    try transaction.audit.write(.pushTokenSet, account: caller.accountID, device: device)
  }

  /// `token`, if the account has it, or all tokens of the account.
  fileprivate func owned(
    by account: String, token: PushToken?
  ) throws(DatabaseError) -> [String] {
    try transaction.connection.rows(
      """
      SELECT t.token FROM push_tokens t JOIN devices d ON d.id = t.device_id
      WHERE d.account_id = ? AND t.token = COALESCE(?, t.token)
      """,
      [.text(account), .text(token?.text)]
    ) { row in row.text(0) }
  }

  /// - Returns: the number of removed tokens, which ``PushToken`` does not accept.
  func removeMalformed(of account: String) throws(DatabaseError) -> Int {
    try transaction.connection.execute(
      #"""
      DELETE t FROM push_tokens t JOIN devices d ON d.id = t.device_id
      WHERE d.account_id = ? AND t.token NOT REGEXP '^[A-Za-z0-9:_.-]{20,512}\\z'
      """#,
      [.text(account)])
  }
}

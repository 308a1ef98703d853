import Base
import MariaDB

/// Statements on `sessions`.
struct SessionStatements: ~Copyable {
  let transaction: Transaction

  /// Keeps the caller's session and its device from changing before the transaction's end. Call it
  /// first, so that all later reads see current rows.
  func lock(_ caller: Caller) throws(DatabaseError) {
    _ = try transaction.connection.row(
      "SELECT TRUE FROM sessions s JOIN devices d ON d.id = s.device_id WHERE s.id = ? FOR UPDATE",
      [.text(caller.sessionID)]
    ) { row in row.boolean(0) }
  }

  /// The caller's session, if it is alive.
  ///
  /// - Throws: ``Refusal``.
  func live(_ caller: Caller) throws -> LiveSession {
    let session = try transaction.connection.row(
      """
      SELECT s.device_id, s.generation, s.confirmed, s.branch, s.first_branch, d.credential_hash,
        d.credential_expires_at, d.old_credential_hash, d.old_credential_expires_at
      FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      """,
      [.text(caller.sessionID), .time(transaction.now)]
    ) { row in LiveSession(row: row) }
    guard let session else { throw Refusal.sessionEnded }
    try admit(caller, to: session)
    return session
  }

  /// The device of the caller's session; nil if the access token is not good any more. Checks nothing
  /// else of the caller, and confirms nothing. Keeps both from changing before the transaction's end.
  func deviceID(of caller: Caller) throws(DatabaseError) -> String? {
    let found = try transaction.connection.row(
      """
      SELECT s.device_id, s.generation, s.branch, s.first_branch
      FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      FOR UPDATE
      """,
      [.text(caller.sessionID), .time(transaction.now)]
    ) { row in
      (
        device: row.text(0),
        newest: NewestTokens(
          generation: row.integer(1), branch: row.integer(2), firstBranch: row.integer(3))
      )
    }
    guard let found, found.newest.standing(of: caller.place) == .living else { return nil }
    return found.device
  }

  /// Checks the branch of the access token, and the username and the device credential, if the request has
  /// them. Confirms the newest branch at the first use of its access token, and the newest credential at
  /// its first use.
  ///
  /// The confirmations are safe to repeat, so they may run among reads.
  ///
  /// - Throws: ``Refusal``.
  func admit(_ caller: Caller, to session: LiveSession) throws {
    try session.checkBranch(of: caller)
    if let username = caller.username {
      let isOwn = try transaction.connection.row(
        "SELECT TRUE FROM accounts WHERE id = ? AND username = ?",
        [.text(caller.accountID), .text(username)]
      ) { row in row.boolean(0) }
      guard isOwn == true else { throw Refusal.username }
    }
    try checkCredential(of: caller, in: session)
    if session.isFirstUse(by: caller) { try confirm(caller, on: session) }
  }

  /// Checks the device credential, if the request has one. That of another account on the phone, or of
  /// a registration there, counts as none: the phone does not know which account it belongs to.
  ///
  /// - Throws: ``Refusal/credential(account:device:)``.
  private func checkCredential(of caller: Caller, in session: LiveSession) throws {
    guard let hash = caller.credentialHash else { return }
    switch session.credentials.shown(hash, at: transaction.now) {
    case .newest:
      guard session.credentials.old != nil else { return }
      try transaction.devices.confirmCredential(hash, of: session.deviceID)
    case .old: return
    case nil:
      guard try transaction.knownDevices.isOfPhone(hash, caller.clientDeviceID) else {
        throw Refusal.credential(account: caller.accountID, device: session.deviceID)
      }
    }
  }

  private func confirm(_ caller: Caller, on session: LiveSession) throws {
    let confirmed = try transaction.connection.execute(
      """
      UPDATE sessions SET confirmed = TRUE
      WHERE id = ? AND generation = ? AND branch = ? AND NOT confirmed
      """,
      [
        .text(caller.sessionID), .integer(session.newest.generation),
        .integer(session.newest.branch),
      ])
    guard confirmed == 1 else { return try checkAgain(caller) }
    _ = try transaction.connection.execute(
      "UPDATE devices SET last_used_at = ? WHERE id = ?",
      [.time(transaction.now), .text(session.deviceID)])
  }

  /// Checks the branch of a caller whose first use met another change of the row: another request has
  /// confirmed the branch, or replaced it.
  private func checkAgain(_ caller: Caller) throws {
    let session = try transaction.connection.row(
      """
      SELECT s.device_id, s.generation, s.confirmed, s.branch, s.first_branch, d.credential_hash,
        d.credential_expires_at, d.old_credential_hash, d.old_credential_expires_at
      FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND s.ended_at IS NULL FOR UPDATE
      """,
      [.text(caller.sessionID)]
    ) { row in LiveSession(row: row) }
    guard let session else { throw Refusal.sessionEnded }
    try session.checkBranch(of: caller)
  }

  /// Rejects callers who show only a bearer: an access token may be stolen.
  ///
  /// A proof is a credential of the device, if it is trusted; or the mailed
  /// code, the passkey or the trusted key that began the session within the last ten minutes.
  ///
  /// - Throws: ``Refusal/noFreshProof``.
  func requireFreshProof(_ caller: Caller) throws {
    guard try hasFreshProof(caller) else { throw Refusal.noFreshProof }
  }

  func hasFreshProof(_ caller: Caller) throws(DatabaseError) -> Bool {
    if let hash = caller.credentialHash, try isTrusted(hash, of: caller) { return true }
    return try isFreshlyProven(caller)
  }

  /// Whether a credential is one of the caller's device, and trusted.
  private func isTrusted(_ hash: [UInt8], of caller: Caller) throws(DatabaseError) -> Bool {
    let now = Parameter.time(transaction.now)
    return try transaction.connection.row(
      """
      SELECT TRUE FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND (d.credential_hash = ? AND d.credential_expires_at > ?
          AND d.credential_trusted_at IS NOT NULL
        OR d.old_credential_hash = ? AND d.old_credential_expires_at > ?
          AND d.old_credential_trusted_at IS NOT NULL)
      """,
      [.text(caller.sessionID), .bytes(hash), now, .bytes(hash), now]
    ) { row in row.boolean(0) } ?? false
  }

  private var latestProof: Timestamp { transaction.now + Session.clockTolerance }

  /// Whether a mailed code, a passkey or a trusted key began the session within the last ten minutes.
  func isFreshlyProven(_ caller: Caller) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      """
      SELECT TRUE FROM sessions
      WHERE id = ? AND began_by <> 'sign_up' AND proved_at > ? AND proved_at <= ?
      """,
      [.text(caller.sessionID), .time(transaction.now - Session.proofLifetime), .time(latestProof)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Whether the caller shows a fresh proof on this device that is later than the first proof of the account's
  /// address, or a trusted credential.
  func hasProofSinceAddress(_ caller: Caller) throws(DatabaseError) -> Bool {
    if let hash = caller.credentialHash, try isTrusted(hash, of: caller) { return true }
    guard try isFreshlyProven(caller) else { return false }
    return try transaction.connection.row(
      """
      SELECT s.proved_at > a.email_verified_at FROM sessions s JOIN devices d ON d.id = s.device_id
      JOIN accounts a ON a.id = d.account_id WHERE s.id = ? AND a.email_verified_at IS NOT NULL
      """,
      [.text(caller.sessionID)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Rejects callers who may not begin to add a passkey. Callers with a fresh proof may, and so may
  /// the session of a sign-up of the last ten minutes, while the account has no passkey or key.
  ///
  /// - Throws: ``Refusal/noFreshProof``.
  func requireProofForPasskey(_ caller: Caller) throws {
    if try hasFreshProof(caller) { return }
    let isFirst = try transaction.connection.row(
      """
      SELECT TRUE FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND s.began_by = 'sign_up' AND s.proved_at > ? AND s.proved_at <= ?
        AND NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.account_id = d.account_id)
        AND NOT EXISTS (SELECT 1 FROM devices o JOIN biometric_keys k ON k.device_id = o.id
          WHERE o.account_id = d.account_id)
      """,
      [.text(caller.sessionID), .time(transaction.now - Session.proofLifetime), .time(latestProof)]
    ) { row in row.boolean(0) }
    guard isFirst == true else { throw Refusal.noFreshProof }
  }

  /// Uses up the one right of a sign-up's session: to add the first passkey or trusted key of the
  /// account.
  ///
  /// - Parameter age: the maximum age of the sign-up.
  /// - Returns: false if another call has used it up, the account has a passkey or key, or the
  ///   session began in another way.
  func spendSignUp(_ caller: Caller, within age: Duration) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE sessions s JOIN devices d ON d.id = s.device_id SET s.proved_at = NULL
      WHERE s.id = ? AND s.began_by = 'sign_up' AND s.proved_at > ? AND s.proved_at <= ?
        AND NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.account_id = d.account_id)
        AND NOT EXISTS (SELECT 1 FROM devices o JOIN biometric_keys k ON k.device_id = o.id
          WHERE o.account_id = d.account_id)
      """,
      [.text(caller.sessionID), .time(transaction.now - age), .time(latestProof)]) == 1
  }

  /// Whether a sign-up began the session.
  func isSignUp(_ caller: Caller) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      "SELECT began_by = 'sign_up' FROM sessions WHERE id = ?", [.text(caller.sessionID)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Begins a session of the device.
  func begin(
    deviceID: String, account: String, clientDeviceID: String, by beginning: SessionBeginning
  ) throws(DatabaseError) -> Session {
    let now = transaction.now
    let session = Session(
      id: transaction.makeID(), accountID: account, clientDeviceID: clientDeviceID, generation: 1,
      branch: 0, rotatedAt: now, expiresAt: now + Session.idleLifetime)
    _ = try transaction.connection.execute(
      """
      INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, began_by, proved_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(session.id), .text(deviceID), .time(now), .time(now), .time(session.expiresAt),
        .text(beginning.rawValue), .time(beginning == .untrustedKey ? nil : now),
      ])
    return session
  }

  /// Ends all live sessions of the device.
  func endAll(of deviceID: String, because reason: EndReason) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE device_id = ? AND ended_at IS NULL",
      [.time(transaction.now), .text(reason.rawValue), .text(deviceID)])
  }
}

extension Transaction {
  var sessions: SessionStatements { SessionStatements(transaction: Transaction(sharing: self)) }
}

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
      SELECT s.device_id, s.generation, s.confirmed, d.credential_hash, d.credential_expires_at
      FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      """,
      [.text(caller.sessionID), .time(transaction.now)]
    ) { row in LiveSession(row: row) }
    guard let session else { throw Refusal.sessionEnded }
    try admit(caller, to: session)
    return session
  }

  /// Checks the username and the device credential, if the request has them, and confirms the
  /// newest generation at the first use of its access token.
  ///
  /// The confirmation is safe to repeat, so it may run among reads.
  ///
  /// - Throws: ``Refusal``.
  func admit(_ caller: Caller, to session: LiveSession) throws {
    if let username = caller.username {
      let isOwn = try transaction.connection.row(
        "SELECT TRUE FROM accounts WHERE id = ? AND username = ?",
        [.text(caller.accountID), .text(username)]
      ) { row in row.boolean(0) }
      guard isOwn == true else { throw Refusal.username }
    }
    try session.checkCredential(of: caller, at: transaction.now)
    if session.isFirstUse(by: caller) { try confirm(caller, on: session.deviceID) }
  }

  private func confirm(_ caller: Caller, on deviceID: String) throws(DatabaseError) {
    let confirmed = try transaction.connection.execute(
      "UPDATE sessions SET confirmed = TRUE WHERE id = ? AND generation = ? AND NOT confirmed",
      [.text(caller.sessionID), .integer(caller.generation)])
    guard confirmed == 1 else { return }
    _ = try transaction.connection.execute(
      "UPDATE devices SET last_used_at = ? WHERE id = ?",
      [.time(transaction.now), .text(deviceID)])
  }

  /// Rejects callers who show only a bearer: an access token may be stolen.
  ///
  /// A proof is the device credential, which ``live(_:)`` has checked, if it is trusted; or the mailed
  /// code, the passkey or the trusted key that began the session within the last ten minutes.
  ///
  /// - Throws: ``Refusal/noFreshProof``.
  func requireFreshProof(_ caller: Caller) throws {
    guard try hasFreshProof(caller) else { throw Refusal.noFreshProof }
  }

  func hasFreshProof(_ caller: Caller) throws(DatabaseError) -> Bool {
    if caller.credentialHash != nil, try isCredentialTrusted(caller) { return true }
    return try isFreshlyProven(caller)
  }

  private func isCredentialTrusted(_ caller: Caller) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      """
      SELECT TRUE FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND d.credential_trusted_at <= ?
      """,
      [.text(caller.sessionID), .time(transaction.now)]
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
      rotatedAt: now, expiresAt: now + Session.idleLifetime)
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

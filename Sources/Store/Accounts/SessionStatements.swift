import Base
import MariaDB

/// Statements on `sessions`.
struct SessionStatements: ~Copyable {
  let transaction: Transaction

  /// Keeps the caller's session and its device from changing before the transaction's end. Call it
  /// first, so that all later reads see the rows as they are then.
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

  /// Checks the username and the device credential, where they came, and confirms the newest
  /// generation at the first use of its access token.
  ///
  /// The confirmation may be repeated without harm, so it may stand among reads.
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
    if let hash = caller.credentialHash {
      guard session.credential?.matches(hash, at: transaction.now) == true else {
        throw Refusal.credential(account: caller.accountID, device: session.deviceID)
      }
    }
    guard !session.confirmed, session.generation == caller.generation else { return }
    try confirm(caller, on: session.deviceID)
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

  /// Refuses who shows a bearer alone: an access token may be stolen.
  ///
  /// A proof is the device credential, which ``live(_:)`` has checked, or what began the session within
  /// the last ten minutes. A sign-up is a proof for the first passkey or biometric key. A credential that
  /// somebody got with a bearer alone proves nothing for a day.
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
      SELECT d.credential_trusted_at <= ? FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ?
      """,
      [.time(transaction.now), .text(caller.sessionID)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Whether a proof began the session within the last ten minutes.
  func isFreshlyProven(_ caller: Caller) throws(DatabaseError) -> Bool {
    let since = Parameter.time(transaction.now - Session.proofLifetime)
    return try transaction.connection.row(
      """
      SELECT TRUE FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND (s.proved_at > ? OR s.proved_at IS NULL AND s.created_at > ?
        AND NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.account_id = d.account_id)
        AND NOT EXISTS (SELECT 1 FROM devices o JOIN biometric_keys k ON k.device_id = o.id
          WHERE o.account_id = d.account_id))
      """,
      [.text(caller.sessionID), since, since]
    ) { row in row.boolean(0) } ?? false
  }

  /// Begins a session of the device.
  ///
  /// - Parameter isProof: what began it proves who holds the account; see ``requireFreshProof(_:)``.
  func begin(
    deviceID: String, account: String, clientDeviceID: String, isProof: Bool
  ) throws(DatabaseError) -> Session {
    let now = transaction.now
    let session = Session(
      id: transaction.makeID(), accountID: account, clientDeviceID: clientDeviceID, generation: 1,
      rotatedAt: now, expiresAt: now + Session.idleLifetime)
    _ = try transaction.connection.execute(
      """
      INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, proved_at)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .text(session.id), .text(deviceID), .time(now), .time(now), .time(session.expiresAt),
        .time(isProof ? now : nil),
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

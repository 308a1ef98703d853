import Base
import MariaDB

/// The result of presenting a refresh token.
package enum RefreshOutcome: Sendable {
  /// The token was the newest, and a successor was made; or its successor is handed out again.
  case refreshed(Session)
  /// Another call has just rotated the family; nothing has changed.
  case tooLate
  /// The family has ended, or never existed.
  case dead
  /// The token was used before: it was copied. The family has ended now.
  case reused
}

extension Sessions {
  /// Handles the refresh token of `generation` of a family as ``RefreshFamily/verdict(on:at:)``
  /// decides.
  ///
  /// - Parameter credentialHash: SHA-256 of the request's device credential, if there is one. A
  ///   wrong credential does not change the family, and counts as a dead token.
  /// - Throws: ``RateLimited`` at more than 30 rotations an hour; ``Refusal/credential(account:device:)``;
  ///   ``Refusal/banned(account:)``.
  package func refresh(
    _ id: String, generation: Int64, credentialHash: [UInt8]?
  ) throws -> RefreshOutcome {
    do {
      return try refresh(id, generation, showing: credentialHash)
    } catch let refusal as Refusal {
      try countDeadRefresh()
      throw refusal
    }
  }

  private func refresh(
    _ id: String, _ generation: Int64, showing credentialHash: [UInt8]?
  ) throws -> RefreshOutcome {
    try records.repeatingLostRaces { transaction in
      let statements = transaction.refreshes
      guard let family = try statements.find(id) else { return .dead }
      if let credentialHash, !family.ended {
        guard family.credential?.matches(credentialHash, at: records.now) == true else {
          throw Refusal.credential(account: family.accountID, device: family.deviceID)
        }
      }
      switch family.tokens(at: records.now).verdict(on: generation, at: records.now) {
      case .rotate: return .refreshed(try statements.rotate(family))
      case .sameAgain: return .refreshed(family.session)
      case .dead:
        if family.isBanned { throw Refusal.banned(account: family.accountID) }
        return .dead
      case .tooLate:
        try transaction.audit.write(
          .refreshRefused, account: family.accountID, device: family.deviceID,
          detail: "another call has just refreshed")
        return .tooLate
      case .reused:
        try transaction.sessions.endAll(of: family.deviceID, because: .reuse)
        try transaction.addressChanges.withdraw(of: family.accountID)
        try transaction.audit.write(
          .refreshReuse, account: family.accountID, device: family.deviceID,
          detail: "generation \(generation) of \(family.generation)")
        try transaction.notices.tell(.refreshReused, of: family.id)
        return .reused
      }
    }
  }

  /// Counts a refresh token that leads to no living family, for the address that sent it.
  ///
  /// - Throws: ``RateLimited`` at more than 30 a minute.
  package func countDeadRefresh() throws {
    try records.countAddress(.deadRefreshes)
  }
}

/// Statements on the refresh tokens of `sessions`.
struct RefreshStatements: ~Copyable {
  let transaction: Transaction

  fileprivate func find(_ id: String) throws(DatabaseError) -> Family? {
    try transaction.connection.row(
      """
      SELECT s.id, s.generation, s.confirmed, s.created_at, s.rotated_at, s.expires_at,
        s.ended_at IS NOT NULL OR d.revoked_at IS NOT NULL, d.id, d.client_device_id, d.account_id,
        d.credential_hash, d.credential_expires_at, a.banned_at IS NOT NULL,
        IF(s.confirmed, GREATEST(s.rotated_at, d.last_used_at), s.rotated_at)
      FROM sessions s JOIN devices d ON d.id = s.device_id JOIN accounts a ON a.id = d.account_id
      WHERE s.id = ?
      """,
      [.text(id)]
    ) { row in Family(row: row) }
  }

  /// - Throws: ``LostRace``; ``RateLimited``.
  fileprivate func rotate(_ family: Family) throws -> Session {
    let now = transaction.now
    let expiresAt = min(now + Session.idleLifetime, family.createdAt + Session.lifetime)
    let rotated = try transaction.connection.execute(
      """
      UPDATE sessions SET generation = generation + 1, confirmed = FALSE, rotated_at = ?, expires_at = ?
      WHERE id = ? AND generation = ? AND ended_at IS NULL
      """,
      [.time(now), .time(expiresAt), .text(family.id), .integer(family.generation)])
    guard rotated == 1 else { throw LostRace() }
    // Counted after the race: the loser gets its outcome even if the winner used the last hit of
    // the limit.
    try transaction.limits.count(.rotations, of: family.id)
    try transaction.audit.write(
      .refreshed, account: family.accountID, device: family.deviceID,
      detail: "generation \(family.generation + 1)")
    return Session(
      id: family.id, accountID: family.accountID, clientDeviceID: family.clientDeviceID,
      generation: family.generation + 1, rotatedAt: now, expiresAt: expiresAt)
  }
}

extension Transaction {
  var refreshes: RefreshStatements { RefreshStatements(transaction: Transaction(sharing: self)) }
}

private struct Family {
  let id: String
  let generation: Int64
  let confirmed: Bool
  let createdAt: Timestamp
  let rotatedAt: Timestamp
  let expiresAt: Timestamp
  let ended: Bool
  let deviceID: String
  let clientDeviceID: String
  let accountID: String
  let credential: StoredCredential?
  /// Whether the account is banned.
  let isBanned: Bool
  /// When the newest generation was made or first used.
  let changedAt: Timestamp

  init(row: borrowing Row) {
    id = row.text(0)
    generation = row.integer(1)
    confirmed = row.boolean(2)
    createdAt = row.timestamp(3)
    rotatedAt = row.timestamp(4)
    expiresAt = row.timestamp(5)
    ended = row.boolean(6)
    deviceID = row.text(7)
    clientDeviceID = row.text(8)
    accountID = row.text(9)
    credential = StoredCredential(row: row, hash: 10, expiresAt: 11)
    isBanned = row.boolean(12)
    changedAt = row.timestamp(13)
  }

  func tokens(at now: Timestamp) -> RefreshFamily {
    RefreshFamily(
      generation: generation, isConfirmed: confirmed, changedAt: changedAt,
      isAlive: !ended && expiresAt > now)
  }

  var session: Session {
    Session(
      id: id, accountID: accountID, clientDeviceID: clientDeviceID, generation: generation,
      rotatedAt: rotatedAt, expiresAt: expiresAt)
  }
}

import Base
import MariaDB

/// The result of presenting a refresh token.
package enum RefreshOutcome: Sendable {
  /// A successor was made, or the newest one is handed out again.
  case refreshed(Session)
  /// Another call has just rotated the family; nothing has changed.
  case tooLate
  /// The family has ended, or never existed.
  case dead
  /// The token was copied: it was used before, or its branch is dead. The family has ended now.
  case reused
}

extension Sessions {
  /// Handles the refresh token at a place of a family as ``RefreshFamily/verdict(on:from:at:)`` decides.
  ///
  /// - Parameter credentialHash: SHA-256 of the request's device credential, if there is one. A
  ///   wrong credential does not change the family, and counts as a dead token.
  /// - Throws: ``RateLimited`` at more than 30 rotations an hour; ``Refusal/credential(account:device:)``;
  ///   ``Refusal/banned(account:)``.
  package func refresh(
    _ id: String, at place: TokenPlace, credentialHash: [UInt8]?
  ) throws -> RefreshOutcome {
    do {
      return try refresh(id, place, showing: credentialHash)
    } catch let refusal as Refusal {
      try countDeadRefresh()
      throw refusal
    }
  }

  private func refresh(
    _ id: String, _ place: TokenPlace, showing credentialHash: [UInt8]?
  ) throws -> RefreshOutcome {
    try records.repeatingLostRaces { transaction in
      let statements = transaction.refreshes
      guard let family = try statements.find(id) else { return .dead }
      if let credentialHash, !family.ended {
        try statements.checkCredential(credentialHash, of: family)
      }
      let verdict = family.tokens(at: records.now).verdict(
        on: place, from: records.origin.refreshNetwork, at: records.now)
      switch verdict {
      case .rotate: return .refreshed(try statements.rotate(family))
      case .branch: return .refreshed(try statements.branch(family))
      case .sameAgain: return .refreshed(try statements.answerAgain(family))
      case .dead:
        if family.isBanned { throw Refusal.banned(account: family.accountID) }
        return .dead
      case .tooLate:
        try transaction.audit.write(
          .refreshRefused, account: family.accountID, device: family.deviceID,
          detail: "another call has just refreshed")
        return .tooLate
      case .reused:
        try statements.lock(family)
        try statements.endCopied(
          family.id, of: family.deviceID, account: family.accountID,
          detail: "generation \(place.generation) of \(family.newest.generation)")
        return .reused
      }
    }
  }

  /// Ends the session of an access token of a dead branch, with all others of its account and device: the
  /// phone or a thief has used what the other one's refresh replaced.
  func endCopied(_ id: String) throws {
    try records.transaction { transaction in
      let found = try transaction.connection.row(
        """
        SELECT d.id, d.account_id FROM sessions s JOIN devices d ON d.id = s.device_id
        WHERE s.id = ? AND s.ended_at IS NULL FOR UPDATE
        """,
        [.text(id)]
      ) { row in (device: row.text(0), account: row.text(1)) }
      guard let found else { return }
      try transaction.refreshes.endCopied(
        id, of: found.device, account: found.account, detail: "an access token of a dead branch")
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
        a.banned_at IS NOT NULL,
        IF(s.confirmed, GREATEST(s.rotated_at, d.last_used_at), s.rotated_at), s.branch,
        s.first_branch, s.rotated_from, COALESCE(s.answered_at, s.rotated_at), d.credential_hash,
        d.credential_expires_at, d.old_credential_hash, d.old_credential_expires_at
      FROM sessions s JOIN devices d ON d.id = s.device_id JOIN accounts a ON a.id = d.account_id
      WHERE s.id = ?
      """,
      [.text(id)]
    ) { row in Family(row: row) }
  }

  /// - Throws: ``Refusal/credential(account:device:)``.
  fileprivate func checkCredential(_ hash: [UInt8], of family: Family) throws {
    switch family.credentials.shown(hash, at: transaction.now) {
    case .newest:
      guard family.credentials.old != nil else { return }
      try transaction.devices.confirmCredential(hash, of: family.deviceID)
    case .old: return
    case nil:
      guard try transaction.knownDevices.isOfPhone(hash, family.clientDeviceID) else {
        throw Refusal.credential(account: family.accountID, device: family.deviceID)
      }
    }
  }

  /// Makes a successor of the newest refresh token.
  ///
  /// - Throws: ``LostRace``; ``RateLimited``.
  fileprivate func rotate(_ family: Family) throws -> Session {
    let expiresAt = family.expiry(ofTokenAt: transaction.now)
    let rotated = try transaction.connection.execute(
      """
      UPDATE sessions SET generation = generation + 1, first_branch = branch, confirmed = FALSE,
        rotated_from = ?, rotated_at = ?, answered_at = NULL, expires_at = ?
      WHERE id = ? AND generation = ? AND branch = ? AND ended_at IS NULL
      """,
      [
        .text(transaction.origin.refreshNetwork), .time(transaction.now), .time(expiresAt),
        .text(family.id), .integer(family.newest.generation), .integer(family.newest.branch),
      ])
    guard rotated == 1 else { throw LostRace() }
    // Counted after the race: the loser gets its outcome even if the winner used the last hit of
    // the limit.
    try transaction.limits.count(.rotations, of: family.id)
    try transaction.audit.write(
      .refreshed, account: family.accountID, device: family.deviceID,
      detail: "generation \(family.newest.generation + 1)")
    return family.session(
      generation: family.newest.generation + 1, branch: family.newest.branch,
      rotatedAt: transaction.now, expiresAt: expiresAt)
  }

  /// Makes another successor of the refresh token before the newest, which dies.
  ///
  /// - Throws: ``LostRace``, also if the newest has been used meanwhile.
  fileprivate func branch(_ family: Family) throws -> Session {
    let expiresAt = family.expiry(ofTokenAt: transaction.now)
    let branched = try transaction.connection.execute(
      """
      UPDATE sessions SET branch = branch + 1, rotated_from = ?, rotated_at = ?, answered_at = NULL,
        expires_at = ?
      WHERE id = ? AND generation = ? AND branch = ? AND NOT confirmed AND ended_at IS NULL
      """,
      [
        .text(transaction.origin.refreshNetwork), .time(transaction.now), .time(expiresAt),
        .text(family.id), .integer(family.newest.generation), .integer(family.newest.branch),
      ])
    guard branched == 1 else { throw LostRace() }
    try transaction.audit.write(
      .refreshRepeated, account: family.accountID, device: family.deviceID,
      detail: """
        generation \(family.newest.generation), other tokens: \(family.newest.lateAnswers + 1) of 10
        """)
    return family.session(
      generation: family.newest.generation, branch: family.newest.branch + 1,
      rotatedAt: transaction.now, expiresAt: expiresAt)
  }

  /// Locks a family as it was read, so that what is decided of it is still true.
  ///
  /// - Throws: ``LostRace``.
  fileprivate func lock(_ family: Family) throws {
    let isSame = try transaction.connection.row(
      """
      SELECT TRUE FROM sessions
      WHERE id = ? AND generation = ? AND branch = ? AND ended_at IS NULL FOR UPDATE
      """,
      [
        .text(family.id), .integer(family.newest.generation), .integer(family.newest.branch),
      ]
    ) { row in row.boolean(0) }
    guard isSame == true else { throw LostRace() }
  }

  /// Gives out the newest refresh token again, which from now on counts as given out now: calls that an app makes
  /// at once may come just before and just after the end of the time for them.
  ///
  /// - Throws: ``LostRace``.
  fileprivate func answerAgain(_ family: Family) throws -> Session {
    try lock(family)
    _ = try transaction.connection.execute(
      "UPDATE sessions SET answered_at = ? WHERE id = ? AND generation = ? AND branch = ?",
      [
        .time(transaction.now), .text(family.id), .integer(family.newest.generation),
        .integer(family.newest.branch),
      ])
    try transaction.audit.write(
      .refreshRepeated, account: family.accountID, device: family.deviceID,
      detail: "generation \(family.newest.generation), the same tokens")
    return family.session
  }

  /// Ends the sessions of a device whose token was copied, and tells the owner.
  fileprivate func endCopied(
    _ id: String, of deviceID: String, account: String, detail: String
  ) throws(DatabaseError) {
    try transaction.sessions.endAll(of: deviceID, because: .reuse)
    try transaction.addressChanges.withdraw(of: account)
    try transaction.audit.write(.refreshReuse, account: account, device: deviceID, detail: detail)
    try transaction.notices.tell(.refreshReused, of: id)
  }
}

extension Transaction {
  var refreshes: RefreshStatements { RefreshStatements(transaction: Transaction(sharing: self)) }
}

private struct Family {
  let id: String
  let newest: NewestTokens
  let confirmed: Bool
  let createdAt: Timestamp
  let rotatedAt: Timestamp
  let expiresAt: Timestamp
  let ended: Bool
  let deviceID: String
  let clientDeviceID: String
  let accountID: String
  /// Whether the account is banned.
  let isBanned: Bool
  /// When the newest refresh token was made or first used.
  let changedAt: Timestamp
  let network: String
  /// When the newest refresh token was given out last.
  let answeredAt: Timestamp
  let credentials: DeviceCredentials

  init(row: borrowing Row) {
    id = row.text(0)
    newest = NewestTokens(
      generation: row.integer(1), branch: row.integer(12), firstBranch: row.integer(13))
    confirmed = row.boolean(2)
    createdAt = row.timestamp(3)
    rotatedAt = row.timestamp(4)
    expiresAt = row.timestamp(5)
    ended = row.boolean(6)
    deviceID = row.text(7)
    clientDeviceID = row.text(8)
    accountID = row.text(9)
    isBanned = row.boolean(10)
    changedAt = row.timestamp(11)
    network = row.text(14)
    answeredAt = row.timestamp(15)
    credentials = DeviceCredentials(row: row, from: 16)
  }

  func tokens(at now: Timestamp) -> RefreshFamily {
    RefreshFamily(
      newest: newest, isConfirmed: confirmed, answeredAt: answeredAt, changedAt: changedAt,
      network: network, isAlive: !ended && expiresAt > now)
  }

  /// Expiry of a refresh token that is made at `now`.
  func expiry(ofTokenAt now: Timestamp) -> Timestamp {
    min(now + Session.idleLifetime, createdAt.past(at: now) + Session.lifetime)
  }

  /// The session with the tokens that were given out last.
  var session: Session {
    session(
      generation: newest.generation, branch: newest.branch, rotatedAt: rotatedAt,
      expiresAt: expiresAt)
  }

  func session(
    generation: Int64, branch: Int64, rotatedAt: Timestamp, expiresAt: Timestamp
  ) -> Session {
    Session(
      id: id, accountID: accountID, clientDeviceID: clientDeviceID, generation: generation,
      branch: branch, rotatedAt: rotatedAt, expiresAt: expiresAt)
  }
}

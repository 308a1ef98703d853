import MariaDB

/// One sign-in of one device: a family of rotating refresh tokens.
package struct Session: Sendable, Equatable {
  /// `sid`
  package let id: String
  package let accountID: String
  package let clientDeviceID: String
  /// Of the newest refresh token, from 1.
  package let generation: Int64
  /// When the newest generation was made.
  package let rotatedAt: Timestamp
  /// Of the newest refresh token.
  package let expiresAt: Timestamp

  /// A refresh token's life, if it is not used.
  static let idleLifetime = Duration.seconds(30 * 86_400)
  /// After this the family ends however busy it is.
  static let lifetime = Duration.seconds(365 * 86_400)
}

/// What became of a refresh token that was presented.
package enum RefreshOutcome: Sendable {
  /// The token was the newest: a successor was made. Or its successor is handed out again.
  case refreshed(Session)
  /// Another call has just rotated the family; nothing has changed.
  case tooLate
  /// The family has ended, or never was.
  case dead
  /// The token had been used before: somebody copied it. The family has ended now.
  case reused
}

/// The session of a caller who was let in.
struct LiveSession {
  let deviceID: String
  let generation: Int64
  let confirmed: Bool
  let credential: StoredCredential?

  /// The columns device_id, generation, confirmed, credential_hash, credential_expires_at, in that
  /// order from 0.
  init(row: borrowing Row) {
    deviceID = row.text(0)
    generation = row.integer(1)
    confirmed = row.boolean(2)
    credential = StoredCredential(row: row, hash: 3, expiresAt: 4)
  }
}

extension Connection {
  /// Keeps the caller's session and its device from changing before the transaction's end. First in it,
  /// so that all that is read after is as it is then.
  mutating func hold(_ caller: Caller) throws(DatabaseError) {
    _ = try row(
      "SELECT TRUE FROM sessions s JOIN devices d ON d.id = s.device_id WHERE s.id = ? FOR UPDATE",
      [.text(caller.sessionID)]
    ) { row in row.boolean(0) }
  }

  /// The caller's session, if it is alive.
  ///
  /// - Throws: ``Refusal/sessionEnded``, ``Refusal/credential(account:device:)``,
  ///   ``Refusal/username``.
  mutating func live(_ caller: Caller, at now: Timestamp) throws -> LiveSession {
    let session = try row(
      """
      SELECT s.device_id, s.generation, s.confirmed, d.credential_hash, d.credential_expires_at
      FROM sessions s JOIN devices d ON d.id = s.device_id
      WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      """,
      [.text(caller.sessionID), .time(now)]
    ) { row in LiveSession(row: row) }
    guard let session else { throw Refusal.sessionEnded }
    try admit(caller, to: session, at: now)
    return session
  }

  /// Checks the username and the device credential, where they came, and confirms the newest
  /// generation at the first use of its access token.
  ///
  /// The confirmation may be repeated without harm, so it may stand among reads.
  mutating func admit(_ caller: Caller, to session: LiveSession, at now: Timestamp) throws {
    if let username = caller.username {
      let isOwn = try row(
        "SELECT TRUE FROM accounts WHERE id = ? AND username = ?",
        [.text(caller.accountID), .text(username)]
      ) { row in row.boolean(0) }
      guard isOwn == true else { throw Refusal.username }
    }
    if let hash = caller.credentialHash {
      guard session.credential?.matches(hash, at: now) == true else {
        throw Refusal.credential(account: caller.accountID, device: session.deviceID)
      }
    }
    guard !session.confirmed, session.generation == caller.generation else { return }
    let confirmed = try execute(
      "UPDATE sessions SET confirmed = TRUE WHERE id = ? AND generation = ? AND NOT confirmed",
      [.text(caller.sessionID), .integer(caller.generation)])
    guard confirmed == 1 else { return }
    _ = try execute(
      "UPDATE devices SET last_used_at = ? WHERE id = ?", [.time(now), .text(session.deviceID)])
  }

  /// Begins a session of the device.
  mutating func beginSession(
    id: String, deviceID: String, account: String, clientDeviceID: String, at now: Timestamp
  ) throws(DatabaseError) -> Session {
    let session = Session(
      id: id, accountID: account, clientDeviceID: clientDeviceID, generation: 1, rotatedAt: now,
      expiresAt: now + Session.idleLifetime)
    _ = try execute(
      "INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at) VALUES (?, ?, ?, ?, ?)",
      [
        .text(id), .text(deviceID), .time(now), .time(now), .time(session.expiresAt),
      ])
    return session
  }

  /// Ends all live sessions of the device.
  mutating func endSessions(
    of deviceID: String, because reason: EndReason, at now: Timestamp
  ) throws(DatabaseError) {
    _ = try execute(
      "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE device_id = ? AND ended_at IS NULL",
      [.time(now), .text(reason.rawValue), .text(deviceID)])
  }
}

enum EndReason: String {
  case logout
  case logoutAll = "logout_all"
  case deviceRevoked = "device_revoked"
  case reuse
}

extension Database {
  /// Does with the refresh token of `generation` of a family what
  /// ``RefreshFamily/verdict(on:at:)`` says.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` at more than 30 rotations an hour.
  package func refresh(
    session id: String, generation: Int64, from origin: Origin, at now: Timestamp
  ) throws -> RefreshOutcome {
    try repeatingLostRaces { connection in
      try connection.refresh(session: id, generation: generation, from: origin, at: now)
    }
  }

  /// Counts a refresh token that leads to no living family, for the address that sent it.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` at more than 30 a minute.
  package func countDeadRefresh(from origin: Origin, at now: Timestamp) throws {
    _ = try pool.write { connection in
      try connection.count(.deadRefreshes, of: origin.address, at: now)
    }
  }

  /// Ends the sessions of the caller's device, or of all of the account's devices. The push tokens
  /// of those devices go too: who has signed out gets no more notifications.
  ///
  /// - Throws: ``Refusal``.
  package func logOut(_ caller: Caller, everywhere: Bool, at now: Timestamp) throws {
    try pool.transaction { connection in
      try connection.hold(caller)
      let all = everywhere ? try connection.holdDevices(of: caller.accountID) : nil
      let session = try connection.live(caller, at: now)
      for device in all ?? [session.deviceID] {
        try connection.endSessions(
          of: device, because: everywhere ? .logoutAll : .logout, at: now)
        try connection.removePushTokens(of: device)
      }
      try connection.audit(
        .logout, account: caller.accountID, device: session.deviceID,
        detail: everywhere ? "all devices" : nil, from: caller.origin, at: now)
    }
  }
}

extension Connection {
  fileprivate mutating func refresh(
    session id: String, generation: Int64, from origin: Origin, at now: Timestamp
  ) throws -> RefreshOutcome {
    guard let family = try family(id) else { return .dead }
    switch family.tokens(at: now).verdict(on: generation, at: now) {
    case .rotate: return .refreshed(try rotate(family, from: origin, at: now))
    case .sameAgain: return .refreshed(family.session)
    case .dead: return .dead
    case .tooLate:
      try audit(
        .refreshRefused, account: family.accountID, device: family.deviceID,
        detail: "another call has just refreshed", from: origin, at: now)
      return .tooLate
    case .reused:
      try endSessions(of: family.deviceID, because: .reuse, at: now)
      try audit(
        .refreshReuse, account: family.accountID, device: family.deviceID,
        detail: "generation \(generation) of \(family.generation)", from: origin, at: now)
      return .reused
    }
  }

  private mutating func rotate(
    _ family: Family, from origin: Origin, at now: Timestamp
  ) throws -> Session {
    let expiresAt = min(now + Session.idleLifetime, family.createdAt + Session.lifetime)
    let rotated = try execute(
      """
      UPDATE sessions SET generation = generation + 1, confirmed = FALSE, rotated_at = ?, expires_at = ?
      WHERE id = ? AND generation = ? AND ended_at IS NULL
      """,
      [.time(now), .time(expiresAt), .text(family.id), .integer(family.generation)])
    guard rotated == 1 else { throw LostRace() }
    // After the race: who has lost it is told the outcome, though it was the last that the limit allows.
    try count(.rotations, of: family.id, at: now)
    try audit(
      .refreshed, account: family.accountID, device: family.deviceID,
      detail: "generation \(family.generation + 1)", from: origin, at: now)
    return Session(
      id: family.id, accountID: family.accountID, clientDeviceID: family.clientDeviceID,
      generation: family.generation + 1, rotatedAt: now, expiresAt: expiresAt)
  }

  private mutating func family(_ id: String) throws -> Family? {
    try row(
      """
      SELECT s.id, s.generation, s.confirmed, s.created_at, s.rotated_at, s.expires_at,
        s.ended_at IS NOT NULL OR d.revoked_at IS NOT NULL, d.id, d.client_device_id, d.account_id
      FROM sessions s JOIN devices d ON d.id = s.device_id WHERE s.id = ?
      """,
      [.text(id)]
    ) { row in Family(row: row) }
  }
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

  init(row: borrowing Row) {
    id = row.text(0)
    generation = row.integer(1)
    confirmed = row.boolean(2)
    createdAt = Timestamp(milliseconds: row.milliseconds(3))
    rotatedAt = Timestamp(milliseconds: row.milliseconds(4))
    expiresAt = Timestamp(milliseconds: row.milliseconds(5))
    ended = row.boolean(6)
    deviceID = row.text(7)
    clientDeviceID = row.text(8)
    accountID = row.text(9)
  }

  func tokens(at now: Timestamp) -> RefreshFamily {
    RefreshFamily(
      generation: generation, isConfirmed: confirmed, rotatedAt: rotatedAt,
      isAlive: !ended && expiresAt > now)
  }

  var session: Session {
    Session(
      id: id, accountID: accountID, clientDeviceID: clientDeviceID, generation: generation,
      rotatedAt: rotatedAt, expiresAt: expiresAt)
  }
}

package import Base
import MariaDB

/// Phones that have exchanged a pairing token.
package struct PairedDevices: Sendable {
  let records: Records

  /// Spends a pairing token and pairs a phone. Only one of several simultaneous calls succeeds.
  ///
  /// - Parameters:
  ///   - id: the id of the device, a UUID made by the caller.
  ///   - userAgent: the app's description of itself.
  /// - Returns: nil if the token is spent, revoked, expired or another server's.
  package func pair(
    _ id: String, exchanging token: PairingToken, userAgent: String
  ) throws -> PairedDevice? {
    let now = records.now
    guard token.kind == .pairing, !token.hasExpired(at: now) else { return nil }
    let device = PairedDevice(
      id: id, serverID: token.serverID, place: TokenPlace(generation: 1, branch: 0), pairedAt: now,
      rotatedAt: now,
      expiresAt: PairedDevice.expiry(of: now, pairedAt: now))
    return try records.transaction { transaction in
      guard try transaction.pairedDevices.spend(token) else { return nil }
      try transaction.pairedDevices.insert(device, userAgent: userAgent)
      try transaction.audit.write(.phonePaired, device: id)
      return device
    }
  }

  /// Counts and records an exchange that failed.
  ///
  /// - Throws: ``RateLimited`` at more than 10 a minute from one address.
  package func countFailedExchange() throws {
    try records.transaction { transaction in
      try transaction.limits.countAddress(.failedExchanges)
      try transaction.audit.write(.exchangeRefused)
    }
  }

  /// Handles a phone's refresh token as ``RefreshFamily/verdict(on:from:at:)`` decides.
  ///
  /// - Throws: ``RateLimited`` at more than 30 rotations an hour.
  package func refresh(_ token: PairingToken) throws -> PairingRefresh {
    let now = records.now
    guard token.kind == .refresh, !token.hasExpired(at: now), let id = token.deviceID else {
      return .dead
    }
    return try records.repeatingLostRaces { transaction in
      let statements = transaction.pairedDevices
      guard let family = try statements.find(id, of: token.serverID) else { return .dead }
      let device = family.device
      let newest = family.tokens.newest
      let verdict = family.tokens.verdict(
        on: token.place, from: records.origin.refreshNetwork, at: now)
      switch verdict {
      case .rotate, .branch:
        guard now < device.pairedAt + PairedDevice.lifetime else { return .dead }
        if case .rotate = verdict {
          return .refreshed(try statements.rotate(device, with: newest))
        }
        return .refreshed(try statements.branch(device, of: newest))
      case .sameAgain: return .refreshed(try statements.answerAgain(device, at: newest))
      case .dead: return .dead
      case .tooLate:
        try transaction.audit.write(
          .refreshRefused, device: id, detail: "another call has just refreshed")
        return .tooLate
      case .reused:
        try statements.lock(device, at: newest)
        _ = try statements.end(id, because: .reuse)
        return .dead
      }
    }
  }

  /// Ends the pairing of an access token of a dead branch: the phone or a thief has used what the other
  /// one's refresh replaced.
  func endCopied(_ id: String) throws {
    _ = try records.transaction { transaction in
      try transaction.pairedDevices.end(id, because: .reuse)
    }
  }

  /// Ends the pairing that a refresh token belongs to, however old the token is.
  package func unpair(holderOf token: PairingToken) throws {
    guard let id = token.deviceID else { return }
    _ = try records.transaction { transaction in
      try transaction.pairedDevices.end(id, because: .phone)
    }
  }

  /// Ends a pairing for an administrator.
  ///
  /// - Returns: false if no living pairing has this id.
  package func revoke(_ id: String) throws -> Bool {
    try records.transaction { transaction in
      try transaction.pairedDevices.end(id, because: .administrator)
    }
  }

  /// Names a phone.
  ///
  /// - Returns: false if no living pairing has this id.
  package func rename(_ id: String, to name: PhoneName) throws -> Bool {
    try records.transaction { transaction in
      try transaction.pairedDevices.rename(id, to: name)
    }
  }

  /// The phone that was paired last, if it was paired after `instant` and may still reach the
  /// agent.
  package func newest(since instant: Timestamp) throws -> ListedDevice? {
    try list().filter { $0.pairedAt > instant }.max { $0.pairedAt < $1.pairedAt }
  }

  /// The phones that may reach the agent, the last used one first.
  package func list() throws -> [ListedDevice] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id, NULLIF(name, ''), user_agent, address, paired_at, last_used_at FROM pairings
        WHERE ended_at IS NULL AND expires_at > ? ORDER BY last_used_at DESC, id
        """,
        [.time(records.now)]
      ) { row in
        ListedDevice(
          id: row.text(0), givenName: row.optionalText(1), userAgent: row.text(2),
          address: row.text(3), pairedAt: row.timestamp(4), lastUsedAt: row.timestamp(5))
      }
    }
  }
}

extension Records {
  package var pairedDevices: PairedDevices { PairedDevices(records: self) }
}

/// Statements on `pairings`.
struct PairedDeviceStatements: ~Copyable {
  let transaction: Transaction

  fileprivate func spend(_ token: PairingToken) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE pairing_tokens SET spent_at = ?
      WHERE nonce = ? AND spent_at IS NULL AND revoked_at IS NULL
        AND EXISTS (SELECT 1 FROM pairing_server WHERE server_id = ?)
      """,
      [.time(transaction.now), .text(token.nonce), .text(token.serverID)]) == 1
  }

  fileprivate func insert(_ device: PairedDevice, userAgent: String) throws(DatabaseError) {
    let now = Parameter.time(transaction.now)
    _ = try transaction.connection.execute(
      """
      INSERT INTO pairings
        (id, user_agent, address, paired_at, last_used_at, rotated_at, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(device.id), .text(userAgent.cut(to: 200).withoutControls),
        .text(transaction.origin.storedAddress),
        now, now, now, .time(device.expiresAt),
      ])
  }

  fileprivate func find(
    _ id: String, of serverID: String
  ) throws(DatabaseError) -> (device: PairedDevice, tokens: RefreshFamily)? {
    try transaction.connection.row(
      """
      SELECT p.generation, p.branch, p.first_branch, p.confirmed, p.rotated_at, p.expires_at,
        p.ended_at, p.paired_at, IF(p.confirmed, GREATEST(p.rotated_at, p.last_used_at), p.rotated_at),
        p.rotated_from, COALESCE(p.answered_at, p.rotated_at)
      FROM pairings p JOIN pairing_server s ON s.server_id = ? WHERE p.id = ?
      """,
      [.text(serverID), .text(id)]
    ) { row in
      let newest = NewestTokens(
        generation: row.integer(0), branch: row.integer(1), firstBranch: row.integer(2))
      let device = PairedDevice(
        id: id, serverID: serverID,
        place: TokenPlace(generation: newest.generation, branch: newest.branch),
        pairedAt: row.timestamp(7), rotatedAt: row.timestamp(4), expiresAt: row.timestamp(5))
      return (
        device,
        RefreshFamily(
          newest: newest, isConfirmed: row.boolean(3), answeredAt: row.timestamp(10),
          changedAt: row.timestamp(8), network: row.text(9), isAlive: row.isNull(6))
      )
    }
  }

  /// Makes a successor of the newest refresh token.
  ///
  /// - Throws: ``LostRace``; ``RateLimited``.
  fileprivate func rotate(
    _ device: PairedDevice, with newest: NewestTokens
  ) throws -> PairedDevice {
    let now = transaction.now
    let expiresAt = PairedDevice.expiry(of: now, pairedAt: device.pairedAt.past(at: now))
    let rotated = try transaction.connection.execute(
      """
      UPDATE pairings SET generation = generation + 1, first_branch = branch, confirmed = FALSE,
        rotated_from = ?, rotated_at = ?, answered_at = NULL, expires_at = ?
      WHERE id = ? AND generation = ? AND branch = ? AND ended_at IS NULL
      """,
      [
        .text(transaction.origin.refreshNetwork), .time(now), .time(expiresAt), .text(device.id),
        .integer(newest.generation), .integer(newest.branch),
      ])
    guard rotated == 1 else { throw LostRace() }
    try transaction.limits.count(.rotations, of: device.id)  // after the race, as sessions do
    try transaction.audit.write(
      .refreshed, device: device.id, detail: "generation \(newest.generation + 1)")
    return device.with(
      TokenPlace(generation: newest.generation + 1, branch: newest.branch), rotatedAt: now,
      expiresAt: expiresAt)
  }

  /// Locks a pairing as it was read.
  ///
  /// - Throws: ``LostRace``.
  fileprivate func lock(_ device: PairedDevice, at newest: NewestTokens) throws {
    let isSame = try transaction.connection.row(
      """
      SELECT TRUE FROM pairings
      WHERE id = ? AND generation = ? AND branch = ? AND ended_at IS NULL FOR UPDATE
      """,
      [.text(device.id), .integer(newest.generation), .integer(newest.branch)]
    ) { row in row.boolean(0) }
    guard isSame == true else { throw LostRace() }
  }

  /// Gives out the newest refresh token again, as sessions do.
  ///
  /// - Throws: ``LostRace``.
  fileprivate func answerAgain(
    _ device: PairedDevice, at newest: NewestTokens
  ) throws -> PairedDevice {
    try lock(device, at: newest)
    _ = try transaction.connection.execute(
      "UPDATE pairings SET answered_at = ? WHERE id = ? AND generation = ? AND branch = ?",
      [
        .time(transaction.now), .text(device.id), .integer(newest.generation),
        .integer(newest.branch),
      ])
    try transaction.audit.write(
      .refreshRepeated, device: device.id,
      detail: "generation \(newest.generation), the same tokens")
    return device
  }

  /// Makes another successor of the refresh token before the newest, which dies.
  ///
  /// - Throws: ``LostRace``, also if the newest has been used meanwhile.
  fileprivate func branch(
    _ device: PairedDevice, of newest: NewestTokens
  ) throws -> PairedDevice {
    let now = transaction.now
    let expiresAt = PairedDevice.expiry(of: now, pairedAt: device.pairedAt.past(at: now))
    let branched = try transaction.connection.execute(
      """
      UPDATE pairings SET branch = branch + 1, rotated_from = ?, rotated_at = ?, answered_at = NULL,
        expires_at = ?
      WHERE id = ? AND generation = ? AND branch = ? AND NOT confirmed AND ended_at IS NULL
      """,
      [
        .text(transaction.origin.refreshNetwork), .time(now), .time(expiresAt), .text(device.id),
        .integer(newest.generation), .integer(newest.branch),
      ])
    guard branched == 1 else { throw LostRace() }
    try transaction.audit.write(
      .refreshRepeated, device: device.id,
      detail: "generation \(newest.generation), other tokens: \(newest.lateAnswers + 1) of 10")
    return device.with(
      TokenPlace(generation: newest.generation, branch: newest.branch + 1), rotatedAt: now,
      expiresAt: expiresAt)
  }

  /// - Returns: false if no living pairing has this id.
  fileprivate func rename(_ id: String, to name: PhoneName) throws(DatabaseError) -> Bool {
    // An UPDATE that changes nothing affects no row, so it does not show whether the pairing is
    // alive.
    let isAlive = try transaction.connection.row(
      "SELECT TRUE FROM pairings WHERE id = ? AND ended_at IS NULL AND expires_at > ?",
      [.text(id), .time(transaction.now)]
    ) { row in row.boolean(0) }
    guard isAlive == true else { return false }
    _ = try transaction.connection.execute(
      "UPDATE pairings SET name = ? WHERE id = ?", [.text(name.text), .text(id)])
    try transaction.audit.write(.phoneRenamed, device: id)
    return true
  }

  /// - Returns: false if no living pairing has this id.
  fileprivate func end(_ id: String, because end: PairingEnd) throws(DatabaseError) -> Bool {
    let ended = try transaction.connection.execute(
      "UPDATE pairings SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL",
      [.time(transaction.now), .text(end.rawValue), .text(id)])
    guard ended == 1 else { return false }
    try transaction.audit.write(
      end == .reuse ? .refreshReuse : .pairingEnded, device: id, detail: "by \(end.rawValue)")
    return true
  }

  /// - Returns: how many pairings have ended.
  func endAll() throws(DatabaseError) -> Int {
    try transaction.connection.execute(
      "UPDATE pairings SET ended_at = ?, end_reason = ? WHERE ended_at IS NULL",
      [.time(transaction.now), .text(PairingEnd.revokeAll.rawValue)])
  }
}

extension Transaction {
  var pairedDevices: PairedDeviceStatements {
    PairedDeviceStatements(transaction: Transaction(sharing: self))
  }
}

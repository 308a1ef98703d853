package import Base
import Cryptography
import MariaDB

/// Phones that have exchanged a pairing token: each has a family of refresh tokens.
package struct PairedDevice: Sendable {
  /// `device_id` of its tokens.
  package let id: String
  let serverID: String
  let generation: Int64
  /// When the newest generation was made.
  let rotatedAt: Timestamp
  let expiresAt: Timestamp

  /// A new access token of the newest generation.
  package func accessToken(_ minting: Minting) -> PairingToken {
    PairingToken(
      .access, serverID: serverID, issuedAt: minting.now,
      nonce: PairingToken.nonce(ofGeneration: generation, minting.randomBytes), deviceID: id)
  }

  /// The refresh token of the newest generation: made of nothing but the row and our keys, so that
  /// the same one can be made again.
  package func refreshToken(_ minting: Minting) -> PairingToken {
    let rest = hmacSHA256("pairing refresh\n\(id)\n\(generation)", with: minting.keys.newest)
    return PairingToken(
      .refresh, serverID: serverID, issuedAt: rotatedAt, expiresAt: expiresAt,
      nonce: PairingToken.nonce(ofGeneration: generation, rest), deviceID: id)
  }
}

/// What became of a phone's refresh token that was presented.
package enum PairingRefresh: Sendable {
  /// A successor was made, or is handed out again.
  case refreshed(PairedDevice)
  /// Another call has just refreshed; nothing has changed.
  case tooLate
  /// The pairing has ended: now, if the token had been used before.
  case dead
}

/// A phone that may reach the agent, for administrators.
package struct ListedDevice: Sendable {
  package let id: String
  /// As the app says.
  package let userAgent: String
  /// When it was paired.
  package let address: String
  package let pairedAt: Timestamp
  /// Up to 15 minutes too early.
  package let lastUsedAt: Timestamp
}

extension Database {
  /// Spends a pairing token: of many that try at once, one gets a device.
  ///
  /// - Parameters:
  ///   - id: of the device, a UUID made by the caller.
  ///   - userAgent: what the app says of itself.
  /// - Returns: nil where the token is spent, revoked, expired or another server's.
  package func exchange(
    _ token: PairingToken, forDevice id: String, userAgent: String, from origin: Origin,
    at now: Timestamp
  ) throws -> PairedDevice? {
    guard token.kind == .pairing, !token.hasExpired(at: now) else { return nil }
    return try pool.transaction { connection in
      let spent = try connection.execute(
        """
        UPDATE pairing_tokens SET spent_at = ?
        WHERE nonce = ? AND spent_at IS NULL AND revoked_at IS NULL
          AND EXISTS (SELECT 1 FROM pairing_server WHERE server_id = ?)
        """,
        [.time(now), .text(token.nonce), .text(token.serverID)])
      guard spent == 1 else { return nil }
      let device = PairedDevice(
        id: id, serverID: token.serverID, generation: 1, rotatedAt: now,
        expiresAt: now + PairingToken.Kind.refresh.lifetime)
      _ = try connection.execute(
        """
        INSERT INTO pairings
          (id, user_agent, address, paired_at, last_used_at, rotated_at, expires_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .text(id), .text(userAgent.cut(to: 200)), .text(origin.address.cut(to: 45)), .time(now),
          .time(now), .time(now), .time(device.expiresAt),
        ])
      try connection.audit(.phonePaired, device: id, from: origin, at: now)
      return device
    }
  }

  /// Counts and writes down an exchange that failed.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)``: more than 10 a minute from one address.
  package func countFailedExchange(from origin: Origin, at now: Timestamp) throws {
    try pool.transaction { connection in
      try connection.count(.failedExchanges, of: origin.address, at: now)
      try connection.audit(.exchangeRefused, from: origin, at: now)
    }
  }

  /// Does with a phone's refresh token what ``RefreshFamily/verdict(on:at:)`` says.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` at more than 30 rotations an hour.
  package func refresh(
    _ token: PairingToken, from origin: Origin, at now: Timestamp
  ) throws -> PairingRefresh {
    guard token.kind == .refresh, !token.hasExpired(at: now), let id = token.deviceID else {
      return .dead
    }
    return try repeatingLostRaces { connection in
      guard let family = try connection.pairing(id, of: token.serverID) else {
        return .dead
      }
      switch family.tokens.verdict(on: token.generation, at: now) {
      case .rotate: return .refreshed(try connection.rotate(family.device, from: origin, at: now))
      case .sameAgain: return .refreshed(family.device)
      case .dead: return .dead
      case .tooLate:
        try connection.audit(
          .refreshRefused, device: id, detail: "another call has just refreshed", from: origin,
          at: now)
        return .tooLate
      case .reused:
        _ = try connection.endPairing(id, because: .reuse, from: origin, at: now)
        return .dead
      }
    }
  }

  /// Ends the pairing that a refresh token belongs to, however old the token is.
  package func endPairing(of token: PairingToken, from origin: Origin, at now: Timestamp) throws {
    guard let id = token.deviceID else { return }
    try pool.transaction { connection in
      _ = try connection.endPairing(id, because: .phone, from: origin, at: now)
    }
  }

  /// Ends a pairing for an administrator.
  ///
  /// - Returns: false where no living pairing has this id.
  package func revokePairedDevice(
    _ id: String, from origin: Origin, at now: Timestamp
  ) throws -> Bool {
    try pool.transaction { connection in
      try connection.endPairing(id, because: .administrator, from: origin, at: now)
    }
  }

  /// The phones that may reach the agent, the one that was used last first.
  package func pairedDevices(at now: Timestamp) throws -> [ListedDevice] {
    try pool.read { connection in
      try connection.rows(
        """
        SELECT id, user_agent, address, paired_at, last_used_at FROM pairings
        WHERE ended_at IS NULL AND expires_at > ? ORDER BY last_used_at DESC, id
        """,
        [.time(now)]
      ) { row in
        ListedDevice(
          id: row.text(0), userAgent: row.text(1), address: row.text(2),
          pairedAt: Timestamp(milliseconds: row.milliseconds(3)),
          lastUsedAt: Timestamp(milliseconds: row.milliseconds(4)))
      }
    }
  }
}

private enum PairingEnd: String {
  case phone, administrator, reuse
}

extension Connection {
  fileprivate func pairing(
    _ id: String, of serverID: String
  ) throws -> (device: PairedDevice, tokens: RefreshFamily)? {
    try row(
      """
      SELECT p.generation, p.confirmed, p.rotated_at, p.expires_at, p.ended_at
      FROM pairings p JOIN pairing_server s ON s.server_id = ? WHERE p.id = ?
      """,
      [.text(serverID), .text(id)]
    ) { row in
      let device = PairedDevice(
        id: id, serverID: serverID, generation: row.integer(0),
        rotatedAt: Timestamp(milliseconds: row.milliseconds(2)),
        expiresAt: Timestamp(milliseconds: row.milliseconds(3)))
      return (
        device,
        RefreshFamily(
          generation: device.generation, isConfirmed: row.boolean(1), rotatedAt: device.rotatedAt,
          isAlive: row.isNull(4))
      )
    }
  }

  fileprivate func rotate(
    _ device: PairedDevice, from origin: Origin, at now: Timestamp
  ) throws -> PairedDevice {
    let expiresAt = now + PairingToken.Kind.refresh.lifetime
    let rotated = try execute(
      """
      UPDATE pairings
      SET generation = generation + 1, confirmed = FALSE, rotated_at = ?, expires_at = ?
      WHERE id = ? AND generation = ? AND ended_at IS NULL
      """,
      [.time(now), .time(expiresAt), .text(device.id), .integer(device.generation)])
    guard rotated == 1 else { throw LostRace() }
    try count(.rotations, of: device.id, at: now)  // after the race, as sessions do
    try audit(
      .refreshed, device: device.id, detail: "generation \(device.generation + 1)", from: origin,
      at: now)
    return PairedDevice(
      id: device.id, serverID: device.serverID, generation: device.generation + 1, rotatedAt: now,
      expiresAt: expiresAt)
  }

  fileprivate func endPairing(
    _ id: String, because end: PairingEnd, from origin: Origin, at now: Timestamp
  ) throws -> Bool {
    let ended = try execute(
      "UPDATE pairings SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL",
      [.time(now), .text(end.rawValue), .text(id)])
    guard ended == 1 else { return false }
    try audit(
      end == .reuse ? .refreshReuse : .pairingEnded, device: id, detail: "by \(end.rawValue)",
      from: origin, at: now)
    return true
  }
}

package import Base
import MariaDB

/// Whether a request to the agent may pass.
package enum Admission: Sendable, Equatable {
  case admitted
  /// What was shown was good once.
  case expired
  case refused
}

/// A ticket stands for a token in a URL, which ends up in logs: good once, for a minute.
package struct NewTicket: Sendable {
  package static let lifetime = Duration.seconds(60)

  /// SHA-256 of the ticket.
  package let hash: [UInt8]
  /// Of an access token, or of a pairing token in the legacy flow.
  package let owner: PairingToken

  package init(hash: [UInt8], owner: PairingToken) {
    self.hash = hash
    self.owner = owner
  }
}

extension Database {
  /// Whether a token that we signed lets through now. A pairing token is not spent by that; the first
  /// use of the newest access token confirms its generation.
  package func admit(_ token: PairingToken, at now: Timestamp) throws -> Admission {
    if token.kind == .refresh { return .refused }
    if token.hasExpired(at: now) { return .expired }
    let isAlive = try pool.read { connection in
      guard let device = token.deviceID else { return try connection.isOpen(token) }
      return try connection.isAlive(device, using: token, at: now)
    }
    return isAlive ? .admitted : .refused
  }

  /// - Returns: when the ticket expires.
  package func issue(_ ticket: NewTicket, at now: Timestamp) throws -> Timestamp {
    let expiresAt = now + NewTicket.lifetime
    try pool.write { connection in
      _ = try connection.execute(
        """
        INSERT INTO pairing_tickets (ticket_hash, pairing_id, nonce, expires_at)
        VALUES (?, ?, ?, ?)
        """,
        [
          .bytes(ticket.hash), .text(ticket.owner.deviceID),
          .text(ticket.owner.deviceID == nil ? ticket.owner.nonce : nil), .time(expiresAt),
        ])
    }
    return expiresAt
  }

  /// Spends the ticket with this SHA-256: of many that try at once, one passes, if the token that it
  /// stands for still would.
  package func spendTicket(_ hash: [UInt8], at now: Timestamp) throws -> Admission {
    try pool.transaction { connection in
      let spent = try connection.execute(
        """
        UPDATE pairing_tickets SET spent_at = ?
        WHERE ticket_hash = ? AND spent_at IS NULL AND expires_at >= ?
        """,
        [.time(now), .bytes(hash), .time(now)])
      if spent == 1 { return try connection.isOwnerAlive(ofTicket: hash) ? .admitted : .refused }
      let isUnspent = try connection.row(
        "SELECT spent_at IS NULL FROM pairing_tickets WHERE ticket_hash = ?", [.bytes(hash)]
      ) { row in row.boolean(0) }
      return isUnspent == true ? .expired : .refused
    }
  }
}

extension Connection {
  fileprivate func isOpen(_ token: PairingToken) throws -> Bool {
    try row(
      """
      SELECT TRUE FROM pairing_tokens t JOIN pairing_server s ON s.server_id = ?
      WHERE t.nonce = ? AND t.spent_at IS NULL AND t.revoked_at IS NULL
      """,
      [.text(token.serverID), .text(token.nonce)]
    ) { row in row.boolean(0) } ?? false
  }

  /// The confirmation may be repeated without harm, so it may stand among reads.
  fileprivate func isAlive(
    _ device: String, using token: PairingToken, at now: Timestamp
  ) throws -> Bool {
    let found = try row(
      """
      SELECT p.generation, p.confirmed FROM pairings p JOIN pairing_server s ON s.server_id = ?
      WHERE p.id = ? AND p.ended_at IS NULL
      """,
      [.text(token.serverID), .text(device)]
    ) { row in (generation: row.integer(0), confirmed: row.boolean(1)) }
    guard let found else { return false }
    if !found.confirmed, found.generation == token.generation {
      _ = try execute(
        """
        UPDATE pairings SET confirmed = TRUE, last_used_at = ?
        WHERE id = ? AND generation = ? AND NOT confirmed
        """,
        [.time(now), .text(device), .integer(token.generation)])
    }
    return true
  }

  fileprivate func isOwnerAlive(ofTicket hash: [UInt8]) throws -> Bool {
    try row(
      """
      SELECT TRUE FROM pairing_tickets k LEFT JOIN pairings p ON p.id = k.pairing_id
        LEFT JOIN pairing_tokens t ON t.nonce = k.nonce
      WHERE k.ticket_hash = ? AND (p.id IS NOT NULL AND p.ended_at IS NULL
        OR t.nonce IS NOT NULL AND t.spent_at IS NULL AND t.revoked_at IS NULL)
      """,
      [.bytes(hash)]
    ) { row in row.boolean(0) } ?? false
  }
}

package import Base
import MariaDB

/// Whether a request to the agent may pass.
package enum Admission: Sendable, Equatable {
  case admitted
  /// The token or ticket is genuine, and its time is over.
  case expired
  case refused
}

/// A ticket stands for a token in a URL, because URLs end up in logs. It can be used once, within a
/// minute.
package struct NewTicket: Sendable {
  package static let lifetime = Duration.seconds(60)

  /// SHA-256 of the ticket.
  package let hash: [UInt8]
  /// An access token, or in the legacy flow a pairing token.
  package let owner: PairingToken

  package init(hash: [UInt8], owner: PairingToken) {
    self.hash = hash
    self.owner = owner
  }
}

/// Decides who may reach the agent.
package struct AgentAccess: Sendable {
  let records: Records

  /// Whether the bearer of a token that we signed may pass now.
  ///
  /// A pairing token is not spent by that. The first use of the newest access token confirms its
  /// generation.
  package func admit(_ token: PairingToken) throws -> Admission {
    if token.kind == .refresh { return .refused }
    if token.hasExpired(at: records.now) { return .expired }
    let isAlive = try records.read { transaction in
      let statements = transaction.agentAccess
      guard let device = token.deviceID else { return try statements.isUnspent(token) }
      return try statements.isPaired(device, using: token)
    }
    return isAlive ? .admitted : .refused
  }

  /// - Returns: when the ticket expires.
  package func issue(_ ticket: NewTicket) throws -> Timestamp {
    let expiresAt = records.now + NewTicket.lifetime
    let owner = ticket.owner
    _ = try records.write { transaction in
      try transaction.connection.execute(
        """
        INSERT INTO pairing_tickets (ticket_hash, pairing_id, nonce, expires_at)
        VALUES (?, ?, ?, ?)
        """,
        [
          .bytes(ticket.hash), .text(owner.deviceID),
          .text(owner.deviceID == nil ? owner.nonce : nil), .time(expiresAt),
        ])
    }
    return expiresAt
  }

  /// Spends the ticket with this SHA-256. Of many requests that try at once one passes, if the
  /// ticket's token is still alive.
  package func spendTicket(_ hash: [UInt8]) throws -> Admission {
    try records.transaction { transaction in
      let statements = transaction.agentAccess
      if try statements.spendTicket(hash) {
        return try statements.isOwnerAlive(ofTicket: hash) ? .admitted : .refused
      }
      return try statements.isUnspent(ticket: hash) ? .expired : .refused
    }
  }
}

extension Records {
  package var agentAccess: AgentAccess { AgentAccess(records: self) }
}

/// Statements by which a request to the agent is let in.
private struct AgentAccessStatements: ~Copyable {
  let transaction: Transaction

  func isUnspent(_ token: PairingToken) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      """
      SELECT TRUE FROM pairing_tokens t JOIN pairing_server s ON s.server_id = ?
      WHERE t.nonce = ? AND t.spent_at IS NULL AND t.revoked_at IS NULL
      """,
      [.text(token.serverID), .text(token.nonce)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Whether the pairing of `device` is alive. The first use of the newest access token confirms its
  /// generation.
  ///
  /// The confirmation may be repeated without harm, so it may stand among reads.
  func isPaired(_ device: String, using token: PairingToken) throws(DatabaseError) -> Bool {
    let found = try transaction.connection.row(
      """
      SELECT p.generation, p.confirmed FROM pairings p JOIN pairing_server s ON s.server_id = ?
      WHERE p.id = ? AND p.ended_at IS NULL
      """,
      [.text(token.serverID), .text(device)]
    ) { row in (generation: row.integer(0), confirmed: row.boolean(1)) }
    guard let found else { return false }
    guard !found.confirmed, found.generation == token.generation else { return true }
    _ = try transaction.connection.execute(
      """
      UPDATE pairings SET confirmed = TRUE, last_used_at = ?
      WHERE id = ? AND generation = ? AND NOT confirmed
      """,
      [.time(transaction.now), .text(device), .integer(token.generation)])
    return true
  }

  func spendTicket(_ hash: [UInt8]) throws(DatabaseError) -> Bool {
    let now = Parameter.time(transaction.now)
    return try transaction.connection.execute(
      """
      UPDATE pairing_tickets SET spent_at = ?
      WHERE ticket_hash = ? AND spent_at IS NULL AND expires_at >= ?
      """,
      [now, .bytes(hash), now]) == 1
  }

  func isUnspent(ticket hash: [UInt8]) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      "SELECT spent_at IS NULL FROM pairing_tickets WHERE ticket_hash = ?", [.bytes(hash)]
    ) { row in row.boolean(0) } ?? false
  }

  func isOwnerAlive(ofTicket hash: [UInt8]) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
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

extension Transaction {
  fileprivate var agentAccess: AgentAccessStatements {
    AgentAccessStatements(transaction: Transaction(sharing: self))
  }
}

package import Base
import MariaDB
package import StoreCore

/// The decision on a request to the agent.
package enum Admission: Sendable, Equatable {
  case admitted(AgentClient)
  /// The token or ticket is genuine, but has expired.
  case expired
  case refused
}

/// A ticket replaces a token in a URL, because URLs end up in logs. It can be used once, within a
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

  /// Decides whether the bearer of a token that we signed may pass now.
  ///
  /// This does not spend a pairing token. The first use of the newest access token confirms its
  /// generation.
  package func admit(_ token: PairingToken) throws -> Admission {
    if token.kind == .refresh { return .refused }
    if token.hasExpired(at: records.now) { return .expired }
    let client: AgentClient? = try records.read { transaction in
      let statements = transaction.agentAccess
      guard let device = token.deviceID else {
        return try statements.isUnspent(token) ? .pairingToken(nonce: token.nonce) : nil
      }
      return try statements.phone(device, using: token)
    }
    return client.map { .admitted($0) } ?? .refused
  }

  /// - Throws: ``RateLimited``.
  /// - Returns: when the ticket expires.
  package func issue(_ ticket: NewTicket) throws -> Timestamp {
    let expiresAt = records.now + NewTicket.lifetime
    let owner = ticket.owner
    // Counted for the owner of the token, because a copied token comes from many addresses.
    _ = try records.transaction { transaction in
      try transaction.limits.count(.tickets, of: owner.deviceID ?? owner.nonce)
    }
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

  /// Spends the ticket with this SHA-256. Only one of several simultaneous requests passes, if the
  /// ticket's token is still alive.
  package func spendTicket(_ hash: [UInt8]) throws -> Admission {
    try records.transaction { transaction in
      let statements = transaction.agentAccess
      if try statements.spendTicket(hash) {
        return try statements.owner(ofTicket: hash).map { .admitted($0) } ?? .refused
      }
      return try statements.isUnspent(ticket: hash) ? .expired : .refused
    }
  }
}

extension Records {
  package var agentAccess: AgentAccess { AgentAccess(records: self) }
}

/// Statements that decide on requests to the agent.
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

  /// The phone `device`; nil if its pairing is not alive. The first use of the newest access token
  /// confirms its generation.
  /// The confirmation is safe to repeat, so it may run among reads.
  func phone(_ device: String, using token: PairingToken) throws(DatabaseError) -> AgentClient? {
    let found = try transaction.connection.row(
      """
      SELECT p.generation, p.confirmed, IF(p.name = '', p.user_agent, p.name)
      FROM pairings p JOIN pairing_server s ON s.server_id = ?
      WHERE p.id = ? AND p.ended_at IS NULL AND p.expires_at > ?
      """,
      [.text(token.serverID), .text(device), .time(transaction.now)]
    ) { row in
      (
        generation: row.integer(0), confirmed: row.boolean(1),
        client: AgentClient.phone(id: device, called: row.text(2))
      )
    }
    guard let found else { return nil }
    guard !found.confirmed, found.generation == token.generation else { return found.client }
    _ = try transaction.connection.execute(
      """
      UPDATE pairings SET confirmed = TRUE, last_used_at = ?
      WHERE id = ? AND generation = ? AND NOT confirmed
      """,
      [.time(transaction.now), .text(device), .integer(token.generation)])
    return found.client
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

  /// The owner of the ticket; nil if that pairing or pairing token is not alive.
  func owner(ofTicket hash: [UInt8]) throws(DatabaseError) -> AgentClient? {
    let now = Parameter.time(transaction.now)
    return try transaction.connection.row(
      """
      SELECT p.id, IF(p.name = '', p.user_agent, p.name), t.nonce
      FROM pairing_tickets k LEFT JOIN pairings p ON p.id = k.pairing_id
        LEFT JOIN pairing_tokens t ON t.nonce = k.nonce
      WHERE k.ticket_hash = ? AND (p.ended_at IS NULL AND p.expires_at > ?
        OR t.spent_at IS NULL AND t.revoked_at IS NULL AND t.expires_at >= ?)
      """,
      [.bytes(hash), now, now]
    ) { row in
      row.optionalText(2).map { .pairingToken(nonce: $0) }
        ?? .phone(id: row.text(0), called: row.text(1))
    }
  }
}

extension Transaction {
  fileprivate var agentAccess: AgentAccessStatements {
    AgentAccessStatements(transaction: Transaction(sharing: self))
  }
}

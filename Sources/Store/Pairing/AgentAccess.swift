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
  /// branch. The use of a dead branch ends the pairing.
  package func admit(_ token: PairingToken) throws -> Admission {
    if token.kind == .refresh { return .refused }
    if token.hasExpired(at: records.now) { return .expired }
    guard let device = token.deviceID else {
      let isUnspent = try records.read { transaction in
        try transaction.agentAccess.isUnspent(token)
      }
      return isUnspent ? .admitted(.pairingToken(nonce: token.nonce)) : .refused
    }
    switch try records.read({ try $0.agentAccess.phone(device, using: token) }) {
    case .living(let client): return .admitted(client)
    case .refused: return .refused
    case .dead:
      try records.pairedDevices.endCopied(device)
      return .refused
    }
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

/// The decision on the access token of a phone.
private enum PhoneAdmission {
  case living(AgentClient)
  /// The pairing is not alive, or the branch of the token may be dead.
  case refused
  /// The branch of the token is dead.
  case dead
}

/// The pairing of a phone that may reach the agent.
private struct LivePairing {
  let newest: NewestTokens
  let isConfirmed: Bool
  let client: AgentClient

  func admission(of place: TokenPlace) -> PhoneAdmission {
    switch newest.standing(of: place) {
    case .living: .living(client)
    case .unknown: .refused
    case .dead: .dead
    }
  }
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

  /// Whether the phone `device` may pass. The first use of the newest access token confirms its branch.
  ///
  /// The confirmation is safe to repeat, so it may run among reads.
  func phone(_ device: String, using token: PairingToken) throws(DatabaseError) -> PhoneAdmission {
    guard let found = try pairing(device, of: token.serverID) else { return .refused }
    let admission = found.admission(of: token.place)
    guard case .living = admission, !found.isConfirmed,
      found.newest.areConfirmed(by: token.place)
    else { return admission }
    let confirmed = try transaction.connection.execute(
      """
      UPDATE pairings SET confirmed = TRUE, last_used_at = ?
      WHERE id = ? AND generation = ? AND branch = ? AND NOT confirmed
      """,
      [
        .time(transaction.now), .text(device), .integer(found.newest.generation),
        .integer(found.newest.branch),
      ])
    if confirmed == 1 { return admission }
    // Another request has confirmed the branch, or replaced it.
    return try pairing(device, of: token.serverID)?.admission(of: token.place) ?? .refused
  }

  private func pairing(
    _ device: String, of serverID: String
  ) throws(DatabaseError) -> LivePairing? {
    try transaction.connection.row(
      """
      SELECT p.generation, p.branch, p.first_branch, p.confirmed, IF(p.name = '', p.user_agent, p.name)
      FROM pairings p JOIN pairing_server s ON s.server_id = ?
      WHERE p.id = ? AND p.ended_at IS NULL AND p.expires_at > ?
      """,
      [.text(serverID), .text(device), .time(transaction.now)]
    ) { row in
      LivePairing(
        newest: NewestTokens(
          generation: row.integer(0), branch: row.integer(1), firstBranch: row.integer(2)),
        isConfirmed: row.boolean(3), client: .phone(id: device, called: row.text(4)))
    }
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

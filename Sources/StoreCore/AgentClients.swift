package import Base
package import MariaDB

/// The clients of the agent, as the relay asks the database about them.
package struct AgentClients: Sendable {
  package let pool: Pool

  package init(_ settings: ConnectionSettings) {
    pool = Pool(settings)
  }

  /// The clients that are not admitted any more: their pairing has ended, or their pairing token is
  /// spent, revoked or expired.
  package func ended(
    among clients: Set<AgentClient>, at now: Timestamp
  ) throws -> Set<AgentClient> {
    // A phone that was renamed meanwhile is in the set under each of its names.
    var (phones, nonces) = ([String: Set<AgentClient>](), [String: Set<AgentClient>]())
    for client in clients {
      switch client {
      case .phone(let id, _): phones[id, default: []].insert(client)
      case .pairingToken(let nonce): nonces[nonce, default: []].insert(client)
      case .anyone: break
      }
    }
    let ended = try pool.read { connection in
      try connection.ended(
        phones: Array(phones.keys), nonces: Array(nonces.keys),
        at: .dateTime(milliseconds: now.milliseconds))
    }
    return Set(ended.flatMap { phones[$0] ?? nonces[$0] ?? [] })
  }
}

extension Connection {
  /// The ids and nonces among these that may not reach the agent.
  fileprivate func ended(
    phones: [String], nonces: [String], at now: Parameter
  ) throws(DatabaseError) -> [String] {
    try rows(
      """
      SELECT held.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS held
        LEFT JOIN pairings p ON p.id = held.id AND p.ended_at IS NULL AND p.expires_at > ?
      WHERE p.id IS NULL
      UNION ALL
      SELECT held.nonce FROM JSON_TABLE(?, '$[*]' COLUMNS (nonce CHAR(16) PATH '$')) AS held
        LEFT JOIN pairing_tokens t ON t.nonce = held.nonce AND t.spent_at IS NULL
          AND t.revoked_at IS NULL AND t.expires_at >= ?
      WHERE t.nonce IS NULL
      """,
      [.bytes(JSONWriter.array(of: phones)), now, .bytes(JSONWriter.array(of: nonces)), now]
    ) { row in row.text(0) }
  }
}

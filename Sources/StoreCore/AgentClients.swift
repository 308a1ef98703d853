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
    var (ids, nonces) = (Set<String>(), Set<String>())
    for client in clients {
      switch client {
      case .phone(let id, _): ids.insert(id)
      case .pairingToken(let nonce): nonces.insert(nonce)
      case .anyone: break
      }
    }
    let time = Parameter.dateTime(milliseconds: now.milliseconds)
    let admitted = try pool.read { connection in
      (
        phones: try connection.admitted(phones: Array(ids), at: time),
        nonces: try connection.admitted(nonces: Array(nonces), at: time)
      )
    }
    return clients.filter { client in
      switch client {
      case .phone(let id, _): !admitted.phones.contains(id)
      case .pairingToken(let nonce): !admitted.nonces.contains(nonce)
      case .anyone: false
      }
    }
  }
}

extension Connection {
  /// Number of places in the lists below. MariaDB drops repeated values before it looks for rows.
  private static let places = 8

  /// The ids of these pairings that are admitted.
  fileprivate func admitted(phones: [String], at now: Parameter) throws -> Set<String> {
    try admitted(
      """
      SELECT id FROM pairings
      WHERE id IN (?, ?, ?, ?, ?, ?, ?, ?) AND ended_at IS NULL AND expires_at > ?
      """, among: phones, at: now)
  }

  /// The nonces of these pairing tokens that are admitted.
  fileprivate func admitted(nonces: [String], at now: Parameter) throws -> Set<String> {
    try admitted(
      """
      SELECT nonce FROM pairing_tokens
      WHERE nonce IN (?, ?, ?, ?, ?, ?, ?, ?) AND spent_at IS NULL AND revoked_at IS NULL
        AND expires_at >= ?
      """, among: nonces, at: now)
  }

  /// Executes `statement` for ``places`` of the keys at a time. Lookups by key cost a quarter of a
  /// join with `JSON_TABLE`.
  private func admitted(
    _ statement: StaticString, among keys: [String], at now: Parameter
  ) throws -> Set<String> {
    var admitted: Set<String> = []
    for start in stride(from: 0, to: keys.count, by: Self.places) {
      let part = keys[start...].prefix(Self.places)
      let padding = repeatElement(part[start], count: Self.places - part.count)
      let parameters = (part + padding).map { Parameter.text($0) } + [now]
      try admitted.formUnion(rows(statement, parameters) { row in row.text(0) })
    }
    return admitted
  }
}

package import Base
import MariaDB

/// A device token that was removed because its channel reported it as dead.
package struct RemovedToken: Sendable {
  package let token: String
  /// By the database's clock.
  package let removedAt: Timestamp
}

extension Deliveries {
  /// At most `limit` removed tokens that begin with `prefix`, with the time of their last removal.
  package func removedTokens(beginning prefix: String, limit: Int) throws -> [RemovedToken] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT token, removed_at FROM dead_tokens WHERE token BETWEEN ? AND CONCAT(?, '~')
        ORDER BY token LIMIT ?
        """,
        [.text(prefix), .text(prefix), .integer(Int64(limit))]
      ) { row in RemovedToken(token: row.text(0), removedAt: row.timestamp(1)) }
    }
  }
}

/// Statements on `dead_tokens`.
struct DeadTokenStatements: ~Copyable {
  let transaction: Transaction

  func note(_ token: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO dead_tokens (token, removed_at) VALUES (?, UTC_TIMESTAMP(3))
      ON DUPLICATE KEY UPDATE removed_at = VALUES(removed_at)
      """,
      [.text(token)])
  }
}

extension Transaction {
  var deadTokens: DeadTokenStatements {
    DeadTokenStatements(transaction: Transaction(sharing: self))
  }
}

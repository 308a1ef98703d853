package import Base
import MariaDB

/// An API key of the turns' apps as administrators see it.
package struct APIKeyRecord: Sendable {
  package let userID: Int64
  /// The first characters of the key, by which people recognize it.
  package let prefix: String
  package let description: String
  package let createdAt: Timestamp
  /// nil while the key is valid.
  package let revokedAt: Timestamp?
}

/// Keys as administrators see them.
extension APIKeys {
  /// At most `limit` keys of users in `ids`, by user.
  package func list(
    ofUsers ids: ClosedRange<Int64>, limit: Int
  ) throws -> FirstRows<APIKeyRecord> {
    let found = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT ogs_user_id, key_prefix, description, created_at, revoked_at
        FROM api_keys FORCE INDEX (api_keys_user)
        WHERE ogs_user_id BETWEEN ? AND ? ORDER BY ogs_user_id, description LIMIT ?
        """,
        [.integer(ids.lowerBound), .integer(ids.upperBound), .integer(Int64(limit) + 1)]
      ) { row in
        APIKeyRecord(
          userID: row.integer(0), prefix: row.text(1), description: row.text(2),
          createdAt: row.timestamp(3), revokedAt: row.optionalTimestamp(4))
      }
    }
    return FirstRows(found, limit: limit)
  }

  /// Revokes the keys of a user that begin with `prefix`, the 8 characters that lists show.
  ///
  /// - Returns: the number of keys that were valid.
  package func revoke(beginning prefix: String, of userID: Int64) throws -> Int {
    try records.transaction { transaction in
      let revoked = try transaction.connection.execute(
        """
        UPDATE api_keys SET revoked_at = ?
        WHERE ogs_user_id = ? AND key_prefix = ? AND revoked_at IS NULL
        """,
        [.time(transaction.now), .integer(userID), .text(prefix)])
      guard revoked > 0 else { return 0 }
      try transaction.audit.write(
        .apiKeyRevoked, detail: "\(prefix)… of OGS user \(userID), by an administrator")
      return revoked
    }
  }
}

package import Base
import Cryptography
import MariaDB

/// Who takes payments, and what is kept of his API key.
package struct Merchant: Sendable {
  package let id: String
  package let name: String
  /// The first characters of the key, by which administrators tell it.
  package let keyPrefix: String
  package let createdAt: Timestamp
  /// Since then the key is good for nothing.
  package let revokedAt: Timestamp?
}

extension Database {
  /// The id of the merchant whose key has the hash; nil where there is none, or it was revoked.
  package func merchant(withKeyHash hash: [UInt8]) throws -> String? {
    try pool.read { connection in
      try connection.row(
        "SELECT id FROM merchants WHERE api_key_hash = ? AND revoked_at IS NULL", [.bytes(hash)]
      ) { row in row.text(0) }
    }
  }

  /// All merchants, by name.
  package func merchants() throws -> [Merchant] {
    try pool.read { connection in
      try connection.rows(
        """
        SELECT id, name, api_key_prefix, created_at, revoked_at FROM merchants ORDER BY name, id
        """
      ) { row in
        Merchant(
          id: row.text(0), name: row.text(1), keyPrefix: row.text(2),
          createdAt: Timestamp(milliseconds: row.milliseconds(3)),
          revokedAt: row.optionalMilliseconds(4).map { Timestamp(milliseconds: $0) })
      }
    }
  }

  /// Adds a merchant.
  ///
  /// - Parameters:
  ///   - keyHash: SHA-256 of the API key.
  ///   - keyPrefix: its first characters.
  /// - Returns: the merchant's id.
  package func addMerchant(
    _ name: String, keyHash: [UInt8], keyPrefix: String, from origin: Origin, at now: Timestamp
  ) throws -> String {
    try pool.transaction { connection in
      let id = timeOrderedUUID(milliseconds: now.milliseconds)
      _ = try connection.execute(
        """
        INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at)
        VALUES (?, ?, ?, ?, ?)
        """,
        [.text(id), .text(name), .bytes(keyHash), .text(keyPrefix), .time(now)])
      try connection.audit(.merchantAdded, detail: id, from: origin, at: now)
      return id
    }
  }

  /// Makes the merchant's key good for nothing.
  ///
  /// - Returns: false where no merchant has this id and a good key.
  package func revokeMerchant(
    _ id: String, from origin: Origin, at now: Timestamp
  ) throws -> Bool {
    try pool.transaction { connection in
      let revoked = try connection.execute(
        "UPDATE merchants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
        [.time(now), .text(id)])
      guard revoked == 1 else { return false }
      try connection.audit(.merchantRevoked, detail: id, from: origin, at: now)
      return true
    }
  }
}

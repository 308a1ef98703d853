package import Base
import MariaDB

/// A merchant that takes payments, with the stored part of its API key.
package struct Merchant: Sendable {
  package let id: String
  package let name: String
  /// The first characters of the key, by which administrators recognize it.
  package let keyPrefix: String
  package let createdAt: Timestamp
  /// nil while the key is valid.
  package let revokedAt: Timestamp?
  /// Origins that its payments may return to, as browsers write them.
  package let returnOrigins: [String]
  /// Largest amount of one payment in any currency, as a decimal number; nil: no limit.
  package let largestAmount: String?
  /// Limit of its requests for payments.
  package let hourlyRequests: Int64
  /// Where it is told of outcomes; nil: it is not told.
  package let webhookURL: String?
}

/// A merchant whose server calls us.
package struct MerchantCaller: Sendable {
  package let id: String
  /// Origins that its payments may return to, as browsers write them.
  package let returnOrigins: [String]
  let hourlyRequests: Int64
}

package struct Merchants: Sendable {
  let records: Records

  /// The merchant whose key has the hash; nil if there is none, or it was revoked.
  package func find(withKeyHash hash: [UInt8]) throws -> MerchantCaller? {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT id, return_origins, hourly_requests FROM merchants
        WHERE api_key_hash = ? AND revoked_at IS NULL
        """,
        [.bytes(hash)]
      ) { row in
        MerchantCaller(
          id: row.text(0), returnOrigins: row.text(1).split(separator: " ").map(String.init),
          hourlyRequests: row.integer(2))
      }
    }
  }

  /// All merchants, by name.
  package func list() throws -> [Merchant] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id, name, api_key_prefix, created_at, revoked_at, return_origins,
          TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM largest_amount)), hourly_requests, webhook_url
        FROM merchants ORDER BY name, id
        """
      ) { row in
        Merchant(
          id: row.text(0), name: row.text(1), keyPrefix: row.text(2), createdAt: row.timestamp(3),
          revokedAt: row.optionalTimestamp(4),
          returnOrigins: row.text(5).split(separator: " ").map(String.init),
          largestAmount: row.optionalText(6), hourlyRequests: row.integer(7),
          webhookURL: row.optionalText(8))
      }
    }
  }

  /// Adds a merchant.
  ///
  /// - Parameters:
  ///   - keyHash: SHA-256 of the API key.
  ///   - keyPrefix: the key's first characters.
  /// - Returns: the merchant's id; nil if a merchant with a valid key has the name.
  @discardableResult
  package func add(_ name: String, keyHash: [UInt8], keyPrefix: String) throws -> String? {
    try records.transaction { transaction in
      let id = transaction.makeID()
      let added = try transaction.connection.execute(
        """
        INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at)
        SELECT ?, ?, ?, ?, ? FROM (SELECT COUNT(*) AS namesakes FROM merchants
          WHERE name = ? AND revoked_at IS NULL) m WHERE namesakes = 0
        """,
        [
          .text(id), .text(name), .bytes(keyHash), .text(keyPrefix), .time(transaction.now),
          .text(name),
        ])
      guard added == 1 else { return nil }
      try transaction.audit.write(.merchantAdded, detail: id)
      return id
    }
  }

  /// Revokes the merchant's API key.
  ///
  /// - Returns: false if no merchant has this id and a valid key.
  package func revoke(_ id: String) throws -> Bool {
    try records.transaction { transaction in
      let revoked = try transaction.connection.execute(
        "UPDATE merchants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
        [.time(transaction.now), .text(id)])
      guard revoked == 1 else { return false }
      try transaction.audit.write(.merchantRevoked, detail: id)
      return true
    }
  }
}

extension Records {
  package var merchants: Merchants { Merchants(records: self) }
}

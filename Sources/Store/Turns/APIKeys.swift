import Base
import MariaDB

/// A new API key, as it is stored.
package struct NewAPIKey: Sendable {
  /// SHA-256 of the key.
  package let hash: [UInt8]
  /// Its first 8 characters.
  package let prefix: String
  /// The user of online-go.com who owns the key.
  package let userID: Int64
  /// 1 to 200 characters.
  package let description: String

  package init(hash: [UInt8], prefix: String, userID: Int64, description: String) {
    self.hash = hash
    self.prefix = prefix
    self.userID = userID
    self.description = description
  }
}

/// The keys by which the turns' apps show for which user they ask.
package struct APIKeys: Sendable {
  let records: Records

  /// Counts a try of the master key, exactly under concurrency. A right try is given back.
  ///
  /// - Throws: ``RateLimited`` at more than 10 wrong tries a minute from one address. Then the
  ///   right key is refused too, so that guessing cannot go on.
  package func countMasterKeyTry(isRight: Bool) throws {
    try records.transaction { transaction in
      try transaction.limits.countAddress(.masterKeyTries)
      if isRight {
        try transaction.limits.giveBackAddress(.masterKeyTries)
      } else {
        try transaction.audit.write(.masterKeyRefused)
      }
    }
  }

  /// Stores a key.
  ///
  /// - Parameter replacesEarlier: whether it revokes the earlier key of the same user and description.
  package func issue(_ key: NewAPIKey, replacesEarlier: Bool) throws {
    try records.transaction { transaction in
      if replacesEarlier {
        _ = try transaction.connection.execute(
          """
          UPDATE api_keys SET revoked_at = ?
          WHERE ogs_user_id = ? AND description = ? AND revoked_at IS NULL
          """,
          [.time(records.now), .integer(key.userID), .text(key.description)])
      }
      try transaction.apiKeys.insert(key)
    }
  }

  /// Revokes the key with the SHA-256 `hash`, and stores another one with the same description.
  ///
  /// - Returns: the description; nil if the user has no such key, or another call was first.
  package func replace(
    _ hash: [UInt8], to newHash: [UInt8], prefix: String, of userID: Int64
  ) throws -> String? {
    try records.transaction { transaction in
      guard try transaction.apiKeys.revoke(hash, of: userID) else { return nil }
      let description = try transaction.connection.knownRow(
        "SELECT description FROM api_keys WHERE key_hash = ?", [.bytes(hash)]
      ) { row in row.text(0) }
      try transaction.apiKeys.insert(
        NewAPIKey(hash: newHash, prefix: prefix, userID: userID, description: description))
      return description
    }
  }

  /// Revokes the key with this SHA-256.
  ///
  /// - Returns: false if the user has no such key, or it was revoked before.
  package func revoke(_ hash: [UInt8], of userID: Int64) throws -> Bool {
    try records.transaction { transaction in
      guard try transaction.apiKeys.revoke(hash, of: userID) else { return false }
      try transaction.audit.write(.apiKeyRevoked, detail: "of OGS user \(userID)")
      return true
    }
  }

  /// The user of the key with this SHA-256, and whether ``TurnUsers/noteRequest(of:interval:)`` is
  /// due; nil if the key does not exist or is revoked.
  ///
  /// - Parameter interval: the time between two notes.
  package func user(
    ofKey hash: [UInt8], notedEach interval: Duration
  ) throws -> (id: Int64, isNoteDue: Bool)? {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT k.ogs_user_id, u.id IS NOT NULL AND COALESCE(
          u.asked_at NOT BETWEEN UTC_TIMESTAMP(3) - INTERVAL ? SECOND AND UTC_TIMESTAMP(3), TRUE)
        FROM api_keys k LEFT JOIN ogs_users u ON u.id = k.ogs_user_id
        WHERE k.key_hash = ? AND k.revoked_at IS NULL
        """,
        [.integer(interval.components.seconds), .bytes(hash)]
      ) { row in (row.integer(0), row.boolean(1)) }
    }
  }
}

extension Records {
  package var apiKeys: APIKeys { APIKeys(records: self) }
}

/// Statements on `api_keys`.
struct APIKeyStatements: ~Copyable {
  let transaction: Transaction

  fileprivate func insert(_ key: NewAPIKey) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO api_keys (key_hash, key_prefix, ogs_user_id, description, created_at)
      VALUES (?, ?, ?, ?, ?)
      """,
      [
        .bytes(key.hash), .text(key.prefix), .integer(key.userID), .text(key.description),
        .time(transaction.now),
      ])
    try transaction.audit.write(
      .apiKeyIssued, detail: "\(key.prefix)… for OGS user \(key.userID)")
  }

  /// Whether the key is live now. Call it after a statement that locks the user.
  func isLive(_ hash: [UInt8]) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      """
      SELECT TRUE FROM api_keys WHERE key_hash = ? AND revoked_at IS NULL LOCK IN SHARE MODE
      """,
      [.bytes(hash)]
    ) { row in row.boolean(0) } ?? false
  }

  /// - Returns: whether this call is the one that revokes the key.
  func revoke(_ hash: [UInt8], of userID: Int64) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE api_keys SET revoked_at = ?
      WHERE key_hash = ? AND ogs_user_id = ? AND revoked_at IS NULL
      """,
      [.time(transaction.now), .bytes(hash), .integer(userID)]) == 1
  }
}

extension Transaction {
  var apiKeys: APIKeyStatements { APIKeyStatements(transaction: Transaction(sharing: self)) }
}

import MariaDB

/// The access token of Google that all processes share.
package struct SharedAccessToken: Sendable, Equatable {
  /// For the companion alone; nil before the first
  package let sealed: String?
  /// Changes with each new token.
  package let generation: Int64
  /// The remaining lifetime, by the database's clock; zero if there is no token.
  package let remaining: Duration
}

/// Access tokens of service accounts for FCM.
package struct FCMAccessTokens: Sendable {
  let records: Records

  /// The newest token of a service account.
  package func newest(of account: String) throws -> SharedAccessToken {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT sealed, generation,
          COALESCE(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), expires_at), 0)
        FROM fcm_access_tokens WHERE account = ?
        """,
        [.text(account)]
      ) { row in
        SharedAccessToken(
          sealed: row.optionalText(0), generation: row.integer(1),
          remaining: .seconds(row.integer(2)))
      }
    } ?? SharedAccessToken(sealed: nil, generation: 0, remaining: .zero)
  }

  /// Claims for this process, for 20 seconds, the request for the token after `generation`.
  ///
  /// - Returns: false if another process has claimed it, or has already got the token.
  package func claim(_ account: String, after generation: Int64, as claimID: String) throws -> Bool
  {
    try records.transaction { transaction in
      _ = try transaction.connection.execute(
        """
        INSERT INTO fcm_access_tokens (account) VALUES (?)
        ON DUPLICATE KEY UPDATE account = account
        """,
        [.text(account)])
      // A claim that lasts longer was made before the clock was set back.
      return try transaction.connection.execute(
        """
        UPDATE fcm_access_tokens
        SET claim_id = ?, claimed_until = UTC_TIMESTAMP(3) + INTERVAL 20 SECOND
        WHERE account = ? AND generation = ? AND NOT
          claimed_until BETWEEN UTC_TIMESTAMP(3) AND UTC_TIMESTAMP(3) + INTERVAL 20 SECOND
        """,
        [.text(claimID), .text(account), .integer(generation)]) == 1
    }
  }

  /// Stores the token that this process has requested, unless another process has claimed it since.
  /// Ends the claim.
  package func keep(
    _ sealed: String, of account: String, for lifetime: Duration, by claimID: String
  ) throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        UPDATE fcm_access_tokens
        SET sealed = ?, expires_at = UTC_TIMESTAMP(3) + INTERVAL ? SECOND,
          generation = generation + 1, claim_id = NULL, claimed_until = UTC_TIMESTAMP(3)
        WHERE account = ? AND claim_id = ?
        """,
        [
          .text(sealed), .integer(lifetime.components.seconds), .text(account), .text(claimID),
        ])
    }
  }
}

extension Records {
  package var fcmAccessTokens: FCMAccessTokens { FCMAccessTokens(records: self) }
}

import MariaDB

/// The provider token that all processes of a team share.
package struct SharedProviderToken: Sendable, Equatable {
  /// For the companion alone
  package let sealed: String
  /// Changes with each new token.
  package let generation: Int64
  /// By the database's clock.
  package let age: Duration

  /// Whether the clock was set back since it was issued: Apple rejects a token from the future.
  package var isOfTheFuture: Bool { age < .seconds(-10) }
}

/// Provider tokens of APNs.
package struct ProviderTokens: Sendable {
  let records: Records

  /// The newest token; nil before the first.
  package func newest(team: String, key: String) throws -> SharedProviderToken? {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT sealed, generation,
          TIMESTAMPDIFF(MICROSECOND, issued_at, UTC_TIMESTAMP(3)) DIV 1000
        FROM provider_tokens WHERE team_id = ? AND key_id = ? AND sealed IS NOT NULL
        """,
        [.text(team), .text(key)]
      ) { row in
        SharedProviderToken(
          sealed: row.text(0), generation: row.integer(1), age: .milliseconds(row.integer(2)))
      }
    }
  }

  /// Replaces the token of `generation`, if it is still the newest and was issued at least
  /// `minimumAge` ago: Apple accepts one new token for a team in 20 minutes. A token from the
  /// future is replaced at once.
  ///
  /// - Parameter generation: 0 if there was no token.
  /// - Returns: whether this call replaced it.
  package func replace(
    team: String, key: String, sealed: String, generation: Int64, minimumAge: Duration
  ) throws -> Bool {
    try records.transaction { transaction in
      _ = try transaction.connection.execute(
        """
        INSERT INTO provider_tokens (team_id, key_id) VALUES (?, ?)
        ON DUPLICATE KEY UPDATE key_id = key_id
        """,
        [.text(team), .text(key)])
      return try transaction.connection.execute(
        """
        UPDATE provider_tokens
        SET sealed = ?, issued_at = UTC_TIMESTAMP(3), generation = generation + 1
        WHERE team_id = ? AND key_id = ? AND generation = ?
          AND (issued_at IS NULL OR issued_at <= UTC_TIMESTAMP(3) - INTERVAL ? SECOND
            OR issued_at > UTC_TIMESTAMP(3) + INTERVAL 10 SECOND)
        """,
        [
          .text(sealed), .text(team), .text(key), .integer(generation),
          .integer(minimumAge.components.seconds),
        ]) == 1
    }
  }
}

extension Records {
  package var providerTokens: ProviderTokens { ProviderTokens(records: self) }
}

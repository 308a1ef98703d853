package import Base
import MariaDB

/// The provider token that all processes of a team share.
package struct SharedProviderToken: Sendable, Equatable {
  /// AES-256-GCM
  package let sealed: String
  /// Changes with each minting.
  package let generation: Int64
  /// By the database's clock.
  package let age: Duration
}

extension Database {
  /// The database's clock.
  package func now() throws -> Timestamp {
    try pool.read { connection in
      try connection.row("SELECT UTC_TIMESTAMP(3)") { row in
        Timestamp(milliseconds: row.milliseconds(0))
      }!  // without a table there is one row
    }
  }

  /// The token that was minted last; nil before the first.
  package func providerToken(team: String, key: String) throws -> SharedProviderToken? {
    try pool.read { connection in
      try connection.row(
        """
        SELECT sealed, generation,
          TIMESTAMPDIFF(MICROSECOND, minted_at, UTC_TIMESTAMP(3)) DIV 1000
        FROM provider_tokens WHERE team_id = ? AND key_id = ? AND sealed IS NOT NULL
        """,
        [.text(team), .text(key)]
      ) { row in
        SharedProviderToken(
          sealed: row.text(0), generation: row.integer(1), age: .milliseconds(row.integer(2)))
      }
    }
  }

  /// Replaces the token of `generation`, if it is still that and was minted at least `minimumAge`
  /// ago: Apple takes one new token for a team in 20 minutes.
  ///
  /// - Parameter generation: 0 where there was none.
  /// - Returns: whether this call is the one that replaces it.
  package func replaceProviderToken(
    team: String, key: String, sealed: String, generation: Int64, minimumAge: Duration
  ) throws -> Bool {
    try pool.transaction { connection in
      _ = try connection.execute(
        """
        INSERT INTO provider_tokens (team_id, key_id) VALUES (?, ?)
        ON DUPLICATE KEY UPDATE key_id = key_id
        """,
        [.text(team), .text(key)])
      return try connection.execute(
        """
        UPDATE provider_tokens
        SET sealed = ?, minted_at = UTC_TIMESTAMP(3), generation = generation + 1
        WHERE team_id = ? AND key_id = ? AND generation = ?
          AND (minted_at IS NULL OR minted_at <= UTC_TIMESTAMP(3) - INTERVAL ? SECOND)
        """,
        [
          .text(sealed), .text(team), .text(key), .integer(generation),
          .integer(minimumAge.components.seconds),
        ]) == 1
    }
  }
}

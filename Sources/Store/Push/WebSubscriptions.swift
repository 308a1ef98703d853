import Base
package import Cryptography
import MariaDB

/// A browser's push subscription (Push API, `PushSubscription.toJSON`).
package struct WebSubscription: Codable, Sendable, Equatable {
  /// Where the push service takes messages. Who knows it can have us send there.
  package let endpoint: String
  /// `p256dh`, in base64url.
  package let publicKey: String
  /// `auth`, in base64url.
  package let authentication: String

  package init(endpoint: String, publicKey: String, authentication: String) {
    self.endpoint = endpoint
    self.publicKey = publicKey
    self.authentication = authentication
  }

  /// The push token of every subscription with this endpoint: `web:` and a UUID made of the endpoint's SHA-256.
  package static func token(ofEndpoint endpoint: String) -> PushToken {
    PushToken("web:\(uuid(of: sha256(endpoint).prefix(16)))")!
  }

  package var token: PushToken { Self.token(ofEndpoint: endpoint) }

  /// The subscription, sealed for the companion alone, for the row of its token.
  package func sealed(for keys: BoxPublicKeys) throws -> String {
    seal(try Job.encode(self), authenticating: Self.sealingContext(of: token.text), for: keys)
  }

  /// What a subscription is sealed with, so that nobody can move it to another row.
  package static func sealingContext(of token: String) -> String { "web_subscriptions \(token)" }
}

/// Subscriptions of browsers as requests and the companion use them.
package struct WebSubscriptions: Sendable {
  let records: Records

  /// Adds a subscription to the push tokens of the caller's device, whoever had it before.
  ///
  /// - Throws: ``Refusal``; ``RateLimited`` at more than 300 an hour of one account.
  package func register(
    _ token: PushToken, sealed: String, by caller: Caller
  ) throws {
    try records.transaction { transaction in
      try transaction.pushTokens.add(token, platform: .web, by: caller)
      _ = try transaction.connection.execute(
        // ON DUPLICATE KEY UPDATE would need the right to read.
        "REPLACE INTO web_subscriptions (token, sealed) VALUES (?, ?)",
        [.text(token.text), .text(sealed)])
    }
  }

  /// The sealed subscriptions of those of `tokens` that are there.
  package func sealed(of tokens: [String]) throws -> [String: String] {
    let rows = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT s.token, s.sealed
        FROM JSON_TABLE(?, '$[*]' COLUMNS (token VARCHAR(512) PATH '$')) AS wanted
        STRAIGHT_JOIN web_subscriptions s ON s.token = wanted.token
        """,
        [.bytes(JSONWriter.array(of: tokens))]
      ) { row in (row.text(0), row.text(1)) }
    }
    return Dictionary(rows) { first, _ in first }
  }

  /// At most 500 subscriptions that other keys have sealed than those of `prefix`, by token.
  package func sealed(notAs prefix: String) throws -> [(token: String, sealed: String)] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT token, sealed FROM web_subscriptions FORCE INDEX (web_subscriptions_sealed)
        WHERE sealed < ? OR sealed > CONCAT(?, '~') LIMIT 500
        """,
        [.text(prefix), .text(prefix)]
      ) { row in (token: row.text(0), sealed: row.text(1)) }
    }
  }

  /// Replaces a sealed subscription, if it is still `old`.
  package func replace(_ old: String, of token: String, with new: String) throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        "UPDATE web_subscriptions SET sealed = ? WHERE token = ? AND sealed = ?",
        [.text(new), .text(token), .text(old)])
    }
  }
}

extension Records {
  package var webSubscriptions: WebSubscriptions { WebSubscriptions(records: self) }
}

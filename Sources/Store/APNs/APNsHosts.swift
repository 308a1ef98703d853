import Base
import MariaDB

extension Room {
  static let apns = Room(
    retention: [
      // Learned again at the next notification.
      RetentionRule(.after(.day * 365), "DELETE FROM apns_hosts WHERE learned_at < ? LIMIT ?")
    ],
    whenTokenDies: ["DELETE FROM apns_hosts WHERE token = ? AND learned_at < ?"])
}

/// Apple has two hosts, and a token belongs to one of them.
package enum APNsEnvironment: String, Sendable {
  case production, sandbox

  package var other: APNsEnvironment { self == .production ? .sandbox : .production }
}

/// The APNs hosts that accept notifications to tokens, as far as they are known.
package struct APNsHosts: Sendable {
  let records: Records

  /// The known environments of `tokens`.
  package func environments(
    of tokens: [String], topic: String
  ) throws -> [String: APNsEnvironment] {
    guard !tokens.isEmpty else { return [:] }
    let known = try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT h.token, h.environment
        FROM JSON_TABLE(?, '$[*]' COLUMNS (
          token VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS asked
        JOIN apns_hosts h ON h.token = asked.token AND h.topic = ?
        """,
        [.bytes(JSONWriter.array(of: tokens)), .text(topic)]
      ) { row in (row.text(0), APNsEnvironment(rawValue: row.text(1))!) }  // an ENUM of these words
    }
    return Dictionary(known) { first, _ in first }
  }

  /// Remembers that Apple accepts notifications of `topic` to `token` in `environment`, if the
  /// token is registered here.
  package func learn(_ environment: APNsEnvironment, topic: String, ofToken token: String) throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        INSERT INTO apns_hosts (token, topic, environment, learned_at)
        SELECT ?, ?, ?, UTC_TIMESTAMP(3) FROM DUAL
        WHERE EXISTS (SELECT 1 FROM push_tokens WHERE token = ?)
          OR EXISTS (SELECT 1 FROM ogs_registrations WHERE device_token = ?)
        ON DUPLICATE KEY UPDATE environment = VALUES(environment), learned_at = VALUES(learned_at)
        """,
        [
          .text(token), .text(topic), .text(environment.rawValue), .text(token), .text(token),
        ])
    }
  }
}

extension Records {
  package var apnsHosts: APNsHosts { APNsHosts(records: self) }
}

import Base
import MariaDB

/// Subscriptions of browsers as requests and the companion use them.
package struct WebSubscriptions: Sendable {
  let records: Records

  /// Adds a subscription to the push tokens of the caller's device, and takes it from any other.
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

  /// The sealed subscriptions of `tokens`, as far as they exist, from all rooms.
  package func sealed(of tokens: [String]) throws -> [String: String] {
    let rows = try records.read { transaction in
      try transaction.rooms.compactMap(\.subscriptions).flatMap { room in
        try transaction.connection.rows(room.find, [.bytes(JSONWriter.array(of: tokens))]) { row in
          (row.text(0), row.text(1))
        }
      }
    }
    return Dictionary(rows) { first, _ in first }
  }

  /// At most 500 subscriptions of each room that are not sealed with the key of `prefix`, by token.
  package func sealed(notAs prefix: String) throws -> [(token: String, sealed: String)] {
    try records.read { transaction in
      try transaction.rooms.compactMap(\.subscriptions).flatMap { room in
        try transaction.connection.rows(room.findSealedOtherwise, [.text(prefix), .text(prefix)]) {
          row in (token: row.text(0), sealed: row.text(1))
        }
      }
    }
  }

  /// Replaces a sealed subscription wherever it is still `old`.
  package func replace(_ old: String, of token: String, with new: String) throws {
    try records.transaction { transaction in
      for room in transaction.rooms.compactMap(\.subscriptions) {
        _ = try transaction.connection.execute(
          room.replace, [.text(new), .text(token), .text(old)])
      }
    }
  }
}

extension Records {
  package var webSubscriptions: WebSubscriptions { WebSubscriptions(records: self) }
}

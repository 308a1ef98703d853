package import Base
import MariaDB

/// How a bank is reached, as an administrator says.
package struct BankConnection: Sendable {
  /// Letters, digits, `.`, `_`, `-`.
  package let bsimID: String
  package let name: String
  /// URL
  package let logoURL: String?
  package let authorizationURL: String
  package let tokenURL: String
  package let cardsURL: String
  package let clientID: String
  package let scope: String

  package init(
    bsimID: String, name: String, logoURL: String?, authorizationURL: String, tokenURL: String,
    cardsURL: String, clientID: String, scope: String
  ) {
    self.bsimID = bsimID
    self.name = name
    self.logoURL = logoURL
    self.authorizationURL = authorizationURL
    self.tokenURL = tokenURL
    self.cardsURL = cardsURL
    self.clientID = clientID
    self.scope = scope
  }

  /// What the sealed secret is bound to.
  package static func sealingContext(ofSecret bsimID: String) -> String {
    "bank client secret \(bsimID)"
  }
}

/// A bank as administrators list it.
package struct BankOverview: Sendable {
  package let bsimID: String
  package let name: String
  /// nil where it takes no enrolments.
  package let authorizationURL: String?
  /// That stand.
  package let enrollments: Int64
}

extension Database {
  /// Adds a bank, or changes how it is reached.
  ///
  /// - Parameter sealedSecret: of the client, bound to ``BankConnection/sealingContext(ofSecret:)``.
  package func connect(
    _ bank: BankConnection, sealedSecret: String, from origin: Origin, at now: Timestamp
  ) throws {
    try pool.transaction { connection in
      _ = try connection.execute(
        """
        INSERT INTO banks (bsim_id, name, logo_url, authorization_url, token_url, cards_url, client_id,
          client_secret, scope)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON DUPLICATE KEY UPDATE name = VALUES(name), logo_url = VALUES(logo_url),
          authorization_url = VALUES(authorization_url), token_url = VALUES(token_url),
          cards_url = VALUES(cards_url), client_id = VALUES(client_id),
          client_secret = VALUES(client_secret), scope = VALUES(scope)
        """,
        [
          .text(bank.bsimID), .text(bank.name), .text(bank.logoURL), .text(bank.authorizationURL),
          .text(bank.tokenURL), .text(bank.cardsURL), .text(bank.clientID),
          .text(sealedSecret), .text(bank.scope),
        ])
      try connection.audit(.bankConnected, detail: bank.bsimID, from: origin, at: now)
    }
  }

  /// Lets nobody enrol at the bank any more, and forgets its secret. Cards that were enrolled stay.
  ///
  /// - Returns: false where no such bank is connected.
  package func disconnect(bank bsimID: String, from origin: Origin, at now: Timestamp) throws
    -> Bool
  {
    try pool.transaction { connection in
      let changed = try connection.execute(
        """
        UPDATE banks SET authorization_url = NULL, token_url = NULL, cards_url = NULL, client_id = NULL,
          client_secret = NULL, scope = NULL
        WHERE bsim_id = ? AND authorization_url IS NOT NULL
        """,
        [.text(bsimID)])
      guard changed == 1 else { return false }
      try connection.audit(.bankDisconnected, detail: bsimID, from: origin, at: now)
      return true
    }
  }

  /// All banks, by name.
  package func bankOverviews() throws -> [BankOverview] {
    try pool.read { connection in
      try connection.rows(
        """
        SELECT b.bsim_id, b.name, b.authorization_url,
          (SELECT COUNT(*) FROM enrollments e WHERE e.bsim_id = b.bsim_id AND e.removed_at IS NULL)
        FROM banks b ORDER BY b.name, b.bsim_id
        """
      ) { row in
        BankOverview(
          bsimID: row.text(0), name: row.text(1), authorizationURL: row.optionalText(2),
          enrollments: row.integer(3))
      }
    }
  }

  /// Banks whose secret is sealed under another key than `keyID`.
  package func sealedBankSecrets(notUnder keyID: String) throws -> [(
    bsimID: String, sealed: String
  )] {
    try pool.read { connection in
      try connection.rows(
        "SELECT bsim_id, client_secret FROM banks WHERE SUBSTRING_INDEX(client_secret, '.', 1) <> ?",
        [.text(keyID)]
      ) { row in (bsimID: row.text(0), sealed: row.text(1)) }
    }
  }

  /// Replaces the sealed secret of a bank, if it is still `old`.
  package func replaceBankSecret(_ old: String, ofBank bsimID: String, with new: String) throws {
    try pool.write { connection in
      _ = try connection.execute(
        "UPDATE banks SET client_secret = ? WHERE bsim_id = ? AND client_secret = ?",
        [.text(new), .text(bsimID), .text(old)])
    }
  }
}

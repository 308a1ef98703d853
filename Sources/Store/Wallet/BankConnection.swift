/// The connection to a bank, as an administrator configures it.
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

  /// The context that the bank's client secret is sealed with.
  package static func sealingContext(ofSecret bsimID: String) -> String {
    "bank client secret \(bsimID)"
  }
}

/// A bank as administrators list it.
package struct BankOverview: Sendable {
  package let bsimID: String
  package let name: String
  /// nil if the bank takes no enrollments.
  package let authorizationURL: String?
  /// The number of enrollments that were not removed.
  package let enrollments: Int64
}

/// The client secret of a bank, sealed.
package struct SealedBankSecret: Sendable {
  package let bsimID: String
  package let sealed: String
}

/// Banks as administrators manage them.
extension Banks {
  /// Adds a bank, or changes its connection.
  ///
  /// - Parameter sealedSecret: the client secret, sealed with
  ///   ``BankConnection/sealingContext(ofSecret:)``.
  package func connect(_ bank: BankConnection, sealedSecret: String) throws {
    try records.transaction { transaction in
      _ = try transaction.connection.execute(
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
      try transaction.audit.write(.bankConnected, detail: bank.bsimID)
    }
  }

  /// Stops enrollments at the bank and deletes its secret. Cards that were enrolled stay.
  ///
  /// - Returns: false if no such bank is connected.
  package func disconnect(_ bsimID: String) throws -> Bool {
    try records.transaction { transaction in
      let changed = try transaction.connection.execute(
        """
        UPDATE banks SET authorization_url = NULL, token_url = NULL, cards_url = NULL, client_id = NULL,
          client_secret = NULL, scope = NULL
        WHERE bsim_id = ? AND authorization_url IS NOT NULL
        """,
        [.text(bsimID)])
      guard changed == 1 else { return false }
      try transaction.audit.write(.bankDisconnected, detail: bsimID)
      return true
    }
  }

  /// All banks, by name.
  package func overviews() throws -> [BankOverview] {
    try records.read { transaction in
      try transaction.connection.rows(
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

  /// The secrets that do not begin with `prefix`, the prefix of secrets that the newest key has
  /// sealed.
  package func secrets(notSealedAs prefix: String) throws -> [SealedBankSecret] {
    try records.read { transaction in
      try transaction.connection.rows(
        "SELECT bsim_id, client_secret FROM banks WHERE LEFT(client_secret, CHAR_LENGTH(?)) <> ?",
        [.text(prefix), .text(prefix)]
      ) { row in SealedBankSecret(bsimID: row.text(0), sealed: row.text(1)) }
    }
  }

  /// Replaces the bank's sealed secret, if it is still `old`.
  package func replaceSecret(_ old: SealedBankSecret, with new: String) throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        "UPDATE banks SET client_secret = ? WHERE bsim_id = ? AND client_secret = ?",
        [.text(new), .text(old.bsimID), .text(old.sealed)])
    }
  }
}

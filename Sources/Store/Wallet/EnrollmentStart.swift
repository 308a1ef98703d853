import Base
import MariaDB

/// An enrollment that begins: we send a person to a bank, which sends them back with the state.
package struct NewEnrollment: Sendable {
  package static let lifetime = Duration.seconds(600)

  /// UUID
  package let id: String
  package let bsimID: String
  /// SHA-256
  package let stateHash: [UInt8]
  /// SHA-256
  package let nonceHash: [UInt8]
  /// `code_verifier` of PKCE (RFC 7636 §4.1), for the companion.
  package let sealedVerifier: String
  /// Whether the result goes to the app, and not to a browser.
  package let isMobile: Bool
  /// SHA-256 of the cookie that the browser was given; nil if the app began.
  package let browserHash: [UInt8]?

  package init(
    id: String, bsimID: String, stateHash: [UInt8], nonceHash: [UInt8], sealedVerifier: String,
    isMobile: Bool, browserHash: [UInt8]?
  ) {
    self.id = id
    self.bsimID = bsimID
    self.stateHash = stateHash
    self.nonceHash = nonceHash
    self.sealedVerifier = sealedVerifier
    self.isMobile = isMobile
    self.browserHash = browserHash
  }

  /// The context that the verifier is sealed with.
  package static func sealingContext(ofVerifier id: String) -> String {
    "enrollment verifier \(id)"
  }
}

/// The data to ask a bank for a person's consent (RFC 6749 §4.1.1).
package struct BankAuthorization: Sendable {
  package let bankName: String
  /// URL, perhaps with a query.
  package let authorizationURL: String
  package let clientID: String
  package let scope: String
}

extension Enrollments {
  /// Stores the state with which a person is sent to a bank.
  ///
  /// - Throws: ``Refusal``; ``RateLimited`` at more than 30 an hour for one account.
  /// - Returns: nil if there is no such bank, or it takes no enrollments.
  package func begin(_ new: NewEnrollment, by caller: Caller) throws -> BankAuthorization? {
    try records.transaction { transaction in
      let session = try transaction.sessions.live(caller)
      let authorization = try transaction.connection.row(
        """
        SELECT name, authorization_url, client_id, scope FROM banks
        WHERE bsim_id = ? AND authorization_url IS NOT NULL
        """,
        [.text(new.bsimID)]
      ) { row in
        BankAuthorization(
          bankName: row.text(0), authorizationURL: row.text(1), clientID: row.text(2),
          scope: row.text(3))
      }
      guard let authorization else { return nil }
      try transaction.limits.count(.enrollments, of: caller.accountID)
      try transaction.insert(new, by: caller)
      try transaction.audit.write(
        .bankEnrollmentBegun, account: caller.accountID, device: session.deviceID,
        detail: new.bsimID)
      return authorization
    }
  }
}

extension Transaction {
  fileprivate func insert(_ new: NewEnrollment, by caller: Caller) throws(DatabaseError) {
    _ = try connection.execute(
      """
      INSERT INTO enrollment_states (id, state_hash, nonce_hash, verifier, account_id, session_id,
        bsim_id, is_mobile, expires_at, browser_hash, address)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(new.id), .bytes(new.stateHash), .bytes(new.nonceHash), .text(new.sealedVerifier),
        .text(caller.accountID), .text(caller.sessionID), .text(new.bsimID),
        .boolean(new.isMobile), .time(now + NewEnrollment.lifetime), .bytes(new.browserHash),
        .text(origin.storedAddress),
      ])
  }
}

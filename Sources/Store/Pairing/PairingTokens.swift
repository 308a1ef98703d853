import Base
import Cryptography
import MariaDB

/// Pairing tokens. One of them is shown at a time.
package struct PairingTokens: Sendable {
  let records: Records

  /// A token that expires sooner than this is replaced by a new one.
  private static let leastTimeLeft = Duration.seconds(300)

  /// The info to show, with the current pairing token. Issues a new token if the current one is
  /// spent or revoked, or expires soon.
  package func info(of agent: GuardedAgent, issuer: PairingIssuer) throws -> PairingInfo {
    func info(_ session: String, _ token: PairingToken?) -> PairingInfo {
      let token = agent.requiresAuth ? token : nil
      return PairingInfo(
        agent: agent, session: session, token: token.map(issuer.sign),
        code: token.map(issuer.code(of:)))
    }
    let latest = records.now + Self.leastTimeLeft
    let current = try records.read { transaction in try transaction.pairingTokens.current() }
    if !agent.requiresAuth || current.isGood(at: latest) {
      return info(current.session, current.token)
    }
    return try records.repeatingLostRaces { transaction in
      let statements = transaction.pairingTokens
      let current = try statements.current()
      if current.isGood(at: latest) { return info(current.session, current.token) }
      let token = current.nextToken(randomBytes: issuer.randomBytes, at: records.now)
      try statements.insert(token)
      guard try statements.show(token, insteadOf: current.nonce) else { throw LostRace() }
      return info(current.session, token)
    }
  }

  /// The token that is shown now, if `code` stands for it.
  ///
  /// - Throws: ``RateLimited`` at more than 10 tries of one token, right or wrong.
  package func token(ofCode code: String, issuer: PairingIssuer) throws -> SignedPairingToken? {
    try records.transaction { transaction in
      guard let token = try transaction.pairingTokens.current().token,
        !token.hasExpired(at: records.now)
      else { return nil }
      try transaction.limits.count(.typedCodes, of: token.nonce)
      let isRight = isEqualInConstantTime(Array(code.utf8), Array(issuer.code(of: token).utf8))
      return isRight ? issuer.sign(token) : nil
    }
  }

  /// Revokes every pairing token that no phone has exchanged, and issues a new one.
  ///
  /// - Parameter endingPairings: whether paired phones lose their access too.
  package func replaceAll(
    endingPairings: Bool, issuer: PairingIssuer
  ) throws -> SignedPairingToken {
    try records.transaction { transaction in
      let statements = transaction.pairingTokens
      let revoked = try statements.revokeAll()
      let token = try statements.current()
        .nextToken(randomBytes: issuer.randomBytes, at: records.now)
      try statements.insert(token)
      try statements.show(token)
      try transaction.audit.write(.pairingTokensRevoked, detail: "\(revoked) tokens")
      if endingPairings {
        let ended = try transaction.pairedDevices.endAll()
        try transaction.audit.write(.pairingEnded, detail: "all: \(ended) phones")
      }
      return issuer.sign(token)
    }
  }

  /// The UUID by which the apps know this site.
  package func session() throws -> String {
    try records.read { transaction in try transaction.pairingTokens.current().session }
  }
}

extension Records {
  package var pairingTokens: PairingTokens { PairingTokens(records: self) }
}

/// The row that `schema.sql` inserts into `pairing_server` is missing.
private struct NoPairingServer: Error {}

/// The row of `pairing_server`, with the token that it names.
private struct CurrentPairing {
  let session: String
  let serverID: String
  /// The nonce of the token that was shown last, usable or not.
  let nonce: String?
  /// nil if that token is spent or revoked.
  let token: PairingToken?

  init(row: borrowing Row) {
    session = row.text(0)
    serverID = row.text(1)
    nonce = row.optionalText(2)
    guard let nonce, !row.isNull(3) else {
      token = nil
      return
    }
    token = PairingToken(
      .pairing, serverID: serverID, issuedAt: row.timestamp(3), expiresAt: row.timestamp(4),
      nonce: nonce)
  }

  func isGood(at instant: Timestamp) -> Bool { token.map { $0.expiresAt >= instant } ?? false }

  func nextToken(randomBytes: [UInt8], at now: Timestamp) -> PairingToken {
    PairingToken(
      .pairing, serverID: serverID, issuedAt: now, nonce: base64URLEncoded(randomBytes))
  }
}

/// Statements on `pairing_tokens` and on the one row of `pairing_server`.
private struct PairingTokenStatements: ~Copyable {
  let transaction: Transaction

  func current() throws -> CurrentPairing {
    let found = try transaction.connection.row(
      """
      SELECT s.session, s.server_id, s.current_nonce, t.issued_at, t.expires_at
      FROM pairing_server s LEFT JOIN pairing_tokens t
        ON t.nonce = s.current_nonce AND t.spent_at IS NULL AND t.revoked_at IS NULL
      """
    ) { row in CurrentPairing(row: row) }
    guard let found else { throw NoPairingServer() }
    return found
  }

  func insert(_ token: PairingToken) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "INSERT INTO pairing_tokens (nonce, issued_at, expires_at) VALUES (?, ?, ?)",
      [.text(token.nonce), .time(token.issuedAt), .time(token.expiresAt)])
  }

  func show(_ token: PairingToken) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE pairing_server SET current_nonce = ? WHERE id = 1", [.text(token.nonce)])
  }

  /// - Returns: false if another token than that of `nonce` is shown now.
  func show(_ token: PairingToken, insteadOf nonce: String?) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      "UPDATE pairing_server SET current_nonce = ? WHERE id = 1 AND current_nonce <=> ?",
      [.text(token.nonce), .text(nonce)]) == 1
  }

  /// Revokes every token that no phone has exchanged.
  ///
  /// - Returns: the number of revoked tokens.
  func revokeAll() throws(DatabaseError) -> Int {
    // Locks the row before any token, so that simultaneous transactions wait for each other.
    _ = try transaction.connection.execute(
      "UPDATE pairing_server SET current_nonce = NULL WHERE id = 1")
    return try transaction.connection.execute(
      "UPDATE pairing_tokens SET revoked_at = ? WHERE spent_at IS NULL AND revoked_at IS NULL",
      [.time(transaction.now)])
  }
}

extension Transaction {
  fileprivate var pairingTokens: PairingTokenStatements {
    PairingTokenStatements(transaction: Transaction(sharing: self))
  }
}

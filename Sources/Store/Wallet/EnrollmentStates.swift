import MariaDB

/// An enrolment that begins: a person is sent to a bank, and comes back with a state.
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
  /// Whether the app is told the end, and not a browser.
  package let isMobile: Bool

  package init(
    id: String, bsimID: String, stateHash: [UInt8], nonceHash: [UInt8], sealedVerifier: String,
    isMobile: Bool
  ) {
    self.id = id
    self.bsimID = bsimID
    self.stateHash = stateHash
    self.nonceHash = nonceHash
    self.sealedVerifier = sealedVerifier
    self.isMobile = isMobile
  }

  /// What the sealed verifier is bound to.
  package static func sealingContext(ofVerifier id: String) -> String {
    "enrollment verifier \(id)"
  }
}

/// How a bank is asked for a person's consent (RFC 6749 §4.1.1).
package struct BankAuthorization: Sendable {
  package let bankName: String
  /// URL, perhaps with a query.
  package let authorizationURL: String
  package let clientID: String
  package let scope: String
}

/// An enrolment whose person is back, with a state that was good.
package struct ReturnedEnrollment: Sendable {
  package let id: String
  package let isMobile: Bool
  package let bankName: String
  package let deviceID: String
}

package enum ReturnOutcome: Sendable {
  /// The state was spent by this call.
  case back(ReturnedEnrollment)
  /// There is no such state, it is another bank's, spent, expired, or its session has ended.
  case invalidState(isMobile: Bool)
  case unknownBank
}

extension Database {
  /// Keeps the state with which a person is sent to a bank.
  ///
  /// - Throws: ``Refusal``; ``Refusal/rateLimited(retryAfter:)`` at more than 30 an hour of one
  ///   account.
  /// - Returns: nil where there is no such bank, or it takes no enrolments.
  package func begin(
    _ new: NewEnrollment, by caller: Caller, at now: Timestamp
  ) throws -> BankAuthorization? {
    try pool.transaction { connection in
      _ = try connection.live(caller, at: now)
      let authorization = try connection.row(
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
      try connection.count(.enrollments, of: caller.accountID, at: now)
      _ = try connection.execute(
        """
        INSERT INTO enrollment_states (id, state_hash, nonce_hash, verifier, account_id, session_id,
          bsim_id, is_mobile, expires_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .text(new.id), .bytes(new.stateHash), .bytes(new.nonceHash), .text(new.sealedVerifier),
          .text(caller.accountID), .text(caller.sessionID), .text(new.bsimID),
          .boolean(new.isMobile), .time(now + NewEnrollment.lifetime),
        ])
      return authorization
    }
  }

  /// Spends the state with which a bank has sent a person back.
  ///
  /// - Parameters:
  ///   - stateHash: SHA-256 of the state.
  ///   - refusal: the bank's own `error`, where it did not consent.
  ///   - admit: asked, perhaps twice, where the state is good; what it throws leaves the state as it was.
  package func spend(
    state stateHash: [UInt8], ofBank bsimID: String, refusal: String?, from origin: Origin,
    at now: Timestamp, admit: () throws -> Void
  ) throws -> ReturnOutcome {
    try pool.transaction { connection in
      let spent = try connection.execute(
        """
        UPDATE enrollment_states s
        JOIN sessions t ON t.id = s.session_id JOIN devices d ON d.id = t.device_id
        SET s.spent_at = ?
        WHERE s.state_hash = ? AND s.bsim_id = ? AND s.spent_at IS NULL AND s.expires_at > ?
          AND t.ended_at IS NULL AND t.expires_at > ? AND d.revoked_at IS NULL
        """,
        [.time(now), .bytes(stateHash), .text(bsimID), .time(now), .time(now)])
      guard let state = try connection.state(stateHash, askedOf: bsimID) else {
        return .unknownBank
      }
      guard let enrollment = state.enrollment, spent == 1 else {
        if let enrollment = state.enrollment {
          try connection.audit(
            .bankRefused, account: state.accountID, device: enrollment.deviceID,
            detail: "\(bsimID): the state was spent, has expired or is another bank's",
            from: origin, at: now)
        }
        return .invalidState(isMobile: state.enrollment?.isMobile ?? true)
      }
      try admit()
      if let refusal {
        try connection.audit(
          .bankRefused, account: state.accountID, device: enrollment.deviceID,
          detail: "\(bsimID): \(refusal)", from: origin, at: now)
      }
      return .back(enrollment)
    }
  }
}

extension Connection {
  /// What is known of a state that came to a bank's address; nil where there is no such bank.
  fileprivate mutating func state(
    _ hash: [UInt8], askedOf bsimID: String
  ) throws(DatabaseError) -> KnownState? {
    try row(
      """
      SELECT b.name, s.id, s.is_mobile, s.account_id, t.device_id
      FROM banks b
      LEFT JOIN enrollment_states s ON s.state_hash = ?
      LEFT JOIN sessions t ON t.id = s.session_id
      WHERE b.bsim_id = ?
      """,
      [.bytes(hash), .text(bsimID)]
    ) { row in KnownState(row: row) }
  }
}

private struct KnownState {
  let accountID: String?
  /// nil where nobody was ever given such a state.
  let enrollment: ReturnedEnrollment?

  init(row: borrowing Row) {
    accountID = row.optionalText(3)
    enrollment =
      row.isNull(1)
      ? nil
      : ReturnedEnrollment(
        id: row.text(1), isMobile: row.boolean(2), bankName: row.text(0), deviceID: row.text(4))
  }
}

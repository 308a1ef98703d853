import Base
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
  /// SHA-256 of the cookie that the browser was given; nil where the app began.
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

/// What came along when a bank sent a person back.
package struct BankReturn: Sendable {
  package let bsimID: String
  /// SHA-256 of the state.
  package let stateHash: [UInt8]
  /// The bank's own `error`, where it did not consent.
  package let refusal: String?
  /// SHA-256 of the browser's cookie.
  package let browserHash: [UInt8]
  /// The person has said that the cards are meant for this wallet, wherever it is.
  package let isConfirmed: Bool

  package init(
    bsimID: String, stateHash: [UInt8], refusal: String?, browserHash: [UInt8], isConfirmed: Bool
  ) {
    self.bsimID = bsimID
    self.stateHash = stateHash
    self.refusal = refusal
    self.browserHash = browserHash
    self.isConfirmed = isConfirmed
  }
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
  /// The state is good and unspent, but it began elsewhere.
  case elsewhere(bankName: String, email: String)
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
      let session = try connection.live(caller, at: now)
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
          bsim_id, is_mobile, expires_at, browser_hash, address)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .text(new.id), .bytes(new.stateHash), .bytes(new.nonceHash), .text(new.sealedVerifier),
          .text(caller.accountID), .text(caller.sessionID), .text(new.bsimID),
          .boolean(new.isMobile), .time(now + NewEnrollment.lifetime),
          .bytes(new.browserHash),
          .text(caller.origin.keptAddress),
        ])
      try connection.audit(
        .bankEnrollmentBegun, account: caller.accountID, device: session.deviceID,
        detail: new.bsimID, from: caller.origin, at: now)
      return authorization
    }
  }

  /// Spends the state with which a bank has sent a person back.
  ///
  /// - Parameter admit: asked, perhaps twice, where the state is good; what it throws leaves the state as it was.
  package func spend(
    _ back: BankReturn, from origin: Origin, at now: Timestamp, admit: () throws -> Void
  ) throws -> ReturnOutcome {
    let mayBeAnywhere = back.isConfirmed || back.refusal != nil
    return try pool.transaction { connection in
      let spent = try connection.execute(
        """
        UPDATE enrollment_states s
        JOIN sessions t ON t.id = s.session_id JOIN devices d ON d.id = t.device_id
        SET s.spent_at = ?
        WHERE s.state_hash = ? AND s.bsim_id = ? AND s.spent_at IS NULL AND s.expires_at > ?
          AND t.ended_at IS NULL AND t.expires_at > ? AND d.revoked_at IS NULL
          AND (s.browser_hash <=> ? OR COALESCE(s.address = ?, TRUE))
        """,
        [
          .time(now), .bytes(back.stateHash), .text(back.bsimID), .time(now), .time(now),
          .bytes(back.browserHash), .text(mayBeAnywhere ? nil : origin.keptAddress),
        ])
      guard let state = try connection.state(of: back, at: now) else { return .unknownBank }
      guard let enrollment = state.enrollment, spent == 1 else {
        if let enrollment = state.enrollment {
          if state.isGood {
            return .elsewhere(bankName: enrollment.bankName, email: state.email)
          }
          try connection.audit(
            .bankRefused, account: state.accountID, device: enrollment.deviceID,
            detail:
              "\(back.bsimID): the state was spent, has expired or is another bank's",
            from: origin, at: now)
        }
        return .invalidState(isMobile: state.enrollment?.isMobile ?? true)
      }
      try admit()
      if let refusal = back.refusal {
        try connection.audit(
          .bankRefused, account: state.accountID, device: enrollment.deviceID,
          detail: "\(back.bsimID): \(refusal)", from: origin, at: now)
      }
      return .back(enrollment)
    }
  }
}

extension Connection {
  /// What is known of a state that came to a bank's address; nil where there is no such bank.
  fileprivate func state(
    of back: BankReturn, at now: Timestamp
  ) throws(DatabaseError) -> KnownState? {
    try row(
      """
      SELECT b.name, s.id, s.is_mobile, s.account_id, t.device_id, a.email,
        s.bsim_id = b.bsim_id AND s.spent_at IS NULL AND s.expires_at > ? AND t.ended_at IS NULL
          AND t.expires_at > ? AND d.revoked_at IS NULL
      FROM banks b
      LEFT JOIN enrollment_states s ON s.state_hash = ?
      LEFT JOIN accounts a ON a.id = s.account_id
      LEFT JOIN sessions t ON t.id = s.session_id
      LEFT JOIN devices d ON d.id = t.device_id
      WHERE b.bsim_id = ?
      """,
      [
        .time(now), .time(now), .bytes(back.stateHash), .text(back.bsimID),
      ]
    ) { row in KnownState(row: row) }
  }
}

extension Origin {
  /// As much of the address as its columns hold.
  fileprivate var keptAddress: String { address.cut(to: 45) }
}

private struct KnownState {
  let accountID: String?
  let email: String
  /// Nothing but where it began was in the way, if anything was.
  let isGood: Bool
  /// nil where nobody was ever given such a state.
  let enrollment: ReturnedEnrollment?

  init(row: borrowing Row) {
    accountID = row.optionalText(3)
    email = row.optionalText(5) ?? ""
    isGood = !row.isNull(6) && row.boolean(6)
    enrollment =
      row.isNull(1)
      ? nil
      : ReturnedEnrollment(
        id: row.text(1), isMobile: row.boolean(2), bankName: row.text(0), deviceID: row.text(4))
  }
}

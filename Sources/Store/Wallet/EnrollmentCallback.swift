import Base
import MariaDB

/// The answer of a bank that sends a person back to us.
package struct BankCallback: Sendable {
  package let bsimID: String
  /// SHA-256 of the state.
  package let stateHash: [UInt8]
  /// The bank's own `error`, if it did not consent.
  package let refusal: String?
  /// SHA-256 of the browser's cookie.
  package let browserHash: [UInt8]
  /// Whether the person has confirmed that the cards are for this wallet.
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

/// An enrollment whose person has come back with a valid state.
package struct ResumedEnrollment: Sendable {
  package let id: String
  package let isMobile: Bool
  package let bankName: String
  package let accountID: String
  package let deviceID: String
}

package enum CallbackOutcome: Sendable {
  /// This call has spent the state.
  case resumed(ResumedEnrollment)
  /// The state is valid and unspent. The app began the enrollment, and the person has not confirmed
  /// yet.
  case unconfirmed(bankName: String, email: String)
  /// Another browser began the enrollment.
  case beganInAnotherBrowser
  /// Another call has just spent the state, and waits for the bank.
  case underway
  /// Another call has spent the state, with this result.
  case ended(EnrollmentResult, ResumedEnrollment)
  /// There is no such state, it is another bank's, spent or expired, or its session has ended.
  case invalidState(isMobile: Bool)
  case unknownBank
  /// The state stays valid: the caller chose not to go on.
  case postponed
}

extension Enrollments {
  /// Spends the state with which a bank has sent a person back.
  ///
  /// - Parameter mayGoOn: called, perhaps twice, if the state is valid. If it returns false, the
  ///   state is not spent.
  package func resume(
    after callback: BankCallback, if mayGoOn: (ResumedEnrollment) -> Bool
  ) throws -> CallbackOutcome {
    try records.transaction(rollingBack: CallbackOutcome.self) { transaction in
      let isSpentHere = try transaction.spendState(of: callback)
      guard let state = try transaction.state(of: callback) else { return .unknownBank }
      guard let enrollment = state.enrollment else { return .invalidState(isMobile: true) }
      guard isSpentHere else {
        if let outcome = try state.outcome(of: enrollment, for: callback, at: transaction.now) {
          return outcome
        }
        try transaction.audit.write(
          .callbackRefused, account: state.accountID, device: enrollment.deviceID,
          detail: "\(callback.bsimID): the state was spent, has expired or is another bank's")
        return .invalidState(isMobile: enrollment.isMobile)
      }
      guard mayGoOn(enrollment) else { throw RolledBack(outcome: CallbackOutcome.postponed) }
      if let refusal = callback.refusal {
        try transaction.audit.write(
          .callbackRefused, account: state.accountID, device: enrollment.deviceID,
          detail: "\(callback.bsimID): \(refusal)")
      }
      return .resumed(enrollment)
    }
  }

  /// Stores the result for a person who comes back again.
  package func keep(_ result: EnrollmentResult, of enrollment: ResumedEnrollment) throws {
    try records.write { transaction in
      try transaction.keep(result.json, ofEnrollment: enrollment.id)
    }
  }
}

extension Transaction {
  /// Stores the result for a person who comes back again, unless there is one.
  func keep(_ result: [UInt8], ofEnrollment id: String) throws(DatabaseError) {
    _ = try connection.execute(
      "UPDATE enrollment_states SET result = ? WHERE id = ? AND result IS NULL",
      [.text(String(decoding: result, as: UTF8.self)), .text(id)])
  }

  /// Spends the state, if it is valid and this is the browser that began, or the person has
  /// confirmed an enrollment that the app began. A refusal stores nothing, so it may come from any
  /// browser.
  ///
  /// - Returns: whether this call has spent it.
  fileprivate func spendState(of callback: BankCallback) throws(DatabaseError) -> Bool {
    try connection.execute(
      """
      UPDATE enrollment_states s
      JOIN sessions t ON t.id = s.session_id JOIN devices d ON d.id = t.device_id
      SET s.spent_at = ?
      WHERE s.state_hash = ? AND s.bsim_id = ? AND s.spent_at IS NULL AND s.expires_at > ?
        AND t.ended_at IS NULL AND t.expires_at > ? AND d.revoked_at IS NULL
        AND (s.browser_hash <=> ? OR s.browser_hash IS NULL AND ? = 'confirmed' OR ? = 'refused')
      """,
      [
        .time(now), .bytes(callback.stateHash), .text(callback.bsimID), .time(now), .time(now),
        .bytes(callback.browserHash), .text(callback.isConfirmed ? "confirmed" : nil),
        .text(callback.refusal == nil ? nil : "refused"),
      ]) == 1
  }

  /// The stored data of the state that came to a bank's address; nil if there is no such bank.
  fileprivate func state(of callback: BankCallback) throws(DatabaseError) -> KnownState? {
    try connection.row(
      """
      SELECT b.name, s.id, s.is_mobile, s.account_id, t.device_id, a.email,
        s.bsim_id = b.bsim_id AND s.spent_at IS NULL AND s.expires_at > ? AND t.ended_at IS NULL
          AND t.expires_at > ? AND d.revoked_at IS NULL,
        s.browser_hash, s.bsim_id = b.bsim_id, s.spent_at, s.result
      FROM banks b
      LEFT JOIN enrollment_states s ON s.state_hash = ?
      LEFT JOIN accounts a ON a.id = s.account_id
      LEFT JOIN sessions t ON t.id = s.session_id
      LEFT JOIN devices d ON d.id = t.device_id
      WHERE b.bsim_id = ?
      """,
      [.time(now), .time(now), .bytes(callback.stateHash), .text(callback.bsimID)]
    ) { row in KnownState(row: row) }
  }
}

private struct KnownState {
  /// The longest time that a call that has spent a state may wait for the bank.
  private static let longestExchange = Duration.seconds(15)

  let accountID: String?
  /// nil if we have issued no such state.
  let enrollment: ResumedEnrollment?
  private let email: String
  /// Whether the state can still be spent, if the right browser sends it.
  private let isValid: Bool
  /// nil if the app began.
  private let browserHash: [UInt8]?
  private let isOfBank: Bool
  private let spentAt: Timestamp?
  private let result: String?

  init(row: borrowing Row) {
    accountID = row.optionalText(3)
    email = row.optionalText(5) ?? ""
    isValid = !row.isNull(6) && row.boolean(6)
    enrollment =
      row.isNull(1)
      ? nil
      : ResumedEnrollment(
        id: row.text(1), isMobile: row.boolean(2), bankName: row.text(0),
        accountID: row.text(3), deviceID: row.text(4))
    browserHash = row.isNull(7) ? nil : row.bytes(7)
    isOfBank = !row.isNull(8) && row.boolean(8)
    spentAt = row.optionalTimestamp(9)
    result = row.optionalText(10)
  }

  /// The outcome of a callback that has not spent the state; nil if the state is invalid.
  func outcome(
    of enrollment: ResumedEnrollment, for callback: BankCallback, at now: Timestamp
  ) throws -> CallbackOutcome? {
    let isOtherBrowser = browserHash.map { $0 != callback.browserHash } ?? false
    guard isValid || isOfBank && spentAt != nil else { return nil }
    if isValid, !isOtherBrowser {
      return .unconfirmed(bankName: enrollment.bankName, email: email)
    }
    if let result, !isOtherBrowser {
      return .ended(
        try decoded(EnrollmentResult.self, from: Array(result.utf8)), enrollment)
    }
    if isOtherBrowser { return .beganInAnotherBrowser }
    guard let spentAt, abs((now - spentAt).milliseconds) < Self.longestExchange.milliseconds
    else { return nil }
    return .underway
  }
}

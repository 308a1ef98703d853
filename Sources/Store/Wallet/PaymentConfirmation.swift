package import Cryptography
import MariaDB

/// An app's request to confirm a payment, apart from the proof, and the data that we prepare for it.
package struct PaymentConfirmation: Sendable {
  /// The payment's id.
  package let id: String
  /// The merchant whose key the request has; nil if it has none.
  package let merchantID: String?
  /// The keys that may have made the challenge.
  package let keys: [Key]
  /// SHA-256 of the proof as it was sent.
  package let proofHash: [UInt8]
  /// The card's token at the merchant, if it has none there yet.
  package let newCardToken: String

  package init(
    id: String, merchantID: String?, keys: [Key], proofHash: [UInt8], newCardToken: String
  ) {
    self.id = id
    self.merchantID = merchantID
    self.keys = keys
    self.proofHash = proofHash
    self.newCardToken = newCardToken
  }
}

package enum PaymentOutcome: Sendable {
  case confirmed(PaymentDetails)
  /// The same proof confirmed the payment before: its answer may have been lost.
  case repeated
  /// The payment is unknown, another account's, not approved, expired, or closed after five tries; or its
  /// card is gone.
  case notOpen
  /// A merchant's request that is cancelled or expired.
  case closed
  /// Another proof confirmed the payment before.
  case alreadyConfirmed
  /// The device is not the caller's, or has no key.
  case unknownKey
  /// The biometric key was set up with only a bearer, less than a day ago, and the caller shows no fresh
  /// proof.
  case keyTooNew
  /// The proof is wrong.
  case unproven
}

/// The kind of proof that confirms a payment.
enum PaymentProof: String {
  case biometric, passkey
}

/// The result of a try before its proof is verified. `Counted` is the data for the verification.
enum PaymentTry<Counted: Sendable>: Sendable {
  case counted(Counted)
  case refused(PaymentOutcome)
}

extension PaymentStatements {
  /// Counts a try of an open payment.
  ///
  /// - Returns: the payment's challenge. If it is refused, roll back, so that nothing is counted.
  func countTry(
    of confirmation: PaymentConfirmation, by caller: Caller
  ) throws(DatabaseError) -> PaymentTry<[UInt8]> {
    let counted = try transaction.connection.execute(
      """
      UPDATE payments SET attempts = attempts + 1
      WHERE id = ? AND account_id = ? AND merchant_id = COALESCE(?, merchant_id) AND attempts < 5
        AND confirmed_at IS NULL AND cancelled_at IS NULL AND expired_at IS NULL AND expires_at > ?
      """,
      [
        .text(confirmation.id), .text(caller.accountID), .text(confirmation.merchantID),
        .time(transaction.now),
      ])
    if let outcome = try outcome(of: confirmation, for: caller) { return .refused(outcome) }
    guard counted == 1, let challenge = try challenge(of: confirmation) else {
      return .refused(.notOpen)
    }
    return .counted(challenge)
  }

  /// Confirms a payment whose proof has been verified.
  ///
  /// - Parameter challenge: what the proof signs; the payer may have chosen another card since.
  /// - Throws: ``Refusal`` if the caller's session has ended since the try was counted.
  /// - Returns: if it is not ``PaymentOutcome/confirmed(_:)``, roll back.
  func confirm(
    _ confirmation: PaymentConfirmation, of challenge: [UInt8], by proof: PaymentProof,
    of caller: Caller, on deviceID: String
  ) throws -> PaymentOutcome {
    // Locks the payment before the card: the other order would be a deadlock with a cancellation.
    if let outcome = try outcome(of: confirmation, for: caller) { return outcome }
    guard let token = try storeCardToken(for: confirmation) else { return .notOpen }
    let confirmed = try transaction.connection.execute(
      """
      UPDATE payments SET confirmed_at = ?, confirmed_by = ?, card_token = ?, proof_hash = ?
      WHERE id = ? AND account_id = ? AND challenge_hash = ? AND confirmed_at IS NULL
        AND cancelled_at IS NULL AND expired_at IS NULL AND expires_at > ?
      """,
      [
        .time(transaction.now), .text(proof.rawValue), .text(token), .bytes(confirmation.proofHash),
        .text(confirmation.id), .text(caller.accountID), .bytes(sha256(challenge)),
        .time(transaction.now),
      ])
    guard confirmed == 1 else { return .notOpen }
    try transaction.webhooks.post(.confirmed, of: confirmation.id)
    try transaction.audit.write(
      .paymentConfirmed, account: caller.accountID, device: deviceID,
      detail: "\(confirmation.id) \(proof.rawValue)")
    // Last, because an earlier read would fix what the statements above see.
    _ = try transaction.sessions.live(caller)
    return try find(confirmation.id).map { .confirmed($0) } ?? .notOpen
  }

  /// The outcome that the payment has already; nil while it is open. Reads and locks the row as it is now,
  /// not as it was before another call changed it.
  private func outcome(
    of confirmation: PaymentConfirmation, for caller: Caller
  ) throws(DatabaseError) -> PaymentOutcome? {
    let row = try transaction.connection.row(
      """
      SELECT confirmed_at IS NOT NULL, proof_hash, is_request, open_until IS NULL OR open_until <= ?
      FROM payments
      WHERE id = ? AND account_id = ? AND merchant_id = COALESCE(?, merchant_id) FOR UPDATE
      """,
      [
        .time(transaction.now), .text(confirmation.id), .text(caller.accountID),
        .text(confirmation.merchantID),
      ]
    ) { row in
      (
        isConfirmed: row.boolean(0), proofHash: row.isNull(1) ? [] : row.bytes(1),
        isRequest: row.boolean(2), isClosed: row.boolean(3)
      )
    }
    guard let row else { return .notOpen }
    guard row.isClosed else { return nil }
    if row.isConfirmed {
      let isSame = isEqualInConstantTime(row.proofHash, confirmation.proofHash)
      return isSame ? .repeated : .alreadyConfirmed
    }
    return row.isRequest ? .closed : .notOpen
  }

  /// The challenge of the payment as its row is now; nil if none of the keys made it.
  private func challenge(
    of confirmation: PaymentConfirmation
  ) throws(DatabaseError) -> [UInt8]? {
    let found = try transaction.connection.row(
      """
      SELECT merchant_id, card_id, amount, currency, challenge_hash FROM payments
      WHERE id = ? AND card_id IS NOT NULL AND challenge_hash IS NOT NULL FOR UPDATE
      """,
      [.text(confirmation.id)]
    ) { row in
      (
        terms: PaymentTerms(
          id: confirmation.id, merchantID: row.text(0), cardID: row.text(1),
          amount: Amount(decimal: row.text(2), currency: row.text(3))),
        hash: row.bytes(4)
      )
    }
    guard let found else { return nil }
    return confirmation.keys.lazy.map { found.terms.challenge(under: $0) }
      .first { isEqualInConstantTime(sha256($0), found.hash) }
  }

  func auditUnproven(
    _ confirmation: PaymentConfirmation, _ proof: PaymentProof, by caller: Caller,
    on deviceID: String
  ) throws(DatabaseError) {
    try transaction.audit.write(
      .paymentRefused, account: caller.accountID, device: deviceID,
      detail: "\(confirmation.id) \(proof.rawValue)")
  }

  /// - Returns: the card's token at the merchant, which may be older; nil if the card is gone.
  private func storeCardToken(
    for confirmation: PaymentConfirmation
  ) throws(DatabaseError) -> String? {
    try transaction.connection.row(
      """
      INSERT INTO card_tokens (card_id, merchant_id, token)
      SELECT c.id, p.merchant_id, ? FROM payments p JOIN cards c ON c.id = p.card_id
      WHERE p.id = ? AND c.active
      ON DUPLICATE KEY UPDATE token = card_tokens.token
      RETURNING token
      """,
      [.text(confirmation.newCardToken), .text(confirmation.id)]
    ) { row in row.text(0) }
  }
}

import Cryptography
import MariaDB

/// A merchant's request to confirm a payment, apart from the proof, and the data that we prepare
/// for it.
package struct PaymentConfirmation: Sendable {
  /// The payment's id.
  package let id: String
  package let merchantID: String
  /// The challenges that the payment may have, 32 bytes each: one for each of our keys.
  package let challenges: [[UInt8]]
  /// The card's token at the merchant, if it has none there yet.
  package let newCardToken: String

  package init(id: String, merchantID: String, challenges: [[UInt8]], newCardToken: String) {
    self.id = id
    self.merchantID = merchantID
    self.challenges = challenges
    self.newCardToken = newCardToken
  }
}

package enum PaymentOutcome: Sendable {
  case confirmed(Payment)
  /// The payment is unknown, another account's, expired, or closed after five tries; or its card is
  /// gone.
  case notOpen
  /// The payment was confirmed before.
  case alreadyConfirmed
  /// The device is not the caller's, or has no key.
  case unknownKey
  /// The biometric key was set up with only a bearer, less than a day ago.
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
    let names: [Parameter] = [
      .text(confirmation.id), .text(confirmation.merchantID), .text(caller.accountID),
    ]
    let counted = try transaction.connection.execute(
      """
      UPDATE payments SET attempts = attempts + 1
      WHERE id = ? AND merchant_id = ? AND account_id = ? AND attempts < 5 AND confirmed_at IS NULL
        AND expires_at > ?
      """,
      names + [.time(transaction.now)])
    // FOR UPDATE reads the row as it is now, not as it was before another call confirmed it.
    let found = try transaction.connection.row(
      """
      SELECT challenge_hash, confirmed_at IS NOT NULL FROM payments
      WHERE id = ? AND merchant_id = ? AND account_id = ? FOR UPDATE
      """,
      names
    ) { row in (challengeHash: row.bytes(0), isConfirmed: row.boolean(1)) }
    guard let found else { return .refused(.notOpen) }
    guard !found.isConfirmed else { return .refused(.alreadyConfirmed) }
    let challenge = confirmation.challenges.first {
      isEqualInConstantTime(sha256($0), found.challengeHash)
    }
    guard counted == 1, let challenge else { return .refused(.notOpen) }
    return .counted(challenge)
  }

  /// Confirms a payment whose proof has been verified.
  ///
  /// - Returns: if it is not ``PaymentOutcome/confirmed(_:)``, roll back: another call has confirmed
  ///   the payment, or its card is gone.
  func confirm(
    _ confirmation: PaymentConfirmation, by proof: PaymentProof, of caller: Caller,
    on deviceID: String
  ) throws(DatabaseError) -> PaymentOutcome {
    let confirmed = try transaction.connection.execute(
      """
      UPDATE payments SET confirmed_at = ?, confirmed_by = ?
      WHERE id = ? AND confirmed_at IS NULL AND expires_at > ?
      """,
      [
        .time(transaction.now), .text(proof.rawValue), .text(confirmation.id),
        .time(transaction.now),
      ])
    guard confirmed == 1 else { return .alreadyConfirmed }
    guard let token = try storeCardToken(for: confirmation),
      let payment = try find(confirmation.id, cardToken: token)
    else { return .notOpen }
    try transaction.audit.write(
      .paymentConfirmed, account: caller.accountID, device: deviceID,
      detail: "\(confirmation.id) \(proof.rawValue)")
    return .confirmed(payment)
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

  private func find(_ id: String, cardToken: String) throws(DatabaseError) -> Payment? {
    try transaction.connection.row(
      """
      SELECT p.amount, p.currency, p.order_id, c.id, c.last_four, c.card_type
      FROM payments p JOIN cards c ON c.id = p.card_id WHERE p.id = ?
      """,
      [.text(id)]
    ) { row in
      Payment(
        id: id, card: PaymentCard(id: row.text(3), lastFour: row.text(4), cardType: row.text(5)),
        cardToken: cardToken, amount: Amount(decimal: row.text(0)), currency: row.text(1),
        orderID: row.optionalText(2))
    }
  }
}

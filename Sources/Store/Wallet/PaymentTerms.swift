package import Cryptography
import MariaDB

/// The facts of a payment that its payer agrees to. The challenge is bound to all of them.
package struct PaymentTerms: Sendable {
  let id: String
  let merchantID: String
  let cardID: String
  let amount: Amount

  /// The challenge that the payer's proof signs: 32 bytes, computed with the key, so that the database
  /// does not store it and a changed row has another one.
  package func challenge(under key: Key) -> [UInt8] {
    let facts = [
      "payment", id, merchantID, cardID, amount.text, amount.currency.code,
    ]
    return hmacSHA256(facts.joined(separator: "\n"), with: key)
  }
}

/// A payment of which a payer has chosen the card, and what the app must sign.
package struct ApprovedPayment: Sendable {
  package let payment: PaymentDetails
  package let card: PaymentCard
  /// 32 bytes.
  package let challenge: [UInt8]
}

/// The result of a payer's choice of a card.
package enum ApprovalOutcome: Sendable {
  case approved(ApprovedPayment)
  /// The payment does not exist.
  case unknown
  /// It is cancelled or expired.
  case closed(PaymentDetails)
  /// It is confirmed, by whomever.
  case confirmed
  /// Another account has approved it.
  case taken
  /// The account has no such card, or no card at all.
  case unknownCard
  case expiredCard
  /// The amount is over the merchant's limit.
  case tooLarge
}

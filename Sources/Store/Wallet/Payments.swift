package import Base
import MariaDB

/// A payment that an app has begun, before it is confirmed.
package struct NewPayment: Sendable {
  /// `pay_` and 22 characters of base64url.
  package let id: String
  /// SHA-256 of the challenge.
  package let challengeHash: [UInt8]
  package let cardID: String
  package let amount: Amount
  /// Three capital letters (ISO 4217).
  package let currency: String
  /// The merchant's own id of the order; 1 to 200 characters.
  package let orderID: String?
  package let expiresAt: Timestamp

  package init(
    id: String, challengeHash: [UInt8], cardID: String, amount: Amount, currency: String,
    orderID: String?, expiresAt: Timestamp
  ) {
    self.id = id
    self.challengeHash = challengeHash
    self.cardID = cardID
    self.amount = amount
    self.currency = currency
    self.orderID = orderID
    self.expiresAt = expiresAt
  }
}

/// The card of a payment, as it is shown.
package struct PaymentCard: Sendable {
  package let id: String
  package let lastFour: String
  /// VISA, MASTERCARD, AMEX, DISCOVER, DEBIT
  package let cardType: String
}

/// A confirmed payment.
package struct Payment: Sendable {
  package let id: String
  package let card: PaymentCard
  /// The name of the card for this merchant alone, the same at each payment.
  package let cardToken: String
  package let amount: Amount
  package let currency: String
  package let orderID: String?
}

/// Payments as apps begin and confirm them.
package struct Payments: Sendable {
  let records: Records

  /// Begins a payment with a card of the caller's account.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: the card; nil if the account has no such card.
  package func begin(
    _ payment: NewPayment, at merchant: String, by caller: Caller
  ) throws -> PaymentCard? {
    try records.transaction { transaction in
      let session = try transaction.sessions.live(caller)
      let card = try transaction.payments.activeCard(payment.cardID, of: caller.accountID)
      guard let card else { return nil }
      try transaction.payments.insert(payment, at: merchant, by: caller.accountID)
      try transaction.audit.write(
        .paymentBegun, account: caller.accountID, device: session.deviceID, detail: payment.id)
      return card
    }
  }
}

extension Records {
  package var payments: Payments { Payments(records: self) }
}

/// Statements on `payments`.
struct PaymentStatements: ~Copyable {
  let transaction: Transaction

  /// The card, unless it is another account's or was removed.
  fileprivate func activeCard(
    _ id: String, of account: String
  ) throws(DatabaseError) -> PaymentCard? {
    try transaction.connection.row(
      """
      SELECT c.id, c.last_four, c.card_type FROM cards c JOIN enrollments e ON e.id = c.enrollment_id
      WHERE c.id = ? AND c.active AND e.account_id = ?
      """,
      [.text(id), .text(account)]
    ) { row in PaymentCard(id: row.text(0), lastFour: row.text(1), cardType: row.text(2)) }
  }

  fileprivate func insert(
    _ payment: NewPayment, at merchant: String, by account: String
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO payments (id, merchant_id, account_id, card_id, amount, currency, order_id,
        challenge_hash, created_at, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(payment.id), .text(merchant), .text(account), .text(payment.cardID),
        .text(payment.amount.text), .text(payment.currency), .text(payment.orderID),
        .bytes(payment.challengeHash), .time(transaction.now), .time(payment.expiresAt),
      ])
  }
}

extension Transaction {
  var payments: PaymentStatements {
    PaymentStatements(transaction: Transaction(sharing: self))
  }
}

package import Base
package import Cryptography
import MariaDB

/// A payment that an app begins with a merchant's key.
package struct NewPayment: Sendable {
  /// `pay_` and 22 characters of base64url.
  package let id: String
  package let merchantID: String
  package let amount: Amount
  /// The merchant's own id of the order; 1 to 200 characters.
  package let orderID: String?
  package let expiresAt: Timestamp

  package init(
    id: String, merchantID: String, amount: Amount, orderID: String?, expiresAt: Timestamp
  ) {
    self.id = id
    self.merchantID = merchantID
    self.amount = amount
    self.orderID = orderID
    self.expiresAt = expiresAt
  }
}

/// Payments as the payers' apps use them.
package struct Payments: Sendable {
  let records: Records

  /// The time to confirm a payment that an app began.
  package static let lifetime = Duration.seconds(300)

  /// Begins a payment with a card of the caller's account, and approves it.
  ///
  /// - Parameter key: makes the challenge.
  /// - Throws: ``Refusal``; ``AddressNotProven``; ``RateLimited``.
  package func begin(
    _ payment: NewPayment, with cardID: String, by caller: Caller, challengedBy key: Key
  ) throws -> ApprovalOutcome {
    try records.transaction { transaction in
      let session = try transaction.payments.payer(caller)
      guard try transaction.payments.isWithinLimit(payment.amount, of: payment.merchantID) else {
        return .tooLarge
      }
      let card: Card
      switch try transaction.payments.chooseCard(cardID, of: caller.accountID) {
      case .card(let chosen): card = chosen
      case .refused(let outcome): return outcome
      }
      try transaction.payments.insert(payment)
      guard let begun = try transaction.payments.lock(payment.id) else { return .unknown }
      return try transaction.payments.approve(
        begun, with: card, by: caller, on: session.deviceID, challengedBy: key)
    }
  }

  /// Approves a merchant's request with a card of the caller's account. The payer may choose another
  /// card until the payment is confirmed; an earlier challenge is void then.
  ///
  /// - Parameters:
  ///   - cardID: nil for the default card.
  ///   - key: makes the challenge.
  /// - Throws: ``Refusal``; ``AddressNotProven``; ``RateLimited``.
  package func approve(
    _ id: String, with cardID: String?, by caller: Caller, challengedBy key: Key
  ) throws -> ApprovalOutcome {
    try records.transaction { transaction in
      let locked = try transaction.payments.lock(id)
      let session = try transaction.payments.payer(caller)
      guard let payment = locked else { return .unknown }
      switch payment.status(at: transaction.now) {
      case .pending: break
      case .approved:
        guard payment.accountID == nil || payment.accountID == caller.accountID else {
          return .taken
        }
      case .confirmed, .refunded: return .confirmed
      case .cancelled, .expired: return .closed(payment)
      }
      switch try transaction.payments.chooseCard(cardID, of: caller.accountID) {
      case .card(let card):
        return try transaction.payments.approve(
          payment, with: card, by: caller, on: session.deviceID, challengedBy: key)
      case .refused(let outcome): return outcome
      }
    }
  }

  /// A payment, with the cards that may pay it.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: nil if there is none.
  package func find(
    _ id: String, by caller: Caller
  ) throws -> (payment: PaymentDetails, cards: [Card])? {
    try records.read { transaction in
      _ = try transaction.sessions.live(caller)
      guard let payment = try transaction.payments.find(id) else { return nil }
      return (
        payment,
        try transaction.cards.list(of: caller.accountID).filter { !$0.hasExpired(at: records.now) }
      )
    }
  }

  /// A payment, for the page that anyone with its link can see.
  package func find(_ id: String) throws -> PaymentDetails? {
    try records.read { transaction in try transaction.payments.find(id) }
  }

  /// The newest payments that the caller's account has approved.
  ///
  /// - Throws: ``Refusal``.
  package func list(by caller: Caller) throws -> [PaymentDetails] {
    try records.read { transaction in
      _ = try transaction.sessions.live(caller)
      return try transaction.payments.list(ofAccount: caller.accountID, limit: 50)
    }
  }

  /// Cancels a payment, unless another account has approved it.
  ///
  /// - Throws: ``Refusal``; ``AddressNotProven``.
  package func cancel(_ id: String, by caller: Caller) throws -> CancellationOutcome {
    try records.transaction { transaction in
      let locked = try transaction.payments.lock(id)
      let session = try transaction.payments.payer(caller)
      guard let payment = locked else { return .unknown }
      guard payment.accountID == nil || payment.accountID == caller.accountID else { return .taken }
      let outcome = try transaction.payments.cancel(payment, as: "payer")
      if case .cancelled = outcome {
        try transaction.audit.write(
          .paymentCancelled, account: caller.accountID, device: session.deviceID, detail: id)
      }
      return outcome
    }
  }
}

/// The result of a cancellation.
package enum CancellationOutcome: Sendable {
  /// It is cancelled now.
  case cancelled(PaymentDetails)
  /// It was cancelled or had expired before.
  case closed(PaymentDetails)
  case confirmed(PaymentDetails)
  /// Another account has approved it.
  case taken
  case unknown
}

/// The owner of the account's address has not proven it.
package struct AddressNotProven: Error {}

extension Records {
  package var payments: Payments { Payments(records: self) }
}

private enum CardChoice {
  case card(Card)
  case refused(ApprovalOutcome)
}

/// Statements on `payments`.
struct PaymentStatements: ~Copyable {
  let transaction: Transaction

  /// The session of a caller who may pay. Counts the call.
  ///
  /// - Throws: ``Refusal``; ``AddressNotProven``; ``RateLimited``.
  fileprivate func payer(_ caller: Caller) throws -> LiveSession {
    let session = try transaction.sessions.live(caller)
    guard try transaction.accounts.isProven(caller.accountID) else { throw AddressNotProven() }
    try transaction.limits.count(.payments, of: caller.accountID)
    return session
  }

  /// Whether the merchant may take the amount.
  func isWithinLimit(_ amount: Amount, of merchant: String) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      "SELECT TRUE FROM merchants WHERE id = ? AND (largest_amount IS NULL OR largest_amount >= ?)",
      [.text(merchant), .text(amount.text)]
    ) { row in row.boolean(0) } ?? false
  }

  /// The payment, which cannot change before the transaction's end; see ``hold(_:)``.
  func lock(_ id: String) throws(DatabaseError) -> PaymentDetails? {
    // Not one statement: a lock of the joined rows would make merchants wait for each other.
    try hold(id) ? try find(id) : nil
  }

  /// Keeps the payment from changing before the transaction's end. Call it first: a read before it would
  /// fix what later reads see, so that they miss a change that came just before the lock.
  ///
  /// - Returns: false if there is none.
  @discardableResult
  func hold(_ id: String) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      "SELECT TRUE FROM payments WHERE id = ? FOR UPDATE", [.text(id)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Approves a locked payment that is open.
  fileprivate func approve(
    _ payment: PaymentDetails, with card: Card, by caller: Caller, on deviceID: String,
    challengedBy key: Key
  ) throws(DatabaseError) -> ApprovalOutcome {
    let terms = PaymentTerms(
      id: payment.id, merchantID: payment.merchantID, cardID: card.id, amount: payment.amount)
    let challenge = terms.challenge(under: key)
    _ = try transaction.connection.execute(
      """
      UPDATE payments SET account_id = ?, card_id = ?, challenge_hash = ?,
        approved_at = COALESCE(approved_at, ?)
      WHERE id = ? AND confirmed_at IS NULL AND cancelled_at IS NULL AND expired_at IS NULL
        AND expires_at > ? AND (account_id IS NULL OR account_id = ?)
      """,
      [
        .text(caller.accountID), .text(card.id), .bytes(sha256(challenge)), .time(transaction.now),
        .text(payment.id), .time(transaction.now), .text(caller.accountID),
      ])
    if payment.approvedAt == nil {
      try transaction.audit.write(
        .paymentBegun, account: caller.accountID, device: deviceID, detail: payment.id)
    }
    return .approved(
      ApprovedPayment(
        payment: payment,
        card: PaymentCard(id: card.id, lastFour: card.lastFour, cardType: card.cardType),
        challenge: challenge))
  }

  /// An active card of the account.
  ///
  /// - Parameter id: nil for the default card, or else the newest.
  fileprivate func chooseCard(
    _ id: String?, of account: String
  ) throws(DatabaseError) -> CardChoice {
    let cards = try transaction.cards.list(of: account)
    let chosen =
      if let id {
        cards.first { $0.id == id.lowercased() }
      } else {
        cards.first { !$0.hasExpired(at: transaction.now) } ?? cards.first
      }
    guard let chosen else { return .refused(.unknownCard) }
    return chosen.hasExpired(at: transaction.now) ? .refused(.expiredCard) : .card(chosen)
  }

  fileprivate func insert(_ payment: NewPayment) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO payments (id, merchant_id, amount, currency, order_id, created_at, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(payment.id), .text(payment.merchantID), .text(payment.amount.text),
        .text(payment.amount.currency.code), .text(payment.orderID), .time(transaction.now),
        .time(payment.expiresAt),
      ])
  }

  /// Cancels a locked payment, if it is open.
  ///
  /// - Parameter party: `payer` or `merchant`.
  func cancel(
    _ payment: PaymentDetails, as party: String
  ) throws(DatabaseError) -> CancellationOutcome {
    let cancelled = try transaction.connection.execute(
      """
      UPDATE payments SET cancelled_at = ?, cancelled_by = ?
      WHERE id = ? AND confirmed_at IS NULL AND cancelled_at IS NULL AND expired_at IS NULL
        AND expires_at > ?
      """,
      [.time(transaction.now), .text(party), .text(payment.id), .time(transaction.now)])
    guard cancelled == 1 else {
      return payment.confirmedAt == nil ? .closed(payment) : .confirmed(payment)
    }
    try transaction.webhooks.post(.cancelled, of: payment.id)
    guard let now = try find(payment.id) else { return .unknown }
    return .cancelled(now)
  }
}

extension Transaction {
  var payments: PaymentStatements {
    PaymentStatements(transaction: Transaction(sharing: self))
  }
}

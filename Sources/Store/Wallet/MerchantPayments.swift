package import Base
import Cryptography
import MariaDB

/// A payment that a merchant's server asks for.
package struct PaymentRequest: Sendable {
  /// `pay_` and 22 characters of base64url.
  package let id: String
  package let amount: Amount
  /// 1 to 200 characters.
  package let orderID: String
  package let description: String?
  /// JSON: an array.
  package let items: [UInt8]?
  /// The page to which the payer returns.
  package let returnURL: WebURL?
  package let expiresAt: Timestamp
  /// The field `Idempotency-Key`, and SHA-256 of the body that came with it.
  package let idempotency: (key: String, bodyHash: [UInt8])?

  package init(
    id: String, amount: Amount, orderID: String, description: String?, items: [UInt8]?,
    returnURL: WebURL?, expiresAt: Timestamp, idempotency: (key: String, bodyHash: [UInt8])?
  ) {
    self.id = id
    self.amount = amount
    self.orderID = orderID
    self.description = description
    self.items = items
    self.returnURL = returnURL
    self.expiresAt = expiresAt
    self.idempotency = idempotency
  }
}

/// The result of a merchant's request.
package enum PaymentRequestOutcome: Sendable {
  /// Made now, or before with the same idempotency key and body. `endsExpired` says whether the expiry of
  /// an earlier request for the order was recorded.
  case made(PaymentDetails, endsExpired: Bool = false)
  /// The idempotency key was used with another body.
  case otherBody
  /// The order has an open request.
  case openOrder(id: String)
  /// The amount is over the merchant's limit.
  case tooLarge
  /// The page to which the payer returns has none of the merchant's origins.
  case foreignReturnURL
}

package enum RefundOutcome: Sendable {
  /// Recorded now or before.
  case refunded(PaymentDetails)
  case notConfirmed(PaymentDetails)
  case unknown
}

/// A confirmed payment whose statement the merchant presents.
package struct ReceivedPayment: Sendable {
  package let payment: PaymentDetails
  /// Whether the merchant had learned of the confirmation before.
  package let wasReceived: Bool
}

/// Payments as a merchant's server requests and follows them. Each call sees that merchant's alone.
package struct MerchantPayments: Sendable {
  let records: Records

  /// The time to pay after a request.
  package static let lifetime = Duration.seconds(900)

  /// Asks for a payment.
  ///
  /// - Throws: ``RateLimited``.
  package func request(
    _ request: PaymentRequest, by merchant: MerchantCaller
  ) throws -> PaymentRequestOutcome {
    try records.repeatingLostRaces { transaction in
      if let earlier = try transaction.payments.answer(to: request, of: merchant.id) {
        return earlier
      }
      if let page = request.returnURL, !merchant.returnOrigins.contains(page.origin) {
        return .foreignReturnURL
      }
      try transaction.limits.count(.requests(of: merchant), of: merchant.id)
      guard try transaction.payments.isWithinLimit(request.amount, of: merchant.id) else {
        return .tooLarge
      }
      let endsExpired = try transaction.payments.closeExpired(
        order: request.orderID, of: merchant.id)
      if let id = try transaction.payments.openRequest(for: request.orderID, of: merchant.id) {
        return .openOrder(id: id)
      }
      do {
        try transaction.payments.insert(request, of: merchant.id)
      } catch let error as DatabaseError where error.code == .duplicateEntry {
        throw LostRace()  // to a request with the same idempotency key or for the same order
      }
      try transaction.audit.write(.paymentRequested, detail: request.id)
      // It was inserted above, unless another Galera node has aborted the transaction unnoticed.
      guard let payment = try transaction.payments.find(request.id) else { throw LostRace() }
      return .made(payment, endsExpired: endsExpired)
    }
  }

  /// - Returns: nil if the merchant has no such payment.
  package func find(_ id: String, of merchant: MerchantCaller) throws -> PaymentDetails? {
    let found = try records.read { transaction in try transaction.payments.find(id) }
    return found?.merchantID == merchant.id ? found : nil
  }

  /// At most `limit` payments, the newest first.
  ///
  /// - Parameter last: the id of a payment of the merchant; the list begins after it.
  /// - Returns: nil if the merchant has no such payment.
  package func list(
    of merchant: MerchantCaller, after last: String?, limit: Int
  ) throws -> [PaymentDetails]? {
    let start = try last.map { try find($0, of: merchant) }
    if case .some(.none) = start { return nil }
    return try records.read { transaction in
      try transaction.payments.list(ofMerchant: merchant.id, after: start ?? nil, limit: limit)
    }
  }

  /// Cancels a payment, if it is open.
  package func cancel(_ id: String, of merchant: MerchantCaller) throws -> CancellationOutcome {
    try records.transaction { transaction in
      guard let payment = try transaction.payments.lock(id), payment.merchantID == merchant.id
      else { return .unknown }
      let outcome = try transaction.payments.cancel(payment, as: "merchant")
      if case .cancelled = outcome {
        try transaction.audit.write(.paymentCancelled, account: payment.accountID, detail: id)
      }
      return outcome
    }
  }

  /// Records that the merchant gave the money of a confirmed payment back.
  package func refund(
    _ id: String, because reason: String?, by merchant: MerchantCaller
  ) throws -> RefundOutcome {
    try records.transaction { transaction in
      guard let payment = try transaction.payments.lock(id), payment.merchantID == merchant.id
      else { return .unknown }
      let refunded = try transaction.connection.execute(
        """
        UPDATE payments SET refunded_at = ?, refund_reason = ?
        WHERE id = ? AND confirmed_at IS NOT NULL AND refunded_at IS NULL
        """,
        [.time(transaction.now), .text(reason), .text(id)])
      guard refunded == 1 else {
        return payment.refundedAt == nil ? .notConfirmed(payment) : .refunded(payment)
      }
      try transaction.webhooks.post(.refunded, of: id)
      try transaction.audit.write(.paymentRefunded, account: payment.accountID, detail: id)
      return try transaction.payments.find(id).map { .refunded($0) } ?? .unknown
    }
  }

  /// Marks a confirmed payment as received by its merchant, unless it is refunded.
  ///
  /// - Returns: nil if the merchant has no such confirmed payment.
  package func receive(_ id: String, by merchant: MerchantCaller) throws -> ReceivedPayment? {
    try records.transaction { transaction in
      let isFirst =
        try transaction.connection.execute(
          """
          UPDATE payments SET received_at = ?
          WHERE id = ? AND merchant_id = ? AND confirmed_at IS NOT NULL AND refunded_at IS NULL
            AND received_at IS NULL
          """,
          [.time(transaction.now), .text(id), .text(merchant.id)]) == 1
      guard let payment = try transaction.payments.find(id), payment.merchantID == merchant.id,
        payment.confirmedAt != nil
      else { return nil }
      return ReceivedPayment(payment: payment, wasReceived: !isFirst)
    }
  }
}

extension Records {
  package var merchantPayments: MerchantPayments { MerchantPayments(records: self) }
}

extension PaymentStatements {
  /// The outcome of an earlier request with the same idempotency key; nil if there was none.
  fileprivate func answer(
    to request: PaymentRequest, of merchant: String
  ) throws(DatabaseError) -> PaymentRequestOutcome? {
    guard let idempotency = request.idempotency else { return nil }
    let earlier = try transaction.connection.row(
      "SELECT id, request_hash FROM payments WHERE merchant_id = ? AND idempotency_hash = ?",
      [.text(merchant), .bytes(sha256(idempotency.key))]
    ) { row in (id: row.text(0), bodyHash: row.bytes(1)) }
    guard let earlier else { return nil }
    guard earlier.bodyHash == idempotency.bodyHash else { return .otherBody }
    return try find(earlier.id).map { .made($0) }
  }

  /// Records the expiry of an open request for the order, so that the order can be requested again.
  ///
  /// - Returns: false if there was none.
  fileprivate func closeExpired(
    order: String, of merchant: String
  ) throws(DatabaseError) -> Bool {
    guard let id = try openRequest(for: order, of: merchant), try markExpired(id) else {
      return false
    }
    try transaction.webhooks.post(.expired, of: id)
    return true
  }

  fileprivate func openRequest(
    for order: String, of merchant: String
  ) throws(DatabaseError) -> String? {
    try transaction.connection.row(
      "SELECT id FROM payments WHERE merchant_id = ? AND open_order = ?",
      [.text(merchant), .text(order)]
    ) { row in row.text(0) }
  }

  fileprivate func insert(
    _ request: PaymentRequest, of merchant: String
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO payments (id, merchant_id, amount, currency, order_id, created_at, expires_at,
        is_request, description, items, return_url, idempotency_hash, request_hash)
      VALUES (?, ?, ?, ?, ?, ?, ?, TRUE, ?, ?, ?, ?, ?)
      """,
      [
        .text(request.id), .text(merchant), .text(request.amount.text),
        .text(request.amount.currency.code), .text(request.orderID), .time(transaction.now),
        .time(request.expiresAt), .text(request.description),
        request.items.map { .bytes($0) } ?? .null, .text(request.returnURL?.text),
        request.idempotency.map { .bytes(sha256($0.key)) } ?? .null,
        request.idempotency.map { .bytes($0.bodyHash) } ?? .null,
      ])
  }
}

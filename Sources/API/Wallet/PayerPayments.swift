import Base
import HTTP
import Store

/// `GET /api/mobile/payment/:requestId`: a payment with the cards that may pay it, for the app's question.
///
/// - Throws: ``Failure/unknownPayment``; ``Failure/paymentTaken``; ``Failure/paymentClosed``.
func getPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard let found = try context.records.payments.find(context.pathItem, by: caller) else {
    throw Failure.unknownPayment
  }
  let payment = found.payment
  let status = payment.status(at: context.now)
  if let payer = payment.accountID, payer != caller.accountID { throw Failure.paymentTaken }
  if status == .cancelled || status == .expired { throw Failure.paymentClosed }
  guard payment.accountID != nil || status == .pending || status == .approved else {
    throw Failure.unknownPayment  // of a deleted account
  }
  return .json { json in
    json.members(of: payment, as: status)
    json.write(found.cards)
  }
}

/// `GET /api/mobile/payment/pending`: payments that the account has approved and not confirmed.
func getPendingPayments(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let payments = try context.records.payments.list(by: caller)
    .filter { $0.status(at: context.now) == .approved }
  return .json { json in json.write(payments, named: "requests", at: context.now) }
}

/// `GET /api/mobile/payments`: the account's payments, the newest first.
func getPayments(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let payments = try context.records.payments.list(by: caller)
  return .json { json in json.write(payments, named: "payments", at: context.now) }
}

/// `POST /api/mobile/payment/:requestId/cancel`: cancels a payment, unless another account has approved it.
///
/// - Throws: errors of ``Context/payment(of:)``.
func cancelPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let payment = try context.payment(
    of: context.records.payments.cancel(context.pathItem, by: caller))
  return .json { json in
    json.member("success", true)
    json.member("requestId", payment.id)
    json.member("status", PaymentStatus.cancelled.rawValue)
  }
}

extension JSONWriter {
  fileprivate mutating func write(
    _ payments: [PaymentDetails], named name: StaticString, at now: Timestamp
  ) {
    member(
      name,
      array: { array in
        for payment in payments {
          array.object { $0.members(of: payment, as: payment.status(at: now)) }
        }
      })
  }

  /// The members of a payment for its payer. The app calculates with `amount`, so it is a number.
  fileprivate mutating func members(of payment: PaymentDetails, as status: PaymentStatus) {
    member("requestId", payment.id)
    member("status", status.rawValue)
    member("merchantName", payment.merchantName)
    member("amount", json: Array(payment.amount.text.utf8))
    member("currency", payment.amount.currency.code)
    member("orderId", payment.orderID)
    if let description = payment.description { member("orderDescription", description) }
    if let items = payment.items {
      member("orderDetails", object: { json in json.member("items", json: items) })
    }
    if let url = payment.returnURL { member("returnUrl", url) }
    member("createdAt", payment.createdAt.rfc3339)
    member("expiresAt", payment.expiresAt.rfc3339)
    if let card = payment.card {
      member("cardLast4", card.lastFour)
      member("cardBrand", card.cardType.lowercased())
    }
    if let time = payment.confirmedAt { member("confirmedAt", time.rfc3339) }
    if let time = payment.refundedAt { member("refundedAt", time.rfc3339) }
  }
}

extension Endpoint {
  static var getPayment: Endpoint {
    Endpoint(API.getPayment) {
      Operation(
        "Returns a payment with the cards that may pay it, for the app's question.", .bearer,
        item: .payment, answers: .json(.payerPayment.merging(["cards": .array(of: .card)])),
        errors: [.unknownPayment, .paymentTaken, .paymentClosed])
    }
  }

  static var getPendingPayments: Endpoint {
    Endpoint(API.getPendingPayments) {
      Operation(
        "Lists the payments that the account has approved and not confirmed.", .bearer,
        answers: .json(["requests": .array(of: .payerPayment)]))
    }
  }

  static var getPayments: Endpoint {
    Endpoint(API.getPayments) {
      Operation(
        "Lists the payments of the account, the newest first.", .bearer,
        answers: .json(["payments": .array(of: .payerPayment)]))
    }
  }

  static var cancelPayment: Endpoint {
    Endpoint(API.cancelPayment) {
      Operation(
        "Cancels a payment, unless another account has approved it.", .bearer, item: .payment,
        answers: .json(["success": .boolean, "requestId": .string, "status": .words(["cancelled"])]
        ),
        errors: .ofCancellation + [.addressNotProven], limits: [.payments])
    }
  }
}

extension Schema {
  fileprivate static let payerPayment: Schema =
    ([
      "requestId": .string, "status": .paymentStatus, "merchantName": .string, "amount": .number,
      "currency": .string, "orderId": .string.orNull, "orderDescription?": .string,
      "orderDetails?": [
        "items": .array(of: ["name": .string, "quantity": .integer, "unitPrice?": .number])
      ],
      "returnUrl?": .uri, "createdAt": .time, "expiresAt": .time, "cardLast4?": .string,
      "cardBrand?": .string, "confirmedAt?": .time, "refundedAt?": .time,
    ] as Schema).named("PayerPayment")
}

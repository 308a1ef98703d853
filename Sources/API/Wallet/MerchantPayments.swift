import Base
import Cryptography
import HTTP
import Store

/// `POST /api/merchant/payment/request`: a merchant's server asks for a payment. With the field
/// `Idempotency-Key`, a repeated request gets the same answer.
///
/// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``;
///   ``Failure/validation``; ``Failure/idempotencyKeyReused``;
///   ``Failure/openOrder(_:)``; ``Failure/amountOverLimit``; ``Failure/tooManyRequests(retryAfter:)``.
func requestPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let merchant = try context.merchant(of: request)
  let order = try request.decode(MerchantOrder.self)
  let wanted = PaymentRequest(
    id: context.newPaymentID(), amount: try order.amount.amount(in: order.currency),
    orderID: order.orderId.text, description: order.description?.text,
    items: try order.storedItems(), returnURL: try order.returnPage(),
    expiresAt: context.now + MerchantPayments.lifetime,
    idempotency: try request.idempotencyKey().map { ($0, sha256(request.body)) })
  switch try context.records.merchantPayments.request(wanted, by: merchant) {
  case .made(let payment, let endsExpired):
    if endsExpired { context.wakeCompanion(toTell: payment) }
    // A repeated request gets the first answer, whatever happened since.
    return .json(201) { json in
      json.members(of: payment, at: context.settings.publicURL)
      json.member("status", PaymentStatus.pending.rawValue)
    }
  case .otherBody: throw Failure.idempotencyKeyReused
  case .openOrder(let id): throw Failure.openOrder(id)
  case .tooLarge: throw Failure.amountOverLimit
  case .foreignReturnURL:
    throw Failure.validation(field: "returnUrl", reason: "origin_not_allowed")
  }
}

/// `GET /api/merchant/payment/:requestId`: the state of one of the merchant's payments. A confirmed one has
/// the statement `token`, unless it is refunded.
///
/// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``; ``Failure/unknownPayment``.
func getMerchantPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let merchant = try context.merchant(of: request)
  guard
    let payment = try context.records.merchantPayments.find(context.pathItem, of: merchant)
  else { throw Failure.unknownPayment }
  return context.answer(payment, withStatement: true)
}

/// `GET /api/merchant/payments[?after=<requestId>]`: the merchant's payments, 50 at a time, the newest first.
///
/// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``; ``Failure/unknownPayment``.
func getMerchantPayments(_ request: Request, in context: borrowing Context) throws -> Response {
  let merchant = try context.merchant(of: request)
  let count = 50
  guard
    let payments = try context.records.merchantPayments.list(
      of: merchant, after: request.queryItem("after"), limit: count)
  else { throw Failure.unknownPayment }
  return .json { json in
    json.member(
      "payments",
      array: { array in
        for payment in payments { array.object { context.write(payment, to: &$0) } }
      })
    json.member("next", payments.count == count ? payments.last?.id : nil)
  }
}

/// `POST /api/merchant/payment/:requestId/cancel`: cancels an open payment. Answers the same if it is
/// cancelled already.
///
/// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``; ``Failure/unknownPayment``;
///   ``Failure/paymentClosed``; ``Failure/conflict(_:code:)`` if it is confirmed.
func cancelMerchantPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let merchant = try context.merchant(of: request)
  let outcome = try context.records.merchantPayments.cancel(context.pathItem, of: merchant)
  return context.answer(try context.payment(of: outcome))
}

/// `POST /api/merchant/payment/:requestId/refund` `{reason?}`: records that the merchant gave the money back.
/// Answers the same if that is recorded already.
///
/// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``; ``Failure/unknownPayment``;
///   ``Failure/notConfirmed``.
func refundMerchantPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let merchant = try context.merchant(of: request)
  let reason = request.body.isEmpty ? nil : try request.decode(RefundBody.self).reason?.text
  let outcome = try context.records.merchantPayments.refund(
    context.pathItem, because: reason, by: merchant)
  switch outcome {
  case .refunded(let payment):
    context.wakeCompanion(toTell: payment)
    return context.answer(payment)
  case .notConfirmed: throw Failure.notConfirmed
  case .unknown: throw Failure.unknownPayment
  }
}

private struct RefundBody: Decodable {
  let reason: ShortText?
}

/// `POST /api/merchant/payment/verify` `{token}`: says what a statement is worth to the merchant, and marks
/// its payment as received.
///
/// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``;
///   ``Failure/validation``.
func verifyStatement(_ request: Request, in context: borrowing Context) throws -> Response {
  let merchant = try context.merchant(of: request)
  let body = try request.decode(StatementBody.self)
  func worthless(_ reason: String) -> Response {
    .json { json in
      json.member("valid", false)
      json.member("reason", reason)
    }
  }
  switch context.paymentID(ofStatement: body.token, for: merchant) {
  case .worthless(let reason): return worthless(reason)
  case .payment(let id):
    guard let received = try context.records.merchantPayments.receive(id, by: merchant) else {
      return worthless("payment_gone")
    }
    guard received.payment.refundedAt == nil else { return worthless("refunded") }
    return .json { json in
      json.member("valid", true)
      json.member("alreadyReceived", received.wasReceived)
      json.member("payment", object: { context.write(received.payment, to: &$0) })
    }
  }
}

private struct StatementBody: Decodable {
  let token: String
}

extension Request {
  /// - Throws: ``Failure/validation`` unless it has 1 to 255 printable characters.
  fileprivate func idempotencyKey() throws -> String? {
    guard let key = field("Idempotency-Key") else { return nil }
    guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy(\.isVisible) else {
      throw Failure.validation(field: "Idempotency-Key", reason: "not_1_to_255_characters")
    }
    return key
  }
}

extension Context {
  /// Wakes the companion after an outcome of a payment, if it has to tell the merchant.
  func wakeCompanion(toTell payment: PaymentDetails) {
    if payment.merchantIsTold { wakeCompanion() }
  }

  /// The payment, if it is cancelled.
  ///
  /// - Throws: ``Failure/unknownPayment``; ``Failure/paymentClosed``; ``Failure/paymentTaken``;
  ///   ``Failure/conflict(_:code:)``.
  func payment(of outcome: CancellationOutcome) throws -> PaymentDetails {
    if case .cancelled(let payment) = outcome { wakeCompanion(toTell: payment) }
    return try outcome.payment()
  }

  fileprivate func answer(
    _ payment: PaymentDetails, withStatement: Bool = false
  ) -> Response {
    let expiresAt = now + statementLifetime
    return .json { json in
      write(payment, to: &json)
      guard withStatement, payment.confirmedAt != nil, payment.refundedAt == nil else { return }
      json.member("token", statement(of: payment, until: expiresAt))
      json.member("tokenExpiresAt", expiresAt.rfc3339)
    }
  }

  /// The members of a payment for its merchant.
  fileprivate func write(_ payment: PaymentDetails, to json: inout JSONWriter) {
    json.members(of: payment, at: settings.publicURL)
    json.member("status", payment.status(at: now).rawValue)
    if let description = payment.description { json.member("description", description) }
    let times: [(StaticString, Timestamp?)] = [
      ("approvedAt", payment.approvedAt), ("confirmedAt", payment.confirmedAt),
      ("cancelledAt", payment.cancelledAt), ("refundedAt", payment.refundedAt),
      ("receivedAt", payment.receivedAt),
    ]
    for case (let name, let time?) in times { json.member(name, time.rfc3339) }
    if let party = payment.cancelledBy { json.member("cancelledBy", party) }
    if let reason = payment.refundReason { json.member("refundReason", reason) }
    guard payment.confirmedAt != nil else { return }
    json.member("cardToken", payment.cardToken)
    json.member("cardLast4", payment.card?.lastFour)
    json.member("cardBrand", payment.card?.cardType.lowercased())
  }
}

extension JSONWriter {
  /// The members that a request has from its beginning.
  ///
  /// - Parameter site: the public URL of the site.
  fileprivate mutating func members(of payment: PaymentDetails, at site: String) {
    member("requestId", payment.id)
    member("orderId", payment.orderID)
    member("amount", payment.amount.text)
    member("currency", payment.amount.currency.code)
    member("deepLinkUrl", "mwsim://payment/\(payment.id)")
    member("qrCodeUrl", "\(site)/pay/\(payment.id)")
    if let url = payment.returnURL { member("returnUrl", url) }
    member("createdAt", payment.createdAt.rfc3339)
    member("expiresAt", payment.expiresAt.rfc3339)
  }
}

extension CancellationOutcome {
  /// The payment, if it is cancelled.
  fileprivate func payment() throws -> PaymentDetails {
    switch self {
    case .cancelled(let payment): return payment
    case .closed(let payment):
      guard payment.cancelledAt != nil else { throw Failure.paymentClosed }
      return payment
    case .confirmed: throw Failure.conflict(\.paymentConfirmed)
    case .taken: throw Failure.paymentTaken
    case .unknown: throw Failure.unknownPayment
    }
  }
}

extension Failure {
  static let idempotencyKeyReused = Failure(
    status: 422, code: "idempotency_key_reused",
    message: "This Idempotency-Key was used with another body. Use a new key for a new request.")

  static let notConfirmed = Failure(
    status: 409, code: "not_confirmed",
    message: "Only a confirmed payment can be refunded. Cancel an open one instead.")

  /// - Parameter id: the open request.
  static func openOrder(_ id: String) -> Failure {
    Failure(
      status: 409, code: "open_order",
      message: "The order has an open request for a payment. Use it, or cancel it first.",
      diagnostics: { $0.member("requestId", id) })
  }
}

extension Endpoint {
  static var requestPayment: Endpoint {
    Endpoint(API.requestPayment) {
      Operation(
        "Requests a payment for an order. A request with the same `Idempotency-Key` gets the same answer.",
        .merchant,
        fields: [.init("Idempotency-Key", "1 to 255 visible characters.")],
        body: .json(MerchantOrder.self),
        answers: .json(201, .merchantPayment, meaning: "The payment is open."),
        errors: [.idempotencyKeyReused, .openOrder("pay_1"), .amountOverLimit],
        limits: [.paymentRequests])
    }
  }

  static var getMerchantPayment: Endpoint {
    Endpoint(API.getMerchantPayment) {
      Operation(
        "Returns one of the merchant's payments. A confirmed one that is not refunded has the statement `token`.",
        .merchant, item: .payment, answers: .json(.merchantPayment.merging(.statement)),
        errors: [.unknownPayment])
    }
  }

  static var getMerchantPayments: Endpoint {
    Endpoint(API.getMerchantPayments) {
      Operation(
        "Lists the merchant's payments, 50 at a time, the newest first.", .merchant,
        query: [.init("after", "`next` of the previous answer.")],
        answers: .json(["payments": .array(of: .merchantPayment), "next": .string.orNull]),
        errors: [.unknownPayment])
    }
  }

  static var cancelMerchantPayment: Endpoint {
    Endpoint(API.cancelMerchantPayment) {
      Operation(
        "Cancels an open payment.", .merchant, item: .payment, answers: .json(.merchantPayment),
        errors: .ofCancellation)
    }
  }

  static var refundMerchantPayment: Endpoint {
    Endpoint(API.refundMerchantPayment) {
      Operation(
        "Records that the merchant gave the money back.", .merchant, item: .payment,
        body: .json(RefundBody.self, isRequired: false), answers: .json(.merchantPayment),
        errors: [.notConfirmed, .unknownPayment])
    }
  }

  static var verifyStatement: Endpoint {
    Endpoint(API.verifyStatement) {
      Operation(
        "Tells what a statement is worth to the merchant, and marks its payment as received.",
        .merchant, body: .json(StatementBody.self),
        answers: .json([
          "valid": .boolean, "reason?": .string, "alreadyReceived?": .boolean,
          "payment?": .merchantPayment,
        ]))
    }
  }
}

extension Operation.Item {
  static let payment = Self("The `requestId` of a payment.")
}

extension [Failure] {
  /// Errors of ``CancellationOutcome/payment()``.
  static var ofCancellation: [Failure] {
    [.paymentClosed, .conflict(\.paymentConfirmed), .paymentTaken, .unknownPayment]
  }
}

extension Schema {
  fileprivate static let statement: Schema = ["token?": .token, "tokenExpiresAt?": .time]

  fileprivate static let merchantPayment: Schema =
    ([
      "requestId": .string, "orderId": .string.orNull, "amount": .string, "currency": .string,
      "deepLinkUrl": .uri, "qrCodeUrl": .uri, "returnUrl?": .uri, "createdAt": .time,
      "expiresAt": .time, "status": .paymentStatus, "description?": .string, "approvedAt?": .time,
      "confirmedAt?": .time, "cancelledAt?": .time, "refundedAt?": .time, "receivedAt?": .time,
      "cancelledBy?": .string, "refundReason?": .string, "cardToken?": .string.orNull,
      "cardLast4?": .string.orNull, "cardBrand?": .string.orNull,
    ] as Schema).named("MerchantPayment")

  static let paymentStatus = words(PaymentStatus.allCases.map(\.rawValue))
}

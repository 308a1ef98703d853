import Base
import Cryptography
import HTTP
import Store

/// `POST /api/merchant/payment/initiate`: approves a merchant's request, `{requestId, cardId?}`, with one of
/// the account's cards. With a merchant's key also begins a payment that no server requested: `{cardId,
/// amount, currency?, orderId?}`. The answer's `challenge` must be signed before `expiresAt`.
///
/// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``;
///   ``Failure/validation``; errors of ``ApprovalOutcome/payment()``.
func initiatePayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.caller(of: request)
  if caller != nil, let id = try request.decode(RequestBody.self).requestId?.text {
    let card = try request.decode(CardChoice.self).cardId?.text
    return try context.approve(id, with: card, by: context.authenticate(request), request)
  }
  let merchant = try context.merchant(of: request, besideTokenOf: caller)
  let payer = try context.authenticate(request)
  let order = try request.decode(PaymentOrder.self)
  let payment = NewPayment(
    id: context.newPaymentID(), merchantID: merchant.id,
    amount: try order.amount.amount(in: order.currency ?? .canadianDollar),
    orderID: order.orderId?.text, expiresAt: context.now + Payments.lifetime)
  let approved = try context.records.payments.begin(
    payment, with: order.cardId.text, by: payer, challengedBy: context.settings.hmacKeys.newest
  ).payment()
  return .json { json in
    json.members(of: approved, in: request.messageLanguage)
  }
}

/// `POST /api/mobile/payment/:requestId/approve`: approves a merchant's request with one of the account's
/// cards. It must still be confirmed.
///
/// - Throws: errors of ``ApprovalOutcome/payment()``.
func approvePayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let card = request.body.isEmpty ? nil : try request.decode(CardChoice.self).cardId?.text
  return try context.approve(context.pathItem, with: card, by: caller, request)
}

/// `POST /api/merchant/payment/confirm`: confirms a payment, once, by a passkey or by biometrics.
///
/// - Throws: ``Failure/invalidAPIKey``; ``Failure/validation``; errors of
///   ``Context/payment(_:of:)``; ``Failure/tooManyRequests(retryAfter:)`` while the device is locked.
func confirmPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.caller(of: request)
  let hasKey = request.field("x-api-key") != nil
  let merchant =
    try hasKey || caller == nil
    ? context.merchant(of: request, besideTokenOf: caller) : nil
  let payment = try context.confirm(
    request, at: merchant?.id, by: context.authenticate(request))
  let expiresAt = context.now + statementLifetime
  return .json { json in
    json.member("success", true)
    json.member("token", context.statement(of: payment, until: expiresAt))
    json.member("cardToken", payment.cardToken)
    json.member("cardLast4", payment.card?.lastFour)
    json.member("cardBrand", payment.card?.cardType.lowercased())
    json.member("expiresAt", expiresAt.rfc3339)
    if let url = payment.returnURL { json.member("returnUrl", url) }
  }
}

private struct RequestBody: Decodable {
  let requestId: ShortText?
}

private struct CardChoice: Decodable {
  let cardId: ShortText?
}

private struct ConfirmationBody: Decodable {
  let paymentId: ShortText?
  let requestId: ShortText?
  let credential: AssertedCredential?
}

private struct SignedBody: Decodable {
  let deviceId: ClientDeviceID
  let signature: String
}

extension Context {
  func newPaymentID() -> String { "pay_" + base64URLEncoded(random(16)) }

  /// Approves a merchant's request, and answers with the challenge.
  fileprivate func approve(
    _ id: String, with card: String?, by caller: Caller, _ request: Request
  ) throws -> Response {
    let approved = try records.payments.approve(
      id, with: card, by: caller, challengedBy: settings.hmacKeys.newest
    ).payment()
    return .json { json in
      json.member("success", true)
      json.member("requestId", id)
      json.member("status", PaymentStatus.approved.rawValue)
      json.members(of: approved, in: request.messageLanguage)
      if let url = approved.payment.returnURL { json.member("returnUrl", url) }
    }
  }

  /// Confirms with the passkey in the body, or else with the signature in the body.
  fileprivate func confirm(
    _ request: Request, at merchant: String?, by caller: Caller
  ) throws -> PaymentDetails {
    let body = try request.decode(ConfirmationBody.self)
    guard let id = body.paymentId ?? body.requestId else {
      throw Failure.validation(field: "paymentId", reason: "missing")
    }
    func confirmation(provenBy proof: [UInt8]) -> PaymentConfirmation {
      PaymentConfirmation(
        id: id.text, merchantID: merchant, keys: settings.hmacKeys.keys, proofHash: sha256(proof),
        newCardToken: "card_" + base64URLEncoded(random(24)))
    }
    if let assertion = body.credential?.assertion {
      let outcome = try records.payments.confirm(
        confirmation(provenBy: assertion.signature), with: assertion, at: settings.relyingParty,
        by: caller)
      return try payment(outcome, of: id.text)
    }
    let signed = try request.decode(SignedBody.self)
    let outcome = try records.payments.confirm(
      confirmation(provenBy: Array(signed.signature.utf8)), withSignature: signed.signature,
      on: signed.deviceId.text, by: caller)
    return try payment(outcome, of: id.text)
  }

  /// The payment, if it is confirmed.
  ///
  /// - Throws: ``Failure/badRequest(_:)``, ``Failure/conflict(_:code:)``, ``Failure/notFound(_:)``,
  ///   ``Failure/forbidden(_:)``, ``Failure/paymentClosed``, ``Failure/keyTooNew``.
  private func payment(_ outcome: PaymentOutcome, of id: String) throws -> PaymentDetails {
    switch outcome {
    case .confirmed(let payment):
      wakeCompanion(toTell: payment)
      return payment
    case .repeated:
      guard let payment = try records.payments.find(id) else { throw Failure.unknownPayment }
      // A statement would be worth the goods.
      guard payment.refundedAt == nil else { throw Failure.conflict(\.paymentConfirmed) }
      return payment
    case .notOpen: throw Failure.badRequest(\.paymentGone)
    case .closed: throw Failure.paymentClosed
    case .alreadyConfirmed: throw Failure.conflict(\.paymentConfirmed)
    case .unknownKey: throw Failure.notFound(\.noPaymentKey)
    // Not 401: at a 401 the apps delete their session.
    case .keyTooNew: throw Failure.keyTooNew
    case .unproven: throw Failure.forbidden(\.paymentNotConfirmed)
    }
  }
}

extension JSONWriter {
  /// The members of a payment that the payer must confirm.
  fileprivate mutating func members(of approved: ApprovedPayment, in language: Language) {
    let payment = approved.payment
    member("paymentId", payment.id)
    member("challenge", base64URLEncoded(approved.challenge))
    member("expiresAt", payment.expiresAt.rfc3339)
    member(
      "card",
      object: { json in
        json.member("lastFour", approved.card.lastFour)
        json.member("cardType", approved.card.cardType)
      })
    member("orderId", payment.orderID)
    member("merchantName", payment.merchantName)
    member("amount", payment.amount.text)
    member("currency", payment.amount.currency.code)
    member("message", WalletTexts(in: language).consent(approved))
  }
}

extension ApprovalOutcome {
  /// The payment, if it is approved.
  ///
  /// - Throws: ``Failure/unknownPayment``, ``Failure/paymentClosed``, ``Failure/paymentTaken``,
  ///   ``Failure/unknownCard``, ``Failure/expiredCard``, ``Failure/amountOverLimit``,
  ///   ``Failure/conflict(_:code:)``.
  fileprivate func payment() throws -> ApprovedPayment {
    switch self {
    case .approved(let payment): return payment
    case .unknown: throw Failure.unknownPayment
    case .closed: throw Failure.paymentClosed
    case .confirmed: throw Failure.conflict(\.paymentConfirmed)
    case .taken: throw Failure.paymentTaken
    case .unknownCard: throw Failure.unknownCard
    case .expiredCard: throw Failure.expiredCard
    case .tooLarge: throw Failure.amountOverLimit
    }
  }
}

extension AddressNotProven: FailureConvertible {
  var failure: Failure { .addressNotProven }
}

extension Failure {
  static let addressNotProven = Failure(
    status: 403, code: "address_not_proven", sentence: \.addressNotProven)

  static let unknownPayment = Failure.notFound(\.paymentGone)

  /// It is cancelled or expired.
  static let paymentClosed = Failure(
    status: 410, code: "payment_closed", sentence: \.paymentClosed)

  static let paymentTaken = Failure.conflict(\.paymentTaken, code: "payment_taken")

  static let expiredCard = Failure(status: 403, code: "card_expired", sentence: \.cardExpired)

  static let amountOverLimit = Failure(
    status: 403, code: "amount_over_limit", sentence: \.amountOverLimit)

  static let keyTooNew = Failure(status: 403, code: "key_too_new", sentence: \.keyTooNew)
}

extension Endpoint {
  static var initiatePayment: Endpoint {
    Endpoint(API.initiatePayment) {
      Operation(
        """
        Approves a merchant's request with one of the account's cards. With a merchant's key and without `requestId`, begins a \
        payment that no server requested. The answer's `challenge` must be signed before `expiresAt`.
        """, .payer,
        body: .json(
          .oneOf(
            Schema(of: RequestBody.self).merging(Schema(of: CardChoice.self)),
            Schema(of: PaymentOrder.self))),
        answers: .json(.approvedPayment), errors: .ofApproval, limits: [.payments])
    }
  }

  static var approvePayment: Endpoint {
    Endpoint(API.approvePayment) {
      Operation(
        "Approves a merchant's request with one of the account's cards. It must still be confirmed.",
        .bearer, item: .payment, body: .json(CardChoice.self, isRequired: false),
        answers: .json(.approvedPayment), errors: .ofApproval, limits: [.payments])
    }
  }

  static var confirmPayment: Endpoint {
    Endpoint(API.confirmPayment) {
      Operation(
        "Confirms a payment, once, by a passkey or by a signature of the device.", .payer,
        body: .json(
          .oneOf(
            Schema(of: ConfirmationBody.self),
            Schema(of: ConfirmationBody.self).merging(Schema(of: SignedBody.self)))),
        answers: .json([
          "success": .boolean, "token": .token, "cardToken": .string.orNull,
          "cardLast4": .string.orNull, "cardBrand": .string.orNull, "expiresAt": .time,
          "returnUrl?": .uri,
        ]),
        errors: [
          .badRequest(\.paymentGone), .paymentClosed, .conflict(\.paymentConfirmed),
          .notFound(\.noPaymentKey), .keyTooNew, .forbidden(\.paymentNotConfirmed),
        ], limits: [.biometricFailures])
    }
  }
}

extension Access {
  /// The payer's token. A payment that no server requested also needs the merchant's key.
  fileprivate static let payer: Access = {
    // With a valid token, a problem of the key is 403.
    let forbidden = Access.merchant.errors.map {
      Failure(status: 403, code: $0.code, message: $0.message)
    }
    return Access(
      alternatives: [[.accessToken], [.accessToken, .merchantKey]],
      errors: Access.bearer.errors + Access.merchant.errors + forbidden)
  }()
}

extension [Failure] {
  /// Errors of ``ApprovalOutcome/payment()``.
  fileprivate static var ofApproval: [Failure] {
    [
      .unknownPayment, .paymentClosed, .conflict(\.paymentConfirmed), .paymentTaken, .unknownCard,
      .expiredCard, .amountOverLimit, .addressNotProven,
    ]
  }
}

extension Schema {
  fileprivate static let approvedPayment: Schema =
    ([
      "success?": .boolean, "requestId?": .string, "status?": .paymentStatus, "paymentId": .string,
      "challenge": .base64URL, "expiresAt": .time,
      "card": ["lastFour": .string, "cardType": .string], "orderId": .string.orNull,
      "merchantName": .string, "amount": .string, "currency": .string, "message": .string,
      "returnUrl?": .uri,
    ] as Schema).named("ApprovedPayment")
}

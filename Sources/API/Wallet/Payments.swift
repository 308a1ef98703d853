import Base
import Cryptography
import HTTP
import Store

/// The time to confirm a payment, and the lifetime of the statement about it.
private let paymentLifetime = Duration.seconds(300)

/// `POST /api/merchant/payment/initiate`: begins a payment with one of the account's cards. The
/// answer's `challenge` must be signed within five minutes.
///
/// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``;
///   ``Failure/validation(field:reason:value:)``; ``Failure/unknownCard``.
func beginPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let merchant = try context.merchant(of: request)
  let caller = try context.authenticate(request)
  let order = try request.decode(PaymentOrder.self)
  let amount = try request.amount()
  let id = "pay_" + base64URLEncoded(context.random(16))
  let challenge = challenge(ofPayment: id, under: context.settings.hmacKeys.newest)
  let expiresAt = context.now + paymentLifetime
  let payment = NewPayment(
    id: id, challengeHash: sha256(challenge), cardID: order.cardId.text, amount: amount,
    currency: order.currency?.code ?? "CAD", orderID: order.orderId?.text, expiresAt: expiresAt)
  guard let card = try context.records.payments.begin(payment, at: merchant, by: caller) else {
    throw Failure.unknownCard
  }
  return .json { json in
    json.member("paymentId", id)
    json.member("challenge", base64URLEncoded(challenge))
    json.member("expiresAt", expiresAt.rfc3339)
    json.member(
      "card",
      object: { json in
        json.member("lastFour", card.lastFour)
        json.member("cardType", card.cardType)
      })
    json.member("orderId", order.orderId?.text)
  }
}

/// `POST /api/merchant/payment/confirm`: confirms a payment, once, by a passkey or by biometrics.
///
/// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``;
///   ``Failure/validation(field:reason:value:)``; errors of ``PaymentOutcome/payment()``;
///   ``Failure/tooManyRequests(retryAfter:)`` while the device is locked.
func confirmPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let merchant = try context.merchant(of: request)
  let payment = try context.confirm(request, at: merchant).payment()
  let expiresAt = context.now + paymentLifetime
  return .json { json in
    json.member("success", true)
    json.member("token", context.statement(of: payment, to: merchant, until: expiresAt))
    json.member("cardToken", payment.cardToken)
    json.member("cardLast4", payment.card.lastFour)
    json.member("cardBrand", payment.card.cardType.lowercased())
    json.member("expiresAt", expiresAt.rfc3339)
  }
}

extension Context {
  /// Confirms with the passkey in the body, or else with the signature in the body.
  fileprivate func confirm(_ request: Request, at merchant: String) throws -> PaymentOutcome {
    struct Body: Decodable {
      let paymentId: ShortText
      let credential: AssertedCredential?
    }
    struct Signed: Decodable {
      let deviceId: ClientDeviceID
      let signature: String
    }
    let caller = try authenticate(request)
    let body = try request.decode(Body.self)
    let id = body.paymentId.text
    let confirmation = PaymentConfirmation(
      id: id, merchantID: merchant,
      challenges: settings.hmacKeys.keys.map { challenge(ofPayment: id, under: $0) },
      newCardToken: "card_" + base64URLEncoded(random(24)))
    if let credential = body.credential {
      return try records.payments.confirm(
        confirmation, with: credential.assertion, at: settings.relyingParty, by: caller)
    }
    let signed = try request.decode(Signed.self)
    return try records.payments.confirm(
      confirmation, withSignature: signed.signature, on: signed.deviceId.text, by: caller)
  }

  /// A signed statement that the person confirmed merchant, card, amount and currency. The merchant accepts
  /// its `jti`, the payment's id, once. Its `type` and `aud` make it invalid as an access token.
  fileprivate func statement(
    of payment: Payment, to merchant: String, until expiresAt: Timestamp
  ) -> String {
    let claims = JSONWriter.object { json in
      json.member("iss", settings.publicURL)
      json.member("aud", merchant)
      json.member("jti", payment.id)
      json.member("iat", now.seconds)
      json.member("exp", expiresAt.seconds)
      json.member("type", "payment")
      json.member("card", payment.cardToken)
      json.member("amount", payment.amount.text)
      json.member("currency", payment.currency)
      if let orderID = payment.orderID { json.member("orderId", orderID) }
    }
    return JSONWebToken.sign(claims, with: settings.jwtKeys.newest)
  }
}

/// The challenge of a payment: 32 bytes computed with the key, so that the database does not store them.
private func challenge(ofPayment id: String, under key: Key) -> [UInt8] {
  hmacSHA256("payment\n\(id)", with: key)
}

extension PaymentOutcome {
  /// The payment, if it was confirmed.
  ///
  /// - Throws: ``Failure/badRequest(_:)``, ``Failure/conflict(_:code:)``, ``Failure/notFound(_:)``,
  ///   ``Failure/forbidden(_:)``.
  fileprivate func payment() throws -> Payment {
    switch self {
    case .confirmed(let payment): return payment
    case .notOpen: throw Failure.badRequest(\.paymentGone)
    case .alreadyConfirmed: throw Failure.conflict(\.paymentConfirmed)
    case .unknownKey: throw Failure.notFound(\.noPaymentKey)
    // Not 401: at a 401 the apps delete their session.
    case .keyTooNew: throw Failure.freshProofRequired
    case .unproven: throw Failure.forbidden(\.paymentNotConfirmed)
    }
  }
}

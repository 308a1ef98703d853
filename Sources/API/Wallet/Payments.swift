import Base
import Cryptography
import HTTP
import Store

/// Of a payment, until it is confirmed; and of the statement that it has been.
private let paymentLifetime = Duration.seconds(300)

/// `POST /api/merchant/payment/initiate`: begins a payment with one of the account's cards. What is to be
/// signed for it is `challenge`, within five minutes.
///
/// - Throws: ``Failure/missingAPIKey``, ``Failure/invalidAPIKey``;
///   ``Failure/validation(field:reason:value:)``; ``Failure/notFound(_:)`` for a card that is not the
///   account's.
func beginPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  let merchant = try context.merchant(of: request)
  let caller = try context.authenticate(request)
  let order = try request.decode(PaymentOrder.self)
  let amount = try request.amount()
  let id = "pay_" + base64URLEncoded(context.random(16))
  let challenge = challenge(ofPayment: id, under: context.settings.hmacKeys.newest)
  let expiresAt = context.now + paymentLifetime
  let card = try context.database.begin(
    NewPayment(
      id: id, challengeHash: sha256(challenge), cardID: order.cardId.text, amount: amount,
      currency: order.currency?.code ?? "CAD", orderID: order.orderId?.text, expiresAt: expiresAt),
    at: merchant, by: caller, at: context.now)
  guard let card else { throw Failure.notFound("Card not found") }
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
/// - Throws: ``Failure/missingAPIKey``, ``Failure/invalidAPIKey``;
///   ``Failure/validation(field:reason:value:)``; what ``Failure/init(_:)-(PaymentRefusal)`` makes of a
///   refusal; ``Failure/tooManyRequests(retryAfter:)`` while the device is locked.
func confirmPayment(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let paymentId: ShortText
    let credential: AssertedCredential?
  }
  struct Signed: Decodable {
    let deviceId: ClientDeviceID
    let signature: String
  }
  let merchant = try context.merchant(of: request)
  let caller = try context.authenticate(request)
  let body = try request.decode(Body.self)
  let id = body.paymentId.text
  let name = PaymentName(
    id: id, merchantID: merchant,
    challenges: context.settings.hmacKeys.keys.map { challenge(ofPayment: id, under: $0) },
    newCardToken: "card_" + base64URLEncoded(context.random(24)))
  let payment: Payment
  if let credential = body.credential {
    payment = try context.database.confirm(
      name, with: credential.assertion, at: context.settings.relyingParty, by: caller,
      at: context.now)
  } else {
    let signed = try request.decode(Signed.self)
    payment = try context.database.confirm(
      name, withSignature: signed.signature, onDevice: signed.deviceId.text, by: caller,
      at: context.now)
  }
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
  /// The id of the merchant whose API key came along.
  ///
  /// - Throws: ``Failure/missingAPIKey``, ``Failure/invalidAPIKey``.
  fileprivate func merchant(of request: Request) throws -> String {
    guard let key = request.field("x-api-key") else { throw Failure.missingAPIKey }
    guard let merchant = try database.merchant(withKeyHash: sha256(key)) else {
      throw Failure.invalidAPIKey
    }
    return merchant
  }

  /// Says of merchant, card, amount and currency that they were confirmed. Its `jti` is the payment's id, by
  /// which it is taken once; its `type` and `aud` let nobody in here.
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

/// 32 bytes that nobody can tell who has not the key, so that the database need not hold them.
private func challenge(ofPayment id: String, under key: Key) -> [UInt8] {
  hmacSHA256("payment\n\(id)", with: key)
}

extension Failure {
  // Not Bearer: a new access token would not help.
  fileprivate static let missingAPIKey = Failure(
    status: 401, code: "missing_api_key", message: "x-api-key header is required",
    fields: [("WWW-Authenticate", "ApiKey")])

  fileprivate static let invalidAPIKey = Failure(
    status: 401, code: "invalid_api_key", message: "Invalid API key",
    fields: [("WWW-Authenticate", "ApiKey")])

  /// What does not prove anything is 403 and not 401, at which the apps would throw their session away.
  init(_ refusal: PaymentRefusal) {
    switch refusal {
    case .notOpen: self = .badRequest("Payment not found or expired. Initiate it again.")
    case .alreadyConfirmed: self = .conflict("The payment has been confirmed already")
    case .unknownKey: self = .notFound("Device or biometric not found")
    case .unproven: self = .forbidden("The payment was not confirmed")
    }
  }
}

/// What is to be paid, and how.
private struct PaymentOrder: Decodable {
  let cardId: ShortText
  let currency: Currency?
  let orderId: ShortText?
}

/// Three capital letters (ISO 4217).
private struct Currency: Decodable {
  let code: String

  init(from decoder: any Decoder) throws {
    code = try decoder.singleValueContainer().decode(String.self)
    guard code.utf8.count == 3, code.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
      throw Failure.validation(field: decoder.field, reason: "not_a_currency_code")
    }
  }
}

extension Request {
  /// The member `amount`, exactly as it is written: a decoder would make a binary fraction of it.
  ///
  /// - Throws: ``Failure/validation(field:reason:value:)``.
  fileprivate func amount() throws -> Amount {
    var digits: ArraySlice<UInt8>?
    var reader = JSONReader(body)
    do {
      try reader.object { name, value in
        guard name == "amount" else { return try value.skip() }
        guard digits == nil else { throw Failure.validation(field: "amount", reason: "twice") }
        digits = try value.number()
      }
    } catch JSONReader.Failure.wrongType {
      throw Failure.validation(field: "amount", reason: "wrong_type")
    }
    guard let digits else { throw Failure.validation(field: "amount", reason: "missing") }
    guard let amount = Amount(number: digits) else {
      throw Failure.validation(field: "amount", reason: "not_0.01_to_9999999999.99_in_two_decimals")
    }
    return amount
  }
}

import Base
import Cryptography
import HTTP
import QRCode
import Store

/// `GET /pay/:requestId`: the page behind a request's `qrCodeUrl`. It shows shop and amount, opens the app,
/// and has a QR code for the app on another device.
///
/// - Throws: ``Failure/unknownPayment``; ``Failure/paymentClosed``.
func getPaymentPage(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let payment = try context.records.payments.find(context.pathItem) else {
    throw Failure.unknownPayment
  }
  let texts = WalletTexts(in: request.messageLanguage)
  let facts =
    Page.list(
      [
        (
          name: texts.shop, value: "<bdi><strong>\(payment.merchantName.htmlEscaped)</strong></bdi>"
        ),
        (texts.amount, "<bdi><strong>\(payment.amount.shown.htmlEscaped)</strong></bdi>"),
        (texts.order, payment.description.map { "<bdi>\($0.htmlEscaped)</bdi>" } ?? ""),
      ].filter { !$0.value.isEmpty })
  let content: String
  switch payment.status(at: context.now) {
  case .cancelled, .expired: throw Failure.paymentClosed
  case .confirmed, .refunded: content = #"<p role="status">\#(texts.paid)</p>"#
  case .pending, .approved:
    let link = "mwsim://payment/\(payment.id)"
    // Phones open the page, and the app's own scanner finds its link at the end.
    let code = try QRSymbol(Array("\(context.settings.publicURL)/pay/\(payment.id)#\(link)".utf8))
    content = """
      <p><a class="button primary" href="\(link)">\(texts.payInApp)</a></p>
      <p>\(texts.scan)</p>
      <img src="data:image/png;base64,\(base64Encoded(code.png(size: 320)))" width="320" height="320" \
      alt="\(texts.picture)">
      """
  }
  return Page(
    language: request.messageLanguage, title: texts.payment, content: "\(facts)\n\(content)"
  ).response()
}

extension Endpoint {
  static var getPaymentPage: Endpoint {
    Endpoint(API.getPaymentPage) {
      Operation(
        "Shows the page of a payment: its shop and amount, and how to pay with the app.",
        item: .payment, answers: .page("The page."), errors: [.unknownPayment, .paymentClosed])
    }
  }
}

extension Response {
  /// The error page for people.
  static func paymentError(_ failure: Failure, in language: Language) -> Response {
    var response = Page(
      language: language, title: WalletTexts(in: language).payment,
      content: "<p>\(failure.text(in: language).htmlEscaped)</p>"
    ).response(status: failure.status)
    response.fields += failure.fields
    return response
  }
}

extension Amount {
  /// With its currency, such as `CAD 12.50`.
  var shown: String { "\(currency.code) \(text)" }
}

extension WalletTexts {
  /// The sentence that a payer agrees to.
  func consent(_ approved: ApprovedPayment) -> String {
    let card = "\(approved.card.cardType) •••• \(approved.card.lastFour)"
    return consentWords(approved.payment.amount.shown, approved.payment.merchantName, card)
  }
}

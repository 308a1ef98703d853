import Base
import HTTP
import Store

/// The body of `POST /api/merchant/payment/initiate` with a merchant's key.
struct PaymentOrder: Decodable {
  let cardId: ShortText
  let amount: DecimalText
  let currency: Currency?
  let orderId: ShortText?
}

/// The body of `POST /api/merchant/payment/request`.
struct MerchantOrder: Decodable {
  /// One line of an order, as the app shows it.
  struct Item: Decodable {
    let name: ShortText
    let quantity: WholeNumber
    let unitPrice: DecimalText?
  }

  let amount: DecimalText
  let currency: Currency
  let orderId: ShortText
  let description: ShortText?
  let returnUrl: String?
  let items: [Item]?

  private static let mostItems = 50

  /// The items as they are stored: a JSON array.
  ///
  /// - Throws: ``Failure/validation``.
  func storedItems() throws -> [UInt8]? {
    guard let items else { return nil }
    guard items.count <= Self.mostItems else {
      throw Failure.validation(field: "items", reason: "more_than_50")
    }
    return try JSONWriter.array { array in
      for (index, item) in items.enumerated() {
        guard (1...999_999).contains(item.quantity.value) else {
          throw Failure.validation(field: "items.\(index).quantity", reason: "not_1_to_999999")
        }
        let price = try item.unitPrice.map {
          try $0.amount(in: currency, of: "items.\(index).unitPrice")
        }
        array.object { json in
          json.member("name", item.name.text)
          json.member("quantity", item.quantity.value)
          if let price { json.member("unitPrice", json: Array(price.text.utf8)) }
        }
      }
    }
  }

  /// The page to which the payer returns.
  ///
  /// - Throws: ``Failure/validation``.
  func returnPage() throws -> WebURL? {
    guard let returnUrl else { return nil }
    guard returnUrl.utf8.count <= 2000, let url = WebURL(returnUrl), url.isHTTP else {
      throw Failure.validation(field: "returnUrl", reason: "not_a_url")
    }
    return url
  }
}

extension Currency: SelfDescribing {
  static let schema = Schema.string.with("pattern", "^[A-Z]{3}$").example("CAD")

  package init(from decoder: any Decoder) throws {
    let code = try decoder.singleValueContainer().decode(String.self)
    guard let currency = Currency(code: code) else {
      throw Failure.validation(
        field: decoder.field, reason: "not_a_currency_code", sentence: \.notACurrency)
    }
    self = currency
  }

  /// The contract's currency for orders without one.
  static let canadianDollar = Currency(code: "CAD")!
}

/// A decimal number as it was written: a JSON number, or a string with one. It never becomes a binary
/// fraction.
struct DecimalText: SelfDescribing {
  static let schema = Schema.oneOf(
    .string.with("pattern", #"^(0|[1-9][0-9]*)(\.[0-9]+)?$"#).example("12.50"), .number)

  let text: String

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // try?: without a string it must be a number, and text that is no number has one answer.
    guard let text = try? container.decode(String.self) else {
      text = try container.decode(JSONNumber.self).text
      return
    }
    var reader = JSONReader(Array(text.utf8))
    guard text.utf8.first != nil, text.trimmed == text, (try? reader.number()) != nil,
      (try? reader.end()) != nil
    else { throw Failure.validation(field: decoder.field, reason: "not_a_decimal_number") }
    self.text = text
  }

  /// - Throws: ``Failure/validation`` unless it is above zero, not too large, and has
  ///   at most the currency's decimals.
  func amount(in currency: Currency, of field: String = "amount") throws -> Amount {
    guard let amount = Amount(number: text.utf8, in: currency) else {
      let least =
        currency.digits == 0 ? "1" : "0.\(String(repeating: "0", count: currency.digits - 1))1"
      throw Failure.validation(
        field: field, reason: "not_\(least)_to_9999999999_in_\(currency.digits)_decimals",
        sentence: \.amountOutOfRange)
    }
    return amount
  }
}

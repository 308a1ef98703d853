import Base
import HTTP
import Store

/// A merchant's payment order, without the amount.
struct PaymentOrder: Decodable {
  let cardId: ShortText
  let currency: Currency?
  let orderId: ShortText?
}

/// A currency code of three capital letters (ISO 4217).
struct Currency: Decodable {
  let code: String

  init(from decoder: any Decoder) throws {
    code = try decoder.singleValueContainer().decode(String.self)
    guard code.utf8.count == 3, code.utf8.allSatisfy(\.isUppercaseLetter) else {
      throw Failure.validation(
        field: decoder.field, reason: "not_a_currency_code", sentence: \.notACurrency)
    }
  }
}

extension Request {
  /// The exact decimal value of the member `amount`. A decoder would convert it to a binary fraction.
  ///
  /// - Throws: ``Failure/validation(field:reason:value:)``.
  func amount() throws -> Amount {
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
      throw Failure.validation(
        field: "amount", reason: "not_0.01_to_9999999999.99_in_two_decimals",
        sentence: \.amountOutOfRange)
    }
    return amount
  }
}

import Base
import Cryptography
import Store

/// The lifetime of a statement. The merchant gets a new one as long as the payment is kept.
let statementLifetime = Duration.seconds(3600)

extension Context {
  /// A signed statement that the payer confirmed merchant, card, amount and currency. It is signed with a
  /// key that signs nothing else, so it is never an access token.
  func statement(of payment: PaymentDetails, until expiresAt: Timestamp) -> String {
    let claims = JSONWriter.object { json in
      json.member("iss", settings.publicURL)
      json.member("aud", payment.merchantID)
      json.member("jti", payment.id)
      json.member("iat", now.seconds)
      json.member("exp", expiresAt.seconds)
      json.member("type", "payment")
      if let card = payment.cardToken { json.member("card", card) }
      json.member("amount", payment.amount.text)
      json.member("currency", payment.amount.currency.code)
      if let orderID = payment.orderID { json.member("orderId", orderID) }
    }
    return settings.paymentKeys.sign(claims)
  }

  /// The payment that a statement is about, if the statement is worth something to the merchant.
  func paymentID(ofStatement token: String, for merchant: MerchantCaller) -> StatementReading {
    // try?: each problem of the token has the same answer.
    guard let payload = try? settings.paymentKeys.verify(token),
      let claims = try? StatementClaims(json: payload),
      claims.type == "payment", settings.publicURLs.contains(claims.iss)
    else { return .worthless("not_a_statement") }
    guard claims.aud == merchant.id else { return .worthless("other_merchant") }
    guard claims.exp > now.seconds else { return .worthless("expired") }
    return .payment(claims.jti)
  }
}

/// Content of a statement for the merchant that presents it.
enum StatementReading {
  /// The payment's id.
  case payment(String)
  /// The reason for programs.
  case worthless(String)
}

private struct StatementClaims {
  var iss = ""
  var aud = ""
  var jti = ""
  var type = ""
  var exp: Int64 = 0

  init(json: [UInt8]) throws {
    var reader = JSONReader(json)
    try reader.object { name, value in
      switch name {
      case "iss": iss = try value.string()
      case "aud": aud = try value.string()
      case "jti": jti = try value.string()
      case "type": type = try value.string()
      case "exp": exp = try value.integer()
      default: try value.skip()
      }
    }
    try reader.end()
  }
}

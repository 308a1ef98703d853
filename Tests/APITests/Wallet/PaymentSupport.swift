import Administration
import Cryptography
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

/// A payment that has begun.
struct BegunPayment {
  let id: String
  /// 32 bytes in base64url.
  let challenge: String
}

extension PhoneKey {
  /// A signature of a payment's challenge.
  func sign(_ payment: BegunPayment) -> String {
    sign(base64Encoded(base64URLDecoded(payment.challenge) ?? []))
  }
}

extension TestApplication {
  /// The merchants as an administrator manages them, with the companion's minimum rights.
  var merchants: MerchantAdministration {
    let database = Database(accountSettings(of: "companion", in: root))
    return MerchantAdministration(records: database.records(at: now, from: .companion))
  }

  func addCard(of person: SignedIn, active: Bool = true) -> String {
    let (enrollment, card) = (
      UUID().uuidString.lowercased(), UUID().uuidString.lowercased()
    )
    sql(
      """
      INSERT IGNORE INTO banks (bsim_id, name) VALUES ('bank', 'Bank');
      INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at)
      VALUES ('\(enrollment)', '\(person.accountID)', 'bank', '2024-01-15')
      ON DUPLICATE KEY UPDATE enrolled_at = enrolled_at;
      INSERT INTO cards (id, enrollment_id, last_four, card_type, active, added_at)
      SELECT '\(card)', id, '4242', 'VISA', \(active), '2024-01-15' FROM enrollments
      WHERE account_id = '\(person.accountID)';
      """)
    return card
  }

  /// - Parameter json: the members of the body.
  func initiate(_ json: String, key: String?, token: String?) -> Answer {
    send(
      "POST", "/api/merchant/payment/initiate", json, token: token,
      fields: key.map { [(name: "x-api-key", value: $0)] } ?? [])
  }

  func confirm(_ json: [String: Any?], key: String?, token: String?) -> Answer {
    send(
      "POST", "/api/merchant/payment/confirm", jsonText(json), token: token,
      fields: key.map { [(name: "x-api-key", value: $0)] } ?? [])
  }
}

/// A site where Ann pays with her card at a shop.
struct Checkout {
  let site: TestApplication
  let ann: SignedIn
  let card: String
  /// The shop's API key.
  let key: String

  init(at site: TestApplication) throws {
    self.site = site
    ann = try site.signUp()
    _ = try site.setUp(of: ann)
    card = site.addCard(of: ann)
    key = try site.merchants.add("Shop").key
    Evidence.keep(secret: key)
  }

  var order: String { #"{"cardId":"\#(card)","amount":99.99,"orderId":"order-xyz"}"# }

  func begin(_ json: String? = nil) throws -> BegunPayment {
    let answer = site.initiate(json ?? order, key: key, token: ann.accessToken)
    try #require(answer.status == 200, "\(answer.text)")
    return BegunPayment(
      id: try #require(answer.string("paymentId")),
      challenge: try #require(answer.string("challenge")))
  }

  /// - Parameters:
  ///   - phone: the key that signs.
  ///   - signed: the payment whose challenge is signed; nil means `payment`.
  ///   - isBare: sends no merchant's key, as apps do.
  func confirm(
    _ payment: BegunPayment, with phone: PhoneKey = .one, signing signed: BegunPayment? = nil,
    by person: SignedIn? = nil, device: String? = nil, key other: String? = nil,
    isBare: Bool = false
  ) -> Answer {
    site.confirm(
      [
        "paymentId": payment.id, "deviceId": device ?? (person ?? ann).deviceID,
        "signature": phone.sign(signed ?? payment),
      ], key: isBare ? nil : other ?? key, token: (person ?? ann).accessToken)
  }
}

extension Checkout {
  /// - Parameter credential: a `PublicKeyCredential` in JSON.
  func confirm(_ payment: BegunPayment, _ credential: [String: any Sendable]) -> Answer {
    site.confirm(
      ["paymentId": payment.id, "credential": credential], key: key, token: ann.accessToken)
  }
}

func withCheckout(_ body: (Checkout) throws -> Void) throws {
  try withApplication { site in try body(try Checkout(at: site)) }
}

extension Answer {
  var isUnproven: Bool { isError(403, "forbidden", "The payment was not confirmed. Try again.") }
  var isNotOpen: Bool {
    isError(400, "bad_request", "This payment does not exist, or it has expired. Start it again.")
  }
}

import Base
import Foundation
import Testing

@testable import API

/// Callers who may begin a payment, and valid values.
@Suite struct PaymentOrderTests {
  @Test func theAPIKeyIsCheckedBeforeEverythingElse() throws {
    try withCheckout { shop in
      let revoked = try shop.site.merchants.add("Gone").key
      let id = shop.site.sql("SELECT id FROM merchants WHERE name = 'Gone'")
      #expect(try shop.site.merchants.revoke(id) != nil)
      #expect(try shop.site.merchants.revoke(id) == nil)
      for (key, code, message) in [
        (nil, "missing_api_key", "x-api-key header is required"),
        (revoked, "invalid_api_key", "Invalid API key"),
        ("msk_wrong", "invalid_api_key", "Invalid API key"),
        (shop.key + "x", "invalid_api_key", "Invalid API key"),
      ] {
        for token in [nil, shop.ann.accessToken] {
          // At a 401 the app would sign the person out, and only a program's token is missing.
          let status = token == nil ? 401 : 403
          #expect(
            shop.site.initiate("{}", key: key, token: token).isError(status, code, message),
            "\(code)")
          if key == nil, token != nil { continue }  // the app confirms without a key
          #expect(shop.site.confirm([:], key: key, token: token).isError(status, code, message))
        }
      }
      for answer in [
        shop.site.initiate("{", key: shop.key, token: nil),
        shop.site.confirm([:], key: shop.key, token: nil),
      ] {
        #expect(answer.isError(401, "unauthorized", "Missing or invalid authorization header"))
      }
      #expect(shop.site.count("payments") == 0)
    }
  }

  @Test func merchantsAreListedWithoutTheirKeys() throws {
    try withApplication { site in
      let merchants = site.merchants
      let key = try merchants.add("Shop \u{1b}[31m").key
      let id = site.sql("SELECT id FROM merchants")
      #expect(try merchants.revoke(id) != nil)
      let list = try merchants.list().text
      let time = site.now.rfc3339
      #expect(list.contains("\n\(id)  \(time)  \(time)  \(key.prefix(12))  "), "\(list)")
      #expect(list.hasSuffix("  Shop ·[31m"), "\(list)")
      #expect(!list.contains(key))
    }
  }

  /// The amount as written and as stored; nil if refused.
  @Test(
    arguments: [
      ("99.99", "99.99"), ("0.01", "0.01"), ("1", "1.00"), ("1.0", "1.00"), ("1.10", "1.10"),
      ("1.100", "1.10"), ("1e2", "100.00"), ("1.5E+1", "15.00"), ("9999e-2", "99.99"),
      ("9999999999.99", "9999999999.99"), ("0.29", "0.29"), ("1.005e1", "10.05"),
      ("4503599627370497.5e-6", nil), ("0", nil), ("0.00", nil), ("-0.01", nil), ("-1", nil),
      ("0.001", nil), ("99.999", nil), ("1e-3", nil), ("10000000000", nil), ("1e10", nil),
      ("1e999999999999999999999", nil), ("1e-999999999999999999999", nil), ("1e400", nil),
      ("1e\(Int.min)", nil), ("1e\(Int.max)", nil),
      ("0.\(String(repeating: "0", count: 400))1", nil),
      ("1.\(String(repeating: "0", count: 400))", "1.00"),
      ("1.\(String(repeating: "0", count: 40))1", nil), ("\"99.99\"", "99.99"),
      ("\"1e2\"", "100.00"), ("\"\"", nil), ("\" 1\"", nil), ("\"+1\"", nil), ("\".5\"", nil),
      ("\"1.\"", nil), ("\"1,5\"", nil), ("\"0x10\"", nil), ("\"١\"", nil), ("null", nil),
      ("true", nil), ("[1]", nil),
    ] as [(String, String?)])
  func anAmountIsExact(written: String, stored: String?) throws {
    try withCheckout { shop in
      let answer = shop.site.initiate(
        #"{"cardId":"\#(shop.card)","amount":\#(written)}"#, key: shop.key,
        token: shop.ann.accessToken)
      #expect(answer.status == (stored == nil ? 400 : 200), "\(answer.text)")
      if stored == nil { #expect(answer.complaint?.hasPrefix("amount: ") == true) }
      #expect(shop.site.sql("SELECT ROUND(amount, 2) FROM payments") == stored ?? "")
    }
  }

  @Test(
    arguments: [
      (#"{"amount":1}"#, "cardId: missing"), (#"{"cardId":"C"}"#, "amount: missing"),
      (#"{"cardId":7,"amount":1}"#, "cardId: wrong_type"),
      (#"{"cardId":"","amount":1}"#, "cardId: empty"),
      (#"{"cardId":"C","amount":1,"currency":"cad"}"#, "currency: not_a_currency_code"),
      (#"{"cardId":"C","amount":1,"currency":"DOLLAR"}"#, "currency: not_a_currency_code"),
      (#"{"cardId":"C","amount":1,"currency":1}"#, "currency: wrong_type"),
      (#"{"cardId":"C","amount":1,"\u0061mount":5}"#, "amount: twice"),
      (#"{"cardId":"C","amount":1,"orderId":1}"#, "orderId: wrong_type"),
      (#"{"cardId":"C","amount":1,"orderId":""}"#, "orderId: empty"),
      (#"[]"#, ": wrong_type"), (#"{"#, nil),
    ] as [(String, String?)])
  func aBadMemberIsNamed(body: String, complaint: String?) throws {
    try withCheckout { shop in
      let answer = shop.site.initiate(
        body.replacingOccurrences(of: #""C""#, with: #""\#(shop.card)""#), key: shop.key,
        token: shop.ann.accessToken)
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint == complaint, "\(answer.text)")
      #expect(shop.site.count("payments") == 0)
    }
  }

  @Test func theCurrencyIsStored() throws {
    try withCheckout { shop in
      _ = try shop.begin(
        #"{"cardId":"\#(shop.card)","amount":5,"currency":"USD","orderId":null,"more":{}}"#)
      #expect(shop.site.sql("SELECT currency, order_id FROM payments") == "USD\tNULL")
    }
  }

  enum OtherCard: CaseIterable { case unknown, notAnID, anothers, removed }

  @Test(arguments: OtherCard.allCases)
  func onlyAnActiveCardOfTheAccountPays(other: OtherCard) throws {
    try withCheckout { shop in
      let card =
        switch other {
        case .unknown: "01890a5d-ac96-774b-bcce-b302099a8fff"
        case .notAnID: "card-123"
        case .anothers: shop.site.addCard(of: try shop.site.signUp(email: "bob@example.org"))
        case .removed: shop.site.addCard(of: shop.ann, active: false)
        }
      let answer = shop.site.initiate(
        #"{"cardId":"\#(card)","amount":1}"#, key: shop.key, token: shop.ann.accessToken)
      #expect(
        answer.isError(404, "not_found", "This card is no longer there. Reload the list."),
        "\(answer.text)")
      #expect(shop.site.count("payments") == 0)
    }
  }

  @Test func aCardThatIsRemovedMeanwhileDoesNotPay() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      shop.site.sql("UPDATE cards SET active = FALSE")
      #expect(shop.confirm(payment).isNotOpen)
      #expect(shop.site.count("payments WHERE confirmed_at IS NOT NULL") == 0)
    }
  }

  @Test(arguments: ["paymentId", "deviceId", "signature"])
  func missingMembersOfAConfirmationAreNamed(member: String) throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      var body: [String: Any?] = [
        "paymentId": payment.id, "deviceId": "device-1", "signature": PhoneKey.one.sign(payment),
      ]
      body.removeValue(forKey: member)
      let answer = shop.site.confirm(body, key: shop.key, token: shop.ann.accessToken)
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint == "\(member): missing")
      #expect(shop.site.sql("SELECT attempts FROM payments") == "0")
    }
  }
}

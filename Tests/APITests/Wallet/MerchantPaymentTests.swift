import Base
import Foundation
import Store
import Support
import Testing

@testable import API

/// A merchant's server: requests, their state, cancellation, refund, and the statement.
@Suite struct MerchantPaymentTests {
  @Test func aRequestIsAnswered() throws {
    try withCheckout { shop in
      shop.allowReturn(to: "https://shop.example")
      let answer = shop.request(
        #"{"amount":"12.5","currency":"CAD","orderId":"o-1","description":"Two books","#
          + #""returnUrl":"https://shop.example/done?o=1","items":[{"name":"Book","quantity":2,"#
          + #""unitPrice":6.25}]}"#)
      let id = try #require(answer.string("requestId"))
      let now = shop.site.now
      #expect(answer.status == 201)
      #expect(
        answer.text
          == #"{"requestId":"\#(id)","orderId":"o-1","amount":"12.50","currency":"CAD","#
          + #""deepLinkUrl":"mwsim://payment/\#(id)","qrCodeUrl":"https://api.example.org/pay/\#(id)","#
          + #""returnUrl":"https://shop.example/done?o=1","createdAt":"\#(now.rfc3339)","#
          + #""expiresAt":"\#((now + .seconds(900)).rfc3339)","status":"pending"}"#)
      #expect(shop.state(id).string("status") == "pending")
      #expect(shop.state(id).string("description") == "Two books")
    }
  }

  @Test func theWholeWayFromRequestToRefund() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      let approved = shop.approve(id)
      #expect(approved.status == 200, "\(approved.text)")
      #expect(approved.string("message") == "Pay CAD 5.00 to Shop with VISA •••• 4242.")
      #expect(shop.state(id).string("status") == "approved")
      #expect(shop.state(id).string("token") == nil)
      let payment = try shop.begun(approved)
      let confirmed = shop.confirm(payment, isBare: true)
      #expect(confirmed.status == 200, "\(confirmed.text)")
      let state = shop.state(id)
      #expect(state.string("status") == "confirmed")
      #expect(state.string("cardToken") == confirmed.string("cardToken"))
      #expect(state.string("cardLast4") == "4242")
      let refunded = shop.post("\(id)/refund", #"{"reason":"Broken"}"#)
      #expect(refunded.string("status") == "refunded", "\(refunded.text)")
      #expect(refunded.string("refundReason") == "Broken")
      shop.site.advance(by: .seconds(60))
      #expect(
        shop.post("\(id)/refund").string("refundedAt") == refunded.string("refundedAt"))
      #expect(
        shop.site.sql(
          "SELECT event FROM audit_log WHERE event LIKE 'payment%' ORDER BY id"
        ) == "payment_requested\npayment_begun\npayment_confirmed\npayment_refunded")
    }
  }

  @Test(arguments: [
    (#"{"amount":1,"orderId":"o"}"#, "currency: missing"),
    (#"{"amount":1,"currency":"ZZZ","orderId":"o"}"#, "currency: not_a_currency_code"),
    (#"{"amount":1,"currency":"XXX","orderId":"o"}"#, "currency: not_a_currency_code"),
    (
      #"{"amount":"12.34","currency":"JPY","orderId":"o"}"#,
      "amount: not_1_to_9999999999_in_0_decimals"
    ),
    (
      #"{"amount":1.2345,"currency":"KWD","orderId":"o"}"#,
      "amount: not_0.001_to_9999999999_in_3_decimals"
    ),
    (
      #"{"amount":0,"currency":"CAD","orderId":"o"}"#,
      "amount: not_0.01_to_9999999999_in_2_decimals"
    ),
    (#"{"amount":1,"currency":"CAD"}"#, "orderId: missing"),
    (
      // U+212A, a K of another alphabet, which Swift takes for equal.
      #"{"amount":1,"currency":"\u212aRW","orderId":"o"}"#, "currency: not_a_currency_code"
    ),
    (
      #"{"amount":1,"currency":"CAD","orderId":"o","returnUrl":"https://evil.example/"}"#,
      "returnUrl: origin_not_allowed"
    ),
    (
      #"{"amount":1,"currency":"CAD","orderId":"o","returnUrl":"https://shop.example@evil.example/"}"#,
      "returnUrl: not_a_url"
    ),
    (
      #"{"amount":1,"currency":"CAD","orderId":"o","returnUrl":"https://shop.example\\@evil.example/"}"#,
      "returnUrl: not_a_url"
    ),
    (
      #"{"amount":1,"currency":"CAD","orderId":"o","returnUrl":"javascript:alert(1)"}"#,
      "returnUrl: not_a_url"
    ),
    (
      #"{"amount":1,"currency":"CAD","orderId":"o","items":[{"name":"x","quantity":0}]}"#,
      "items.0.quantity: not_1_to_999999"
    ),
    (
      #"{"amount":1,"currency":"CAD","orderId":"o","items":[{"quantity":1}]}"#,
      "items.0.name: missing"
    ),
  ])
  func aBadMemberIsNamed(body: String, complaint: String) throws {
    try withCheckout { shop in
      shop.allowReturn(to: "https://shop.example")
      let answer = shop.request(body)
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint == complaint)
      #expect(shop.site.count("payments") == 0)
    }
  }

  @Test(arguments: [("1200", "JPY", "1200"), ("1.234", "KWD", "1.234"), ("5", "KWD", "5.000")])
  func aCurrencyHasItsOwnDecimals(written: String, currency: String, shown: String) throws {
    try withCheckout { shop in
      let answer = shop.request(
        #"{"amount":\#(written),"currency":"\#(currency)","orderId":"o"}"#)
      #expect(answer.string("amount") == shown, "\(answer.text)")
    }
  }

  @Test func anOrderCanBeRequestedAgainWhenItsRequestIsOver() throws {
    try withCheckout { shop in
      let first = try shop.requested()
      #expect(shop.post("\(first)/cancel").string("status") == "cancelled")
      let second = try shop.requested()
      #expect(shop.request(shop.book).status == 409)
      shop.site.advance(by: .seconds(900))
      let third = try shop.requested()
      #expect(Set([first, second, third]).count == 3)
      #expect(shop.state(second).string("status") == "expired")
      let payment = try shop.begun(shop.approve(third))
      #expect(shop.confirm(payment, isBare: true).status == 200)
      #expect(shop.request(shop.book).status == 201)
    }
  }

  @Test func anotherMerchantSeesNothing() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      let rival = try shop.site.merchants.add("Rival").key
      for (method, path) in [("GET", id), ("POST", "\(id)/cancel"), ("POST", "\(id)/refund")] {
        let answer = shop.send(method, path, nil, key: rival)
        #expect(answer.isError(404, "not_found"), "\(path)")
      }
      #expect(shop.list(key: rival).text == #"{"payments":[],"next":null}"#)
      #expect(shop.list(key: rival, after: id).status == 404)
      #expect(shop.state(id).string("status") == "pending")
    }
  }

  @Test func theListHasPages() throws {
    try withCheckout { shop in
      var ids: [String] = []
      for number in 1...60 {
        ids.append(
          try #require(
            shop.request(#"{"amount":1,"currency":"CAD","orderId":"o\#(number)"}"#)
              .string("requestId")))
      }
      func page(after: String?) throws -> (ids: [String], next: String?) {
        let answer = shop.list(after: after)
        let object = try #require(
          try JSONSerialization.jsonObject(with: Data(answer.response.body)) as? [String: Any])
        let payments = try #require(object["payments"] as? [[String: Any]])
        return (payments.compactMap { $0["requestId"] as? String }, object["next"] as? String)
      }
      let first = try page(after: nil)
      let second = try page(after: first.next)
      #expect(first.ids.count == 50)
      #expect(second.next == nil)
      #expect(Set(first.ids + second.ids) == Set(ids))
      #expect((first.ids + second.ids).count == 60)
    }
  }

  @Test func onlyAConfirmedPaymentIsRefundedAndOnlyAnOpenOneCancelled() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      #expect(shop.post("\(id)/refund").isError(409, "not_confirmed"))
      let payment = try shop.begun(shop.approve(id))
      #expect(shop.confirm(payment, isBare: true).status == 200)
      #expect(shop.post("\(id)/cancel").isError(409, "conflict"))
      let other = try shop.requested()
      shop.site.advance(by: .seconds(900))
      #expect(shop.post("\(other)/cancel").isError(410, "payment_closed"))
      #expect(shop.post("\(other)/refund").isError(409, "not_confirmed"))
    }
  }

  @Test func aStatementIsWorthSomethingOnce() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      let token = try #require(
        shop.confirm(try shop.begun(shop.approve(id)), isBare: true).string("token"))
      let first = shop.verify(token)
      #expect(
        first.text.hasPrefix(
          #"{"valid":true,"alreadyReceived":false,"payment":{"requestId":"\#(id)""#),
        "\(first.text)")
      let again = try #require(shop.state(id).string("token"))
      #expect(shop.verify(again).text.hasPrefix(#"{"valid":true,"alreadyReceived":true,"#))
      #expect(
        shop.verify(shop.ann.accessToken).text == #"{"valid":false,"reason":"not_a_statement"}"#)
      let rival = try shop.site.merchants.add("Rival").key
      #expect(
        shop.verify(token, key: rival).text == #"{"valid":false,"reason":"other_merchant"}"#)
      shop.site.advance(by: .seconds(3600))
      #expect(shop.verify(token).text == #"{"valid":false,"reason":"expired"}"#)
    }
  }

  @Test func ofManyVerificationsOneIsTheFirst() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      let token = try #require(
        shop.confirm(try shop.begun(shop.approve(id)), isBare: true).string("token"))
      let answers = inParallel(32) { _ in shop.verify(token).text }
      #expect(answers.filter { $0.contains(#""alreadyReceived":false"#) }.count == 1)
      #expect(answers.allSatisfy { $0.hasPrefix(#"{"valid":true"#) })
    }
  }

  @Test func aMerchantHasLimits() throws {
    try withCheckout { shop in
      shop.site.sql("UPDATE merchants SET largest_amount = 4.99, hourly_requests = 2")
      #expect(shop.request(shop.book).isError(403, "amount_over_limit"))
      #expect(shop.request(#"{"amount":4.99,"currency":"CAD","orderId":"o"}"#).status == 201)
      #expect(
        shop.request(#"{"amount":1,"currency":"CAD","orderId":"p"}"#)
          .isError(429, "too_many_requests"))
      #expect(
        shop.site.initiate(shop.order, key: shop.key, token: shop.ann.accessToken)
          .isError(403, "amount_over_limit"))
    }
  }

  @Test func afterTheAccountsDeletionAPaymentStaysAndCanBeRefunded() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      #expect(shop.confirm(try shop.begun(shop.approve(id)), isBare: true).status == 200)
      shop.site.sql("DELETE FROM accounts")
      let state = shop.state(id)
      #expect(state.string("status") == "confirmed")
      #expect(state.string("token") != nil)
      // A signed token may contain the digits alone.
      #expect(!state.text.contains(/[" ]4242/))
      #expect(shop.post("\(id)/refund").string("status") == "refunded")
    }
  }
}

extension Checkout {
  var book: String { #"{"amount":5,"currency":"CAD","orderId":"book"}"# }

  func allowReturn(to origins: String) {
    site.sql("UPDATE merchants SET return_origins = '\(origins)'")
  }

  func send(
    _ method: String, _ path: String, _ json: String?, key other: String? = nil,
    idempotencyKey: String? = nil
  ) -> Answer {
    var fields = [(name: "x-api-key", value: other ?? key)]
    if let idempotencyKey { fields.append((name: "Idempotency-Key", value: idempotencyKey)) }
    return site.send(method, "/api/merchant/payment/\(path)", json ?? "", fields: fields)
  }

  func request(_ json: String, idempotencyKey: String? = nil, key: String? = nil) -> Answer {
    send("POST", "request", json, key: key, idempotencyKey: idempotencyKey)
  }

  /// Requests five dollars for a book.
  func requested() throws -> String {
    let answer = request(book)
    try #require(answer.status == 201, "\(answer.text)")
    return try #require(answer.string("requestId"))
  }

  func post(_ path: String, _ json: String? = nil) -> Answer { send("POST", path, json) }

  func state(_ id: String) -> Answer { send("GET", id, nil) }

  func list(key other: String? = nil, after: String? = nil) -> Answer {
    site.send(
      "GET", "/api/merchant/payments", query: after.map { "after=\($0)" } ?? "",
      fields: [(name: "x-api-key", value: other ?? key)])
  }

  func verify(_ token: String, key: String? = nil) -> Answer {
    send("POST", "verify", #"{"token":"\#(token)"}"#, key: key)
  }

  /// The app approves a request.
  func approve(_ id: String, card: String? = nil, by person: SignedIn? = nil) -> Answer {
    let choice = card.map { #","cardId":"\#($0)""# } ?? ""
    return site.send(
      "POST", "/api/merchant/payment/initiate", #"{"requestId":"\#(id)"\#(choice)}"#,
      token: (person ?? ann).accessToken)
  }

  func begun(_ answer: Answer) throws -> BegunPayment {
    BegunPayment(
      id: try #require(answer.string("paymentId"), "\(answer.text)"),
      challenge: try #require(answer.string("challenge")))
  }
}

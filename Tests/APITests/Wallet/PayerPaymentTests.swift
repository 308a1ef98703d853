import Base
import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// The payer's app: with the bearer alone, by the contract's routes and by those that the app calls.
@Suite struct PayerPaymentTests {
  @Test func theAppsOwnRoutesWorkTheSameWay() throws {
    try withCheckout { shop in
      shop.allowReturn(to: "https://shop.example")
      let id = try #require(
        shop.request(
          #"{"amount":12.5,"currency":"CAD","orderId":"o-1","description":"Two books","#
            + #""returnUrl":"https://shop.example/done","items":[{"name":"Book","quantity":2,"unitPrice":6.25}]}"#
        ).string("requestId"))
      let shown = shop.app("GET", id)
      #expect(
        shown.text
          == #"{"requestId":"\#(id)","status":"pending","merchantName":"Shop","amount":12.50,"#
          + #""currency":"CAD","orderId":"o-1","orderDescription":"Two books","orderDetails":{"items":"#
          + #"[{"name":"Book","quantity":2,"unitPrice":6.25}]},"returnUrl":"https://shop.example/done","#
          + #""createdAt":"\#(shop.site.now.rfc3339)","expiresAt":"\#((shop.site.now + .seconds(900)).rfc3339)","#
          + #""cards":[{"id":"\#(shop.card)","lastFour":"4242","cardType":"VISA","bankName":"Bank","#
          + #""isDefault":false,"addedAt":"2024-01-15T00:00:00Z"}]}"#, "\(shown.text)")
      #expect(shop.app("GET", "pending").text == #"{"requests":[]}"#)
      let approved = shop.app("POST", "\(id)/approve", #"{"cardId":"\#(shop.card)"}"#)
      #expect(approved.string("status") == "approved", "\(approved.text)")
      #expect(approved.string("returnUrl") == "https://shop.example/done")
      #expect(approved.text.hasPrefix(#"{"success":true,"#))
      #expect(shop.app("GET", "pending").text.contains(id))
      #expect(shop.confirm(try shop.begun(approved), isBare: true).status == 200)
      #expect(shop.app("GET", "pending").text == #"{"requests":[]}"#)
      let all = shop.site.send("GET", "/api/mobile/payments", token: shop.ann.accessToken)
      #expect(all.text.contains(#""status":"confirmed""#), "\(all.text)")
    }
  }

  @Test func withoutACardTheDefaultOnePays() throws {
    try withCheckout { shop in
      let second = shop.site.addCard(of: shop.ann)
      shop.site.sql("UPDATE cards SET last_four = '1111', is_default = TRUE WHERE id = '\(second)'")
      let answer = shop.approve(try shop.requested())
      #expect(answer.string("message")?.hasSuffix("VISA •••• 1111.") == true, "\(answer.text)")
    }
  }

  @Test func anotherCardVoidsTheFirstChallenge() throws {
    try withCheckout { shop in
      let second = shop.site.addCard(of: shop.ann)
      let id = try shop.requested()
      let first = try shop.begun(shop.approve(id, card: shop.card))
      let again = try shop.begun(shop.approve(id, card: shop.card))
      #expect(first.challenge == again.challenge)
      let other = try shop.begun(shop.approve(id, card: second))
      #expect(other.challenge != first.challenge)
      #expect(shop.confirm(first, isBare: true).status == 403)
      #expect(shop.confirm(other, isBare: true).status == 200)
    }
  }

  /// A changed amount, merchant or card in the database makes the signature of the payer worthless.
  @Test(arguments: [
    "amount = 500", "currency = 'USD'",
    "merchant_id = (SELECT id FROM merchants WHERE name = 'Rival')",
  ])
  func theChallengeIsBoundToTheTerms(change: String) throws {
    try withCheckout { shop in
      _ = try shop.site.merchants.add("Rival")
      let payment = try shop.begun(shop.approve(try shop.requested()))
      shop.site.sql("UPDATE payments SET \(change)")
      #expect(shop.confirm(payment, isBare: true).isNotOpen)
    }
  }

  @Test func theSameProofGetsTheSameOutcomeAgain() throws {
    try withCheckout { shop in
      let payment = try shop.begun(shop.approve(try shop.requested()))
      let body: [String: Any?] = [
        "requestId": payment.id, "deviceId": shop.ann.deviceID,
        "signature": PhoneKey.one.sign(payment),
      ]
      let first = shop.site.confirm(body, key: nil, token: shop.ann.accessToken)
      #expect(first.status == 200, "\(first.text)")
      shop.site.advance(by: .seconds(1000))
      let again = shop.site.confirm(body, key: nil, token: shop.ann.accessToken)
      #expect(again.status == 200, "\(again.text)")
      #expect(again.string("cardToken") == first.string("cardToken"))
      #expect(shop.confirm(payment, isBare: true).isError(409, "conflict"))
      #expect(shop.site.count("audit_log WHERE event = 'payment_confirmed'") == 1)
    }
  }

  @Test func anotherPersonCannotTakeAnApprovedPayment() throws {
    try withCheckout { shop in
      let bob = try shop.site.signUp(email: "bob@example.org", device: "device-2")
      _ = shop.site.addCard(of: bob)
      let id = try shop.requested()
      _ = shop.approve(id)
      #expect(shop.approve(id, by: bob).isError(409, "payment_taken"))
      #expect(shop.app("GET", id, by: bob).isError(409, "payment_taken"))
      #expect(shop.app("POST", "\(id)/cancel", by: bob).isError(409, "payment_taken"))
      #expect(
        !shop.site.send("GET", "/api/mobile/payments", token: bob.accessToken).text.contains(id))
      #expect(shop.app("POST", "\(id)/cancel").string("status") == "cancelled")
    }
  }

  @Test func aClosedRequestIsGone() throws {
    try withCheckout { shop in
      let cancelled = try shop.requested()
      let payment = try shop.begun(shop.approve(cancelled))
      #expect(shop.app("POST", "\(cancelled)/cancel").status == 200)
      let expired = try shop.requested()
      shop.site.advance(by: .seconds(900))
      for id in [cancelled, expired] {
        #expect(shop.app("GET", id).isError(410, "payment_closed"))
        #expect(shop.approve(id).isError(410, "payment_closed"))
        #expect(shop.app("POST", "\(id)/approve").isError(410, "payment_closed"))
      }
      #expect(shop.confirm(payment, isBare: true).isError(410, "payment_closed"))
      #expect(shop.app("GET", "pay_nothing").isError(404, "not_found"))
    }
  }

  @Test func anAddressThatIsNotProvenCannotPay() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      shop.site.sql("UPDATE accounts SET email_verified_at = NULL")
      for answer in [
        shop.approve(id), shop.app("POST", "\(id)/approve"), shop.app("POST", "\(id)/cancel"),
        shop.site.initiate(shop.order, key: shop.key, token: shop.ann.accessToken),
      ] {
        #expect(
          answer.isError(403, "address_not_proven", Messages.english.addressNotProven),
          "\(answer.text)")
      }
      #expect(shop.state(id).string("status") == "pending")
    }
  }

  /// A card is valid to the end of its month, in UTC.
  @Test func anExpiredCardIsRefusedAndShowsItsExpiry() throws {
    try withCheckout { shop in
      let month = shop.site.now.rfc3339.prefix(7).split(separator: "-")
      shop.site.sql("UPDATE cards SET expiry_year = \(month[0]), expiry_month = \(Int(month[1])!)")
      let id = try shop.requested()
      #expect(shop.approve(id).status == 200)
      let list = shop.site.send("GET", "/api/wallet/cards", token: shop.ann.accessToken)
      #expect(
        list.text.contains(#""expiryMonth":\#(Int(month[1])!),"expiryYear":\#(month[0])"#),
        "\(list.text)")
      shop.site.sql("UPDATE cards SET expiry_year = expiry_year - 1")
      #expect(
        shop.approve(id, card: shop.card).isError(403, "card_expired", Messages.english.cardExpired)
      )
      #expect(shop.app("GET", id).text.hasSuffix(#""cards":[]}"#))
      #expect(
        shop.site.initiate(shop.order, key: shop.key, token: shop.ann.accessToken)
          .isError(403, "card_expired"))
    }
  }

  @Test func withAValidBearerNothingIs401() throws {
    try withCheckout { shop in
      for body in ["{}", #"{"requestId":"pay_x"}"#, shop.order, "[]", "{"] {
        for key in [nil, "wrong"] {
          let begun = shop.site.initiate(body, key: key, token: shop.ann.accessToken)
          let confirmed = shop.site.send(
            "POST", "/api/merchant/payment/confirm", body, token: shop.ann.accessToken,
            fields: key.map { [(name: "x-api-key", value: $0)] } ?? [])
          #expect([400, 403, 404].contains(begun.status), "\(begun.status) \(body)")
          #expect([400, 403, 404].contains(confirmed.status), "\(confirmed.status) \(body)")
        }
      }
    }
  }

  @Test func onePersonHasALimit() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      for _ in 1...120 { #expect(shop.approve(id).status == 200) }
      #expect(shop.approve(id).isError(429, "too_many_requests"))
    }
  }

  @Test func aRefusedApprovalCountsToo() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      for _ in 1...120 { #expect(shop.approve(id, card: "none").status == 404) }
      #expect(shop.approve(id, card: "none").isError(429, "too_many_requests"))
    }
  }

  /// The companion's clock may be ahead of the responder's.
  @Test func aRecordedExpiryCountsWhateverTheClockSays() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      shop.site.sql("UPDATE payments SET expired_at = NOW(3)")
      #expect(shop.state(id).string("status") == "expired")
      #expect(shop.approve(id).isError(410, "payment_closed"))
      #expect(shop.site.count("audit_log WHERE event = 'payment_begun'") == 0)
    }
  }

  /// Version 1 took two decimals in each currency.
  @Test func anOldPaymentWithOtherDecimalsIsShown() throws {
    try withCheckout { shop in
      let id = try shop.begun(shop.approve(try shop.requested())).id
      for (currency, amount) in [("JPY", "12.50"), ("KWD", "1.500"), ("ZZZ", "7.00")] {
        shop.site.sql("UPDATE payments SET currency = '\(currency)', amount = \(amount)")
        #expect(shop.state(id).string("amount") == (currency == "JPY" ? "12.5" : amount))
        let list = shop.site.send("GET", "/api/mobile/payments", token: shop.ann.accessToken)
        #expect(list.status == 200 && list.text.contains(#""currency":"\#(currency)""#))
      }
    }
  }

  enum Move: CaseIterable { case confirm, approve, payerCancels, merchantCancels, refund }

  /// Of all moves of one payment at once, one outcome stays, and everything that tells of it agrees.
  @Test func ofManyMovesAtOnceOneOutcomeStays() throws {
    try withCheckout { shop in
      shop.site.sql(
        "UPDATE merchants SET webhook_url = 'https://shop.example/hook', webhook_secret = 'x'")
      for round in 1...12 {
        let id = try shop.requested()
        let payment = try shop.begun(shop.approve(id))
        let signature = PhoneKey.one.sign(payment)
        let answers = inParallel(64) { number in
          switch Move.allCases[(number + round) % Move.allCases.count] {
          case .confirm:
            shop.site.confirm(
              ["requestId": id, "deviceId": shop.ann.deviceID, "signature": signature], key: nil,
              token: shop.ann.accessToken)
          case .approve: shop.approve(id)
          case .payerCancels: shop.app("POST", "\(id)/cancel")
          case .merchantCancels: shop.post("\(id)/cancel")
          case .refund: shop.post("\(id)/refund")
          }
        }
        #expect(
          answers.allSatisfy { $0.status < 500 },
          "\(Set(answers.filter { $0.status >= 500 }.map(\.text)))")
        let row = shop.site.sql(
          """
          SELECT IF(confirmed_at IS NOT NULL, 'confirmed', '-'), IF(cancelled_at IS NOT NULL, 'cancelled', '-'),
            IF(refunded_at IS NOT NULL, 'refunded', '-') FROM payments WHERE id = '\(id)'
          """
        ).split(separator: "\t").filter { $0 != "-" }.map(String.init)
        #expect([["confirmed"], ["cancelled"], ["confirmed", "refunded"]].contains(row), "\(row)")
        let told = shop.site.sql(
          "SELECT SUBSTRING(event, 9) FROM webhooks WHERE payment_id = '\(id)' ORDER BY event"
        ).split(separator: "\n").map(String.init)
        #expect(told == row)
        let status = shop.site.sql("SELECT status FROM every_payment WHERE payment_id = '\(id)'")
        #expect(status == row.last)
        #expect(shop.state(id).string("status") == row.last)
        #expect((shop.state(id).string("token") != nil) == (row[0] == "confirmed"))
        shop.site.sql("DELETE FROM rate_limits")
        shop.site.sql(
          "UPDATE payments SET cancelled_at = NOW(3), cancelled_by = 'merchant' WHERE open_until IS NOT NULL"
        )
      }
    }
  }

  @Test func thePageShowsShopAndAmountAndOpensTheApp() throws {
    try withCheckout { shop in
      let id = try #require(
        shop.request(
          #"{"amount":1200,"currency":"JPY","orderId":"o","description":"<b>Tea</b>"}"#
        ).string("requestId"))
      let page = shop.site.send("GET", "/pay/\(id)")
      #expect(page.status == 200)
      for part in [
        "Shop", "JPY 1200", "&lt;b&gt;Tea", #"href="mwsim://payment/\#(id)""#,
        "data:image/png;base64,",
      ] {
        #expect(page.text.contains(part), "\(part)")
      }
      _ = shop.post("\(id)/cancel")
      let closed = shop.site.send("GET", "/pay/\(id)")
      #expect(closed.status == 410)
      #expect(closed.text.contains(Messages.english.paymentClosed))
      #expect(shop.site.send("GET", "/pay/pay_none").status == 404)
    }
  }
}

extension Checkout {
  func app(
    _ method: String, _ path: String, _ json: String = "", by person: SignedIn? = nil
  ) -> Answer {
    site.send(
      method, "/api/mobile/payment/\(path)", json, token: (person ?? ann).accessToken)
  }
}

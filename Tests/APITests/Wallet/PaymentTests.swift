import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// `POST /api/merchant/payment/initiate`, `POST /api/merchant/payment/confirm`
@Suite struct PaymentTests {
  @Test func aPaymentIsBegunAndConfirmed() throws {
    try withCheckout { shop in
      let begun = shop.site.initiate(shop.order, key: shop.key, token: shop.ann.accessToken)
      let id = try #require(begun.string("paymentId"))
      let challenge = try #require(begun.string("challenge"))
      let end = shop.site.now + .seconds(300)
      #expect(
        begun.text
          == #"{"paymentId":"\#(id)","challenge":"\#(challenge)","expiresAt":"\#(end.rfc3339)","#
          + #""card":{"lastFour":"4242","cardType":"VISA"},"orderId":"order-xyz","merchantName":"Shop","#
          + #""amount":"99.99","currency":"CAD","message":"Pay CAD 99.99 to Shop with VISA •••• 4242."}"#
      )
      #expect(base64URLDecoded(challenge)?.count == 32)

      shop.site.advance(by: .milliseconds(299_999))
      let payment = BegunPayment(id: id, challenge: challenge)
      let answer = shop.confirm(payment)
      let token = try #require(answer.string("token"), "\(answer.text)")
      let cardToken = try #require(answer.string("cardToken"))
      let expiresAt = shop.site.now + .seconds(3600)
      #expect(
        answer.text
          == #"{"success":true,"token":"\#(token)","cardToken":"\#(cardToken)","cardLast4":"4242","#
          + #""cardBrand":"visa","expiresAt":"\#(expiresAt.rfc3339)"}"#)
      let merchant = shop.site.sql("SELECT id FROM merchants")
      let claims = try shop.site.application.settings.paymentKeys.verify(token)
      #expect(
        String(decoding: claims, as: UTF8.self)
          == #"{"iss":"\#(TestApplication.publicURL)","aud":"\#(merchant)","jti":"\#(id)","#
          + #""iat":\#(shop.site.now.seconds),"exp":\#(expiresAt.seconds),"type":"payment","#
          + #""card":"\#(cardToken)","amount":"99.99","currency":"CAD","orderId":"order-xyz"}"#)
      #expect(
        shop.site.sql("SELECT amount, currency, attempts, confirmed_by FROM payments")
          == "99.9900\tCAD\t1\tbiometric")
    }
  }

  @Test func aPaymentSucceedsOnce() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      #expect(shop.confirm(payment).status == 200)
      #expect(
        shop.confirm(payment).isError(
          409, "conflict", "This payment is confirmed already. You need not do anything."))
      let rows = shop.site.rows("payments")
      #expect(shop.confirm(payment, with: .two).status == 409)
      #expect(shop.site.rows("payments") == rows)
    }
  }

  @Test func oneOfManyConfirmationsAtOnceSucceeds() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      let answers = inParallel(64) { _ in shop.confirm(payment).status }
      #expect(answers.filter { $0 == 200 }.count == 1)
      // Calls over an attempt limit are refused for that reason.
      #expect(Set(answers).isSubset(of: [200, 400, 409, 429]), "\(Set(answers))")
      #expect(shop.site.count("audit_log WHERE event = 'payment_confirmed'") == 1)
    }
  }

  /// Four calls are fewer than the five attempts of a payment.
  @Test func onlyTheFirstOfFourConfirmsAndTheOthersGet409() throws {
    try withCheckout { shop in
      for _ in 1...20 {
        let payment = try shop.begin()
        let answers = inParallel(4) { _ in shop.confirm(payment).status }
        #expect(answers.sorted() == [200, 409, 409, 409])
      }
    }
  }

  @Test func theChallengeMayBeSignedAsBytesOrAsText() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      let answer = shop.site.confirm(
        [
          "paymentId": payment.id, "deviceId": "device-1",
          "signature": PhoneKey.one.sign(payment.challenge, as: .text),
        ], key: shop.key, token: shop.ann.accessToken)
      #expect(answer.status == 200, "\(answer.text)")
    }
  }

  @Test func aWrongSignatureSpendsOnlyATry() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      let other = try shop.begin()
      for _ in 1...2 { #expect(shop.confirm(payment, with: .two).isUnproven) }
      #expect(shop.confirm(payment, signing: other).isUnproven)
      #expect(shop.confirm(payment).status == 200)
      #expect(
        shop.site.sql("SELECT attempts FROM payments WHERE id = '\(payment.id)'") == "4")
      #expect(
        shop.site.sql("SELECT detail FROM audit_log WHERE event = 'payment_refused'")
          == Array(repeating: "\(payment.id) biometric", count: 3).joined(separator: "\n"))
    }
  }

  @Test func fiveWrongSignaturesLockTheDeviceForSignInToo() throws {
    try withCheckout { shop in
      for number in 1...5 {
        #expect(shop.confirm(try shop.begin(), with: .two).isUnproven, "\(number)")
      }
      let payment = try shop.begin()
      #expect(shop.confirm(payment).isLocked(for: 900))
      #expect(try shop.site.signIn(with: .one).isLocked(for: 900))
      #expect(shop.site.sql("SELECT attempts FROM payments WHERE id = '\(payment.id)'") == "0")
      shop.site.advance(by: .seconds(900))
      #expect(shop.confirm(try shop.begin()).status == 200)
    }
  }

  @Test func wrongSignaturesOfASignInLockPaymentsToo() throws {
    try withCheckout { shop in
      for _ in 1...5 { _ = try shop.site.signIn(with: .two) }
      #expect(shop.confirm(try shop.begin()).isLocked(for: 900))
    }
  }

  @Test func fiveTriesOnAnyDevicesCloseAPayment() throws {
    try withCheckout { shop in
      let tablet = try shop.site.signIn(device: "device-2")
      _ = try shop.site.setUp(.two, of: tablet)
      let payment = try shop.begin()
      for _ in 1...4 { #expect(shop.confirm(payment, with: .two).isUnproven) }
      #expect(shop.confirm(payment, with: .one, by: tablet).isUnproven)
      #expect(shop.confirm(payment, with: .two, by: tablet).isNotOpen)
      #expect(shop.confirm(payment).isNotOpen)
      #expect(shop.confirm(try shop.begin()).status == 200)
    }
  }

  @Test func atMostFiveGuessesAreCompared() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      let answers = inParallel(100) { _ in shop.confirm(payment, with: .two) }
      #expect(answers.allSatisfy { $0.isUnproven || $0.status == 429 || $0.isNotOpen })
      #expect(answers.filter(\.isUnproven).count == 5)
      #expect(shop.site.count("audit_log WHERE event = 'payment_refused'") == 5)
      #expect(shop.site.sql("SELECT attempts FROM payments") == "5")
    }
  }

  @Test func aPaymentIsOpenForFiveMinutes() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      shop.site.advance(by: .seconds(300))
      #expect(shop.confirm(payment).isNotOpen)
      #expect(shop.site.sql("SELECT attempts FROM payments") == "0")
    }
  }

  @Test func aPaymentBelongsToItsAccountAndMerchant() throws {
    try withCheckout { shop in
      let bob = try shop.site.signUp(email: "bob@example.org", device: "device-2")
      _ = try shop.site.setUp(.two, of: bob)
      let rival = try shop.site.merchants.add("Rival").key
      let payment = try shop.begin()
      #expect(shop.confirm(payment, with: .two, by: bob).isNotOpen)
      #expect(shop.confirm(payment, key: rival).isNotOpen)
      #expect(shop.confirm(BegunPayment(id: "pay_x", challenge: payment.challenge)).isNotOpen)
      #expect(shop.site.sql("SELECT attempts FROM payments") == "0")
      #expect(shop.confirm(payment).status == 200)
    }
  }

  @Test func onlyTheCallersDeviceWithItsOwnKeyConfirms() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      let unknown = { (answer: Answer) in
        answer.isError(404, "not_found", Messages.english.noPaymentKey)
      }
      #expect(unknown(shop.confirm(payment, device: "device-2")))
      let tablet = try shop.site.signIn(device: "device-2")
      #expect(unknown(shop.confirm(payment, by: tablet)))
      // Bob's key on the same phone does not confirm Ann's payment.
      let bob = try shop.site.signUp(email: "bob@example.org")
      _ = try shop.site.setUp(.two, of: bob)
      #expect(shop.confirm(payment, with: .two).isUnproven)
    }
  }

  @Test func aSignatureIsValidForOnePurposeOnly() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      let challenge = try shop.site.challenge()
      let signature = PhoneKey.one.sign(payment)
      #expect(shop.site.verify(challenge, signature: signature).isWrongSignature)
      #expect(
        shop.confirm(
          payment,
          signing: BegunPayment(
            id: "", challenge: base64URLEncoded(base64Decoded(challenge) ?? []))
        ).isUnproven)
    }
  }

  @Test func theStatementForTheMerchantIsNoAccessToken() throws {
    try withCheckout { shop in
      let statement = try #require(shop.confirm(try shop.begin()).string("token"))
      #expect(shop.site.summary(statement).status == 401)
      #expect(shop.site.refresh(statement).status == 401)
    }
  }

  /// The customer shows the shop a statement of a payment that the shop has paid back.
  @Test func aRefundedPaymentHasNoStatement() throws {
    try withCheckout { shop in
      let id = try shop.requested()
      let payment = try shop.begun(shop.approve(id))
      let body: [String: Any?] = [
        "requestId": id, "deviceId": shop.ann.deviceID, "signature": PhoneKey.one.sign(payment),
      ]
      let token = try #require(
        shop.site.confirm(body, key: nil, token: shop.ann.accessToken).string("token"))
      #expect(shop.post("\(id)/refund").string("status") == "refunded")
      #expect(shop.verify(token).text == #"{"valid":false,"reason":"refunded"}"#)
      #expect(shop.state(id).string("token") == nil)
      #expect(shop.site.count("payments WHERE received_at IS NOT NULL") == 0)
      let again = shop.site.confirm(body, key: nil, token: shop.ann.accessToken)
      #expect(again.isError(409, "conflict"), "\(again.text)")
    }
  }

  @Test func aCardTokenIsTheSameForOneMerchantOnly() throws {
    try withCheckout { shop in
      let rival = try shop.site.merchants.add("Rival").key
      let first = try #require(shop.confirm(try shop.begin()).string("cardToken"))
      #expect(first.wholeMatch(of: /card_[\w-]{32}/) != nil)
      #expect(shop.confirm(try shop.begin()).string("cardToken") == first)
      let answer = shop.site.initiate(shop.order, key: rival, token: shop.ann.accessToken)
      let payment = BegunPayment(
        id: try #require(answer.string("paymentId")),
        challenge: try #require(answer.string("challenge")))
      let other = shop.confirm(payment, key: rival).string("cardToken")
      #expect(other != nil && other != first)
    }
  }

  @Test func aPaymentSurvivesAKeyRotation() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      let newer = try Keyring(
        parsing: "k2:\(base64URLEncoded([UInt8](repeating: 8, count: 32))),k1:"
          + base64URLEncoded([UInt8](repeating: 7, count: 32)))
      let sibling = shop.site.sibling(settings: .ofTests(jwtKeys: newer, hmacKeys: newer))
      let body = jsonText([
        "paymentId": payment.id, "deviceId": "device-1", "signature": PhoneKey.one.sign(payment),
      ])
      let answer = sibling.send(
        "POST", "/api/merchant/payment/confirm", body, token: shop.ann.accessToken,
        fields: [(name: "x-api-key", value: shop.key)])
      #expect(answer.status == 200, "\(answer.text)")
    }
  }

  @Test func anEndedSessionCannotPay() throws {
    try withCheckout { shop in
      let payment = try shop.begin()
      #expect(
        shop.site.send("POST", "/api/mobile/auth/logout", token: shop.ann.accessToken).status
          == 200)
      #expect(shop.confirm(payment).isError(401, "unauthorized"))
      #expect(
        shop.site.initiate(shop.order, key: shop.key, token: shop.ann.accessToken).status == 401)
      #expect(shop.site.count("payments WHERE attempts > 0 OR confirmed_at IS NOT NULL") == 0)
    }
  }
}

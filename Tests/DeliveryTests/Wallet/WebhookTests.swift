import Base
import Cryptography
import Foundation
import Logging
import Store
import Support
import Testing

@testable import Delivery

/// Merchants are told the outcomes of payments.
@Suite(.serialized) struct WebhookTests {
  /// A merchant that is told at a URL.
  private struct Merchant {
    let id: String
    let secret: String
  }

  private func addMerchant(
    _ delivery: TestDelivery, at url: String, _ name: String = "Shop"
  ) throws -> Merchant {
    let id = try delivery.addMerchant(name)
    let secret = "whsec_" + base64Encoded(randomBytes(32))
    Evidence.keep(secret: secret)
    var settings = MerchantSettings()
    settings.webhook = .set(url: url, sealedSecret: sealed(secret, of: id))
    try #require(try delivery.records().merchants.set(settings, of: id) == true)
    return Merchant(id: id, secret: secret)
  }

  private func sealed(_ secret: String, of id: String) -> String {
    TestDelivery.keys.seal(
      Array(secret.utf8), authenticating: SealedWebhookSecrets.sealingContext(of: id))
  }

  private func withShop(
    _ answers: String..., body: (TestDelivery, FakeShop, Merchant) throws -> Void
  ) throws {
    let shop = FakeShop()
    for answer in answers { shop.play(answer) }
    defer { shop.end() }
    try withDelivery { delivery throws in
      try body(delivery, shop, addMerchant(delivery, at: shop.url))
    }
  }

  /// The columns of the only webhook.
  private func row(_ columns: String, _ delivery: TestDelivery) -> String {
    delivery.sql("SELECT CONCAT_WS(' ', \(columns)) FROM webhooks")
  }

  private func makeDue(_ delivery: TestDelivery) {
    delivery.sql("UPDATE webhooks SET due_at = UTC_TIMESTAMP(3)")
  }

  @Test(arguments: WebhookEvent.allCases)
  func anOutcomeIsToldWithASignature(event: WebhookEvent) throws {
    try withShop { delivery, shop, merchant throws in
      let id = delivery.addWebhook(of: merchant.id, event)
      let companion = delivery.companion(mailer: nil)
      try companion.doUrgentWork()
      let message = try #require(shop.received.first)
      #expect(shop.received.count == 1)
      #expect(message.id == id)
      #expect(message.signatures == [message.signature(by: merchant.secret)])
      #expect(message.fields["content-type"] == "application/json")
      let sentAt = try #require(message.fields["webhook-timestamp"].flatMap { Double($0) })
      #expect(abs(sentAt - Date.now.timeIntervalSince1970) < 60)
      #expect(message.json["type"] as? String == event.rawValue)
      let time = /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/
      #expect((message.json["timestamp"] as? String)?.wholeMatch(of: time) != nil)
      var data = try #require(message.json["data"] as? [String: Any])
        .compactMapValues { $0 as? String }
      let payment = delivery.sql("SELECT id FROM payments")
      var expected = [
        "requestId": payment, "orderId": "order-1", "amount": "12.50", "currency": "EUR",
      ]
      let times: [String]
      switch event {
      case .confirmed:
        expected.merge(["status": "confirmed", "cardToken": "card_a"]) { $1 }
        times = ["confirmedAt"]
      case .cancelled:
        expected.merge(["status": "cancelled", "cancelledBy": "payer"]) { $1 }
        times = ["cancelledAt"]
      case .expired:
        expected["status"] = "expired"
        times = ["expiredAt"]
      case .refunded:
        expected.merge(
          ["status": "refunded", "cardToken": "card_a", "refundReason": "Broken"]) { $1 }
        times = ["confirmedAt", "refundedAt"]
      }
      for name in times {
        #expect(data.removeValue(forKey: name)?.wholeMatch(of: time) != nil, "\(name)")
      }
      #expect(data == expected)
      #expect(row("state, attempts, status, reason", delivery) == "delivered 1 204")
      #expect(
        delivery.sql("SELECT received_at IS NOT NULL FROM payments")
          == (event == .confirmed ? "1" : "0"))
      try companion.doUrgentWork()
      #expect(shop.received.count == 1, "once")
    }
  }

  @Test func bothSecretsSignForADayAfterARotation() throws {
    try withShop { delivery, shop, merchant throws in
      let new = "whsec_" + base64Encoded(randomBytes(32))
      Evidence.keep(secret: new)
      #expect(
        try delivery.records().merchants.rotateSecret(
          of: merchant.id, to: sealed(new, of: merchant.id)))
      delivery.addWebhook(of: merchant.id)
      let companion = delivery.companion(mailer: nil)
      try companion.doUrgentWork()
      let both = try #require(shop.received.first)
      #expect(both.signatures == [new, merchant.secret].map { both.signature(by: $0) })
      delivery.sql("UPDATE merchants SET old_webhook_secret_until = UTC_TIMESTAMP(3)")
      delivery.addWebhook(of: merchant.id)
      try companion.doUrgentWork()
      let one = try #require(shop.received.last)
      #expect(one.signatures == [one.signature(by: new)])
    }
  }

  /// The output of the first rotation may be lost: the merchant still has the first secret.
  @Test func theFirstSecretStillSignsAfterASecondRotation() throws {
    try withShop { delivery, shop, merchant throws in
      let secrets = (1...2).map { _ in "whsec_" + base64Encoded(randomBytes(32)) }
      for secret in secrets {
        Evidence.keep(secret: secret)
        #expect(
          try delivery.records().merchants.rotateSecret(
            of: merchant.id, to: sealed(secret, of: merchant.id)))
      }
      delivery.addWebhook(of: merchant.id)
      try delivery.companion(mailer: nil).doUrgentWork()
      let message = try #require(shop.received.first)
      #expect(
        message.signatures == [secrets[1], merchant.secret].map { message.signature(by: $0) })
    }
  }

  @Test func aFailureIsRepeatedWithTheSameIdAndBody() throws {
    try withShop(FakeShop.answer(500, body: "secret words")) { delivery, shop, merchant throws in
      delivery.addWebhook(of: merchant.id)
      let companion = delivery.companion(mailer: nil)
      let began = delivery.sql(databaseClock)
      try companion.doUrgentWork()
      #expect(row("state, attempts, status, reason", delivery) == "open 1 500 it answers 500")
      #expect(
        delivery.sql(isAhead("due_at", in: "webhooks", by: 5...5, since: began)) == "1")
      #expect(delivery.sql("SELECT received_at IS NULL FROM payments") == "1")
      try companion.doUrgentWork()
      #expect(shop.received.count == 1, "not due yet")
      makeDue(delivery)
      try companion.doUrgentWork()
      #expect(row("state, attempts, status, reason", delivery) == "delivered 2 204")
      #expect(Set(shop.received.map(\.id)).count == 1)
      #expect(Set(shop.received.map(\.body)).count == 1)
      #expect(shop.received.count == 2)
    }
  }

  /// The waits grow to hours, and the last one ends when the webhook expires.
  @Test(arguments: [(0, 5), (1, 15), (2, 45), (4, 405), (7, 10_935), (8, 14_400), (40, 14_400)])
  func theWaitGrows(attempts: Int, wait: Int) throws {
    try withDelivery { delivery throws in
      let merchant = try addMerchant(delivery, at: "http://127.0.0.1:9/")
      delivery.addWebhook(of: merchant.id)
      delivery.sql("UPDATE webhooks SET attempts = \(attempts)")
      let began = delivery.sql(databaseClock)
      try delivery.companion(mailer: nil).doUrgentWork()
      #expect(row("state, attempts", delivery) == "open \(attempts + 1)")
      #expect(
        delivery.sql(isAhead("due_at", in: "webhooks", by: wait...wait, since: began)) == "1")
      delivery.sql(
        "UPDATE webhooks SET due_at = UTC_TIMESTAMP(3), expires_at = UTC_TIMESTAMP(3) + INTERVAL 3 SECOND"
      )
      try delivery.companion(mailer: nil).doUrgentWork()
      #expect(delivery.sql("SELECT due_at = expires_at FROM webhooks") == "1")
    }
  }

  @Test(arguments: [
    (FakeShop.answer(410), "dead 1 410 it wants no webhooks"),
    (FakeShop.answer(404), "open 1 404 it answers 404"),
    (
      FakeShop.answer(302, "Location: http://127.0.0.1:9/\r\n"),
      "open 1 302 it redirects, which is not followed"
    ),
    (FakeShop.answer(200, body: String(repeating: "x", count: 1 << 20)), "delivered 1 200"),
  ])
  func anAnswerDecides(answer: String, outcome: String) throws {
    try withShop(answer) { delivery, shop, merchant throws in
      delivery.addWebhook(of: merchant.id)
      try delivery.companion(mailer: nil).doUrgentWork()
      #expect(row("state, attempts, status, reason", delivery) == outcome)
      #expect(shop.received.count == 1)
    }
  }

  @Test(arguments: [
    ("http://127.0.0.1:9/", OutboundRule(), "is private: see SWITCHBOARD_OUTBOUND_ALLOW"),
    ("http://shop.example.com/", TestDelivery.loopback, "not an https address"),
  ])
  func aURLThatMustNotBeReachedIsNot(url: String, rule: OutboundRule, reason: String) throws {
    try withDelivery { delivery throws in
      let merchant = try addMerchant(delivery, at: url)
      delivery.addWebhook(of: merchant.id)
      try delivery.companion(mailer: nil, outbound: rule).doUrgentWork()
      #expect(row("state, attempts, status IS NULL", delivery) == "open 1 1")
      #expect(row("reason", delivery).hasSuffix(reason), "\(row("reason", delivery))")
    }
  }

  @Test func aMerchantThatIsNoLongerToldGetsNothing() throws {
    try withShop { delivery, shop, merchant throws in
      delivery.addWebhook(of: merchant.id)
      var settings = MerchantSettings()
      settings.webhook = .remove
      _ = try delivery.records().merchants.set(settings, of: merchant.id)
      try delivery.companion(mailer: nil).doUrgentWork()
      #expect(row("state, reason", delivery) == "dead the merchant has no URL for webhooks")
      #expect(shop.received.isEmpty)
    }
  }

  @Test func withAnotherKeyItWaits() throws {
    try withShop { delivery, shop, merchant throws in
      delivery.addWebhook(of: merchant.id)
      let other = CompanionKeys(
        try BoxKeys(parsing: "c2:" + base64URLEncoded([UInt8](repeating: 9, count: 32))))
      let companion = delivery.companion(mailer: nil, keys: other)
      try companion.pass()
      #expect(row("state, reason", delivery) == "open no key opens the merchant's secret")
      #expect(
        delivery.sql("SELECT reason FROM problems WHERE name = 'keys'")
          == "The webhook secret of the merchant \(merchant.id) cannot be opened.")
      #expect(shop.received.isEmpty)
    }
  }

  /// Both keys open the secrets; the pass seals them under the newer one.
  @Test func secretsAreSealedUnderTheNewestKey() throws {
    try withShop { delivery, _, merchant throws in
      #expect(
        try delivery.records().merchants.rotateSecret(
          of: merchant.id, to: sealed("whsec_" + base64Encoded(randomBytes(32)), of: merchant.id)))
      let both = CompanionKeys(
        try BoxKeys(
          parsing: ["c2:9", "c1:7"].map { entry in
            let parts = entry.split(separator: ":")
            return "\(parts[0]):"
              + base64URLEncoded([UInt8](repeating: UInt8(parts[1])!, count: 32))
          }.joined(separator: "\n")))
      try delivery.companion(mailer: nil, keys: both).pass()
      #expect(
        delivery.sql(
          "SELECT COUNT(*) FROM merchants WHERE webhook_secret LIKE 'box:c2.%' AND old_webhook_secret LIKE 'box:c2.%'"
        ) == "1")
      let old = delivery.sql("SELECT old_webhook_secret FROM merchants")
      #expect(
        try both.open(old, authenticating: SealedWebhookSecrets.sealingContext(of: merchant.id))
          == Array(merchant.secret.utf8))
    }
  }

  @Test func aMerchantThatNeverAnswersDelaysNoOther() throws {
    try withShop { delivery, silent, merchant throws in
      let other = FakeShop()
      defer { other.end() }
      let prompt = try addMerchant(delivery, at: other.url, "Prompt")
      for _ in 1...20 { delivery.addWebhook(of: merchant.id) }
      delivery.sql("UPDATE webhooks SET due_at = due_at - INTERVAL 1 MINUTE")
      for _ in 1...3 { delivery.addWebhook(of: prompt.id) }
      try silent.gate.hold {
        let work = UrgentWork(of: delivery.companion(mailer: nil))
        work.wake()
        #expect(holds { other.received.count == 3 })
        #expect(silent.gate.isHolding("shop"))
        #expect(silent.received.count <= 2)
        #expect(
          delivery.sql(
            "SELECT COUNT(*) FROM webhooks WHERE merchant_id = '\(merchant.id)' AND status IS NOT NULL"
          )
            == "0")
        silent.gate.open("shop")
        try work.finish()
      }
      #expect(silent.received.count == 20)
      #expect(Set(silent.received.map(\.id)).count == 20)
    }
  }

  @Test func anAnswerIsNotAwaitedForever() throws {
    try withShop { delivery, shop, merchant throws in
      delivery.addWebhook(of: merchant.id)
      try shop.gate.hold {
        let began = ContinuousClock.now
        try delivery.companion(mailer: nil).doUrgentWork()
        #expect(ContinuousClock.now - began >= .seconds(10))
      }
      #expect(
        row("state, attempts, status IS NULL, reason", delivery) == "open 1 1 Timeout was reached")
    }
  }

  @Test func whileAShopIsSilentTheCompanionStops() throws {
    try withShop { delivery, shop, merchant throws in
      delivery.addWebhook(of: merchant.id)
      try shop.gate.hold {
        let companion = try RunningCompanion(
          delivery, "watch", changing: ["SWITCHBOARD_OUTBOUND_ALLOW": "127.0.0.0/8"])
        defer { companion.end() }
        #expect(holds { !shop.received.isEmpty })
        companion.process.terminate()
        #expect(holds(within: .seconds(9)) { !companion.process.isRunning })
        #expect(companion.process.terminationStatus == 0, "\(companion.log)")
        #expect(!companion.log.contains(merchant.secret) && !companion.log.contains("/hook"))
      }
      #expect(
        row("state, attempts, reason", delivery)
          == "open 1 the companion was stopped before the answer")
    }
  }

  @Test func ofManyCompanionsOneTells() throws {
    try withShop { delivery, shop, merchant throws in
      for _ in 1...12 { delivery.addWebhook(of: merchant.id) }
      let companions = (1...2).map { _ in UrgentWork(of: delivery.companion(mailer: nil)) }
      for work in companions { work.wake() }
      for work in companions { try work.finish() }
      #expect(shop.received.count == 12)
      #expect(Set(shop.received.map(\.id)).count == 12)
      #expect(
        delivery.sql("SELECT COUNT(*) FROM webhooks WHERE state = 'delivered' AND attempts = 1")
          == "12")
    }
  }

  @Test func theOutcomeOfALostLeaseIsIgnored() throws {
    try withShop { delivery, _, merchant throws in
      let id = delivery.addWebhook(of: merchant.id)
      let webhooks = delivery.records().webhooks
      #expect(try webhooks.due(limit: 9).map(\.id) == [id])
      #expect(try webhooks.due(besidesThoseOf: [merchant.id], limit: 9).isEmpty)
      let lost = try #require(try webhooks.claim(id, as: newClaimID()))
      #expect(try webhooks.claim(id, as: newClaimID()) == nil, "it is leased")
      makeDue(delivery)
      let held = try #require(try webhooks.claim(id, as: newClaimID()))
      #expect(held.attempts == 2)
      for outcome in [
        WebhookOutcome.delivered(status: 200), .failed(status: nil, reason: "x"),
        .dead(status: 410, reason: "x"),
      ] {
        #expect(try !webhooks.record(outcome, of: lost))
      }
      #expect(row("state, status IS NULL, reason IS NULL", delivery) == "open 1 1")
      #expect(delivery.sql("SELECT received_at IS NULL FROM payments") == "1")
      #expect(try webhooks.record(.delivered(status: 200), of: held))
      #expect(try !webhooks.record(.delivered(status: 200), of: held), "once")
    }
  }

  @Test func anAdministratorSendsItAgain() throws {
    try withShop { delivery, shop, merchant throws in
      let id = delivery.addWebhook(of: merchant.id)
      let companion = delivery.companion(mailer: nil)
      try companion.doUrgentWork()
      let receivedAt = delivery.sql("SELECT received_at FROM payments")
      #expect(try delivery.records().webhooks.resend(id) == .done)
      let old = try #require(try delivery.records().webhooks.claim(id, as: newClaimID()))
      #expect(try delivery.records().webhooks.resend(id) == .done)
      #expect(try !delivery.records().webhooks.record(.dead(status: 410, reason: "x"), of: old))
      try companion.doUrgentWork()
      #expect(shop.received.map(\.id) == [id, id])
      #expect(row("state, attempts, status", delivery) == "delivered 1 204")
      #expect(delivery.sql("SELECT received_at FROM payments") == receivedAt, "the first time")
    }
  }

  @Test func afterThreeDaysItIsGivenUp() throws {
    try withShop { delivery, shop, merchant throws in
      let began = delivery.sql(databaseClock)
      let id = delivery.addWebhook(of: merchant.id)
      #expect(
        delivery.sql(isAhead("expires_at", in: "webhooks", by: 259_200...259_200, since: began))
          == "1")
      delivery.sql("UPDATE webhooks SET expires_at = UTC_TIMESTAMP(3), reason = 'it answers 500'")
      #expect(try delivery.records().webhooks.claim(id, as: newClaimID()) == nil)
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(row("state, reason, finished_at IS NOT NULL", delivery) == "dead it answers 500 1")
      #expect(shop.received.isEmpty)
      #expect(
        delivery.sql("SELECT reason FROM problems WHERE name = 'webhooks'")
          == "Webhooks of the merchant \(merchant.id) were given up after three days.")
      #expect(
        delivery.sql("SELECT outcome, total FROM counters WHERE name = 'webhooks'") == "expired\t1")
    }
  }

  @Test func aLastingFailureIsAProblemUntilItEnds() throws {
    try withShop(FakeShop.answer(503), FakeShop.answer(503)) { delivery, shop, merchant throws in
      delivery.addWebhook(of: merchant.id)
      let companion = delivery.companion(mailer: nil)
      func problem() throws -> String {
        try companion.doUrgentWork()
        try companion.storeProblems()
        return delivery.sql("SELECT reason FROM problems WHERE name = 'webhooks'")
      }
      #expect(try problem() == "")
      delivery.sql("UPDATE webhooks SET due_at = UTC_TIMESTAMP(3), attempts = 5")
      #expect(try problem() == "The merchant Shop is not told of payments: it answers 503.")
      #expect(try delivery.records().problems.failing().map(\.name) == [.webhooks])
      makeDue(delivery)
      #expect(try problem() == "")
      #expect(shop.received.count == 3)
      #expect(
        delivery.sql("SELECT outcome, total FROM counters WHERE name = 'webhooks' ORDER BY 1")
          == "delivered\t1\nfailed\t2")
    }
  }

  @Test func theDryRunSaysWhoWouldBeTold() throws {
    try withShop { delivery, shop, merchant throws in
      let id = delivery.addWebhook(of: merchant.id)
      let before = delivery.dump
      #expect(
        try delivery.companion(mailer: nil).dryRun()
          == ["webhook  \(id)  merchant \(merchant.id)"])
      #expect(delivery.dump == before && shop.received.isEmpty)
    }
  }
}

/// Payments that were not confirmed in time.
@Suite struct PaymentExpiryTests {
  private func addExpired(_ delivery: TestDelivery, of merchant: String) -> String {
    let id = delivery.addPayment(of: merchant, isConfirmed: false)
    delivery.sql("UPDATE payments SET expires_at = UTC_TIMESTAMP(3) WHERE id = '\(id)'")
    return id
  }

  private func addMerchant(_ delivery: TestDelivery) throws -> String {
    let id = try delivery.addMerchant()
    delivery.sql("UPDATE merchants SET webhook_url = 'https://a', webhook_secret = 'sealed'")
    return id
  }

  @Test func theExpiryOfARequestIsToldOnce() throws {
    try withDelivery { delivery throws in
      let merchant = try addMerchant(delivery)
      let expired = addExpired(delivery, of: merchant)
      _ = delivery.addPayment(of: merchant, isConfirmed: false)
      _ = delivery.addPayment(of: merchant)
      let payments = delivery.records().payments
      #expect(try payments.expire(limit: 9) == 1)
      #expect(try payments.expire(limit: 9) == 0)
      #expect(
        delivery.sql("SELECT id FROM payments WHERE expired_at IS NOT NULL") == expired)
      #expect(
        delivery.sql("SELECT payment_id, event FROM webhooks") == "\(expired)\tpayment.expired")
    }
  }

  @Test func whatAnAppBeganExpiresUntold() throws {
    try withDelivery { delivery throws in
      let merchant = try addMerchant(delivery)
      _ = addExpired(delivery, of: merchant)
      delivery.sql("UPDATE payments SET is_request = FALSE")
      #expect(try delivery.records().payments.expire(limit: 9) == 1)
      #expect(delivery.sql("SELECT expired_at IS NOT NULL FROM payments") == "1")
      #expect(delivery.sql("SELECT COUNT(*) FROM webhooks") == "0")
    }
  }

  @Test func atMostTheLimitExpiresAtOnce() throws {
    try withDelivery { delivery throws in
      let merchant = try addMerchant(delivery)
      delivery.sql("UPDATE merchants SET webhook_url = NULL, webhook_secret = NULL")
      for _ in 1...3 { _ = addExpired(delivery, of: merchant) }
      #expect(try [2, 1, 0].allSatisfy { try delivery.records().payments.expire(limit: 2) == $0 })
      #expect(delivery.sql("SELECT COUNT(*) FROM webhooks") == "0", "nobody is told")
    }
  }

  /// A payment that is being confirmed is left to its confirmation.
  @Test func aLockedPaymentIsNotWaitedFor() throws {
    try withDelivery { delivery throws in
      let merchant = try addMerchant(delivery)
      let id = addExpired(delivery, of: merchant)
      let lock = Background {
        delivery.sql(
          """
          START TRANSACTION; SELECT id FROM payments WHERE id = '\(id)' FOR UPDATE;
          SELECT GET_LOCK('\(id)', 0); DO SLEEP(5); COMMIT
          """)
      }
      #expect(holds { delivery.sql("SELECT IS_USED_LOCK('\(id)') IS NOT NULL") == "1" })
      let began = ContinuousClock.now
      #expect(try delivery.records().payments.expire(limit: 9) == 0)
      #expect(ContinuousClock.now - began < .seconds(4))
      try lock.finish()
      #expect(try delivery.records().payments.expire(limit: 9) == 1)
    }
  }

  @Test func aPassRecordsIt() throws {
    try withDelivery { delivery throws in
      let shop = FakeShop()
      defer { shop.end() }
      let merchant = try addMerchant(delivery)
      let secret = "whsec_" + base64Encoded(randomBytes(32))
      Evidence.keep(secret: secret)
      let sealed = TestDelivery.keys.seal(
        Array(secret.utf8), authenticating: SealedWebhookSecrets.sealingContext(of: merchant))
      delivery.sql(
        "UPDATE merchants SET webhook_url = '\(shop.url)', webhook_secret = '\(sealed)'")
      _ = addExpired(delivery, of: merchant)
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(shop.received.map { $0.json["type"] as? String } == ["payment.expired"])
      #expect(delivery.sql("SELECT state FROM webhooks") == "delivered")
    }
  }
}

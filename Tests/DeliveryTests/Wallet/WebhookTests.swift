import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Merchants are told the outcomes of payments.
@Suite(.serialized) struct WebhookTests {
  /// A merchant that is told at a URL.
  struct Merchant {
    let id: String
    let secret: String
  }

  func addMerchant(
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

  func sealed(
    _ secret: String, of id: String, for keys: CompanionKeys = TestDelivery.keys
  ) -> String {
    keys.seal(Array(secret.utf8), authenticating: SealedWebhookSecrets.sealingContext(of: id))
  }

  /// Keys that open nothing of ``TestDelivery/keys``.
  private func otherKeys() throws -> CompanionKeys {
    CompanionKeys(
      try BoxKeys(parsing: "c2:" + base64URLEncoded([UInt8](repeating: 9, count: 32))))
  }

  func withShop(
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
  func row(_ columns: String, _ delivery: TestDelivery) -> String {
    delivery.sql("SELECT CONCAT_WS(' ', \(columns)) FROM webhooks")
  }

  func makeDue(_ delivery: TestDelivery) {
    delivery.sql("UPDATE webhooks SET due_at = UTC_TIMESTAMP(3)")
  }

  @Test(arguments: WebhookEvent.allCases)
  func anOutcomeIsToldWithASignature(event: WebhookEvent) throws {
    try withShop { delivery, shop, merchant throws in
      let id = delivery.addWebhook(of: merchant.id, event)
      let companion = delivery.companion(mailer: nil)
      let began = Timestamp.now().seconds
      try companion.doUrgentWork()
      let message = try #require(shop.received.first)
      #expect(shop.received.count == 1)
      #expect(message.id == id)
      #expect(message.signatures == [message.signature(by: merchant.secret)])
      #expect(message.fields["content-type"] == "application/json")
      let sentAt = try #require(message.fields["webhook-timestamp"].flatMap { Int64($0) })
      #expect((began...Timestamp.now().seconds).contains(sentAt))
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

  @Test func withAnotherKeyItWaits() throws {
    try withShop { delivery, shop, merchant throws in
      delivery.addWebhook(of: merchant.id)
      let companion = delivery.companion(mailer: nil, keys: try otherKeys())
      try companion.pass()
      #expect(row("state, reason", delivery) == "open no key opens the merchant's secret")
      #expect(
        delivery.sql("SELECT reason FROM problems WHERE name = 'keys'")
          == "The webhook secret of the merchant \(merchant.id) cannot be opened.")
      #expect(shop.received.isEmpty)
    }
  }

  /// The lost secret would still sign: for a day after each rotation.
  @Test(arguments: [1, 2]) func afterALossOfKeysANewSecretIsEnough(rotations: Int) throws {
    try withShop { delivery, shop, merchant throws in
      let keys = try otherKeys()
      let new = "whsec_" + base64Encoded(randomBytes(32))
      Evidence.keep(secret: new)
      for _ in 1...rotations {
        #expect(
          try delivery.records().merchants.rotateSecret(
            of: merchant.id, to: sealed(new, of: merchant.id, for: keys)))
      }
      delivery.addWebhook(of: merchant.id)
      try delivery.companion(mailer: nil, keys: keys).pass()
      let message = try #require(shop.received.first)
      #expect(message.signatures == [message.signature(by: new)])
      #expect(
        delivery.sql("SELECT COUNT(*) FROM problems WHERE name = 'keys' AND reason <> ''") == "0")
      #expect(
        delivery.sql(
          "SELECT webhook_secret LIKE 'box:c2.%' AND old_webhook_secret LIKE 'box:c1.%' FROM merchants"
        ) == "1")
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
        wait(for: "the other merchant's webhooks") { other.received.count == 3 }
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
}

import Base
import Cryptography
import MariaDB
import Store
import Support
import Testing

@testable import Delivery

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
      _ = addExpired(delivery, of: merchant)
      let holder = try Connection(delivery.root)
      _ = try holder.execute("SET autocommit = 0")
      _ = try holder.execute("SELECT id FROM payments FOR UPDATE")
      // A call that waited would fail, because the lock stays until it has returned.
      #expect(try delivery.records().payments.expire(limit: 9) == 0)
      _ = try holder.execute("SET autocommit = 1")  // commits
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

import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The attempts to tell an outcome: repetitions, waits, answers and their end.
extension WebhookTests {
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
        "UPDATE webhooks SET due_at = UTC_TIMESTAMP(3), expires_at = UTC_TIMESTAMP(3) + INTERVAL 14 SECOND"
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

  @Test func anAnswerIsNotAwaitedForever() throws {
    try withShop { delivery, shop, merchant throws in
      delivery.addWebhook(of: merchant.id)
      try shop.gate.hold {
        let clock = TestClock()
        let companion = delivery.companion(mailer: nil, clock: clock.limits)
        let work = Background { try companion.doUrgentWork() }
        wait(for: "the webhook") { shop.gate.isHolding("shop") }
        clock.advance(by: .seconds(10))
        try work.finish()
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
          delivery, "watch",
          changing: ["SWITCHBOARD_OUTBOUND_ALLOW": "127.0.0.0/8"])
        defer { companion.end() }
        wait(for: "the webhook") { !shop.received.isEmpty }
        companion.process.terminate()
        wait(for: "the end of the companion") { !companion.process.isRunning }
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

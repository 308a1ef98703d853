import Administration
import Cryptography
import Store
import Support
import Testing

@testable import Delivery

/// Terminal commands for the settings of merchants and for their webhooks.
@Suite struct MerchantAdministrationTests {
  private let url = "https://shop.example.com/webhooks?key=1"

  private func set(
    _ delivery: TestDelivery, _ id: String, _ change: (inout WantedMerchantSettings) -> Void
  ) throws -> MerchantAnswer? {
    var wanted = WantedMerchantSettings()
    change(&wanted)
    return try MerchantAdministration(records: delivery.records())
      .set(wanted, of: id, sealedFor: TestDelivery.keys)
  }

  @Test func theFirstURLMakesASecretThatTheNextKeeps() throws {
    try withDelivery { delivery throws in
      let id = try delivery.addMerchant()
      let answer = try delivery.rehearseAndDo { records in
        var wanted = WantedMerchantSettings()
        wanted.webhook = .set(url)
        return try MerchantAdministration(records: records)
          .set(wanted, of: id, sealedFor: TestDelivery.keys)
      }
      let secret = try #require(answer.secret)
      #expect(secret.wholeMatch(of: /whsec_[A-Za-z0-9+\/]{43}=/) != nil)
      #expect(answer.text == secret)
      #expect(try object(of: answer)["webhook_secret"] as? String == secret)
      #expect(try object(of: answer)["id"] as? String == id)
      #expect(!delivery.dump.contains(secret), "in the clear in the database")
      #expect(try delivery.openedSecret(of: id) == secret)
      #expect(delivery.sql("SELECT webhook_url FROM merchants") == url)
      let other = try set(delivery, id.uppercased()) { $0.webhook = .set("http://127.0.0.1:9/x") }
      #expect(other?.secret == nil)
      #expect(other?.text == "Changed the settings of the merchant Shop.")
      #expect(try delivery.openedSecret(of: id) == secret)
      #expect(try set(delivery, id) { $0.webhook = .remove }?.secret == nil)
      #expect(
        delivery.sql("SELECT COALESCE(webhook_url, webhook_secret, 'none') FROM merchants")
          == "none")
      #expect(try set(delivery, id) { $0.webhook = .set(url) }?.secret != secret)
      #expect(
        delivery.administratorsEvents
          == ["merchant_added \(id)"] + Array(repeating: "merchant_changed \(id)", count: 4))
    }
  }

  @Test func eachSettingIsChangedAlone() throws {
    try withDelivery { delivery throws in
      let id = try delivery.addMerchant()
      func list() throws -> String {
        let report = try MerchantAdministration(records: delivery.records()).list()
        return String(decoding: report.json, as: UTF8.self)
      }
      let unset =
        #""largest_amount":null,"hourly_requests":3600,"return_origins":[],"webhook_url":null"#
      #expect(try list().contains(unset))
      _ = try set(delivery, id) {
        $0.returnOrigins = ["https://shop.example.com", "http://localhost:8080"]
        $0.largestAmount = .set("500.50")
        $0.hourlyRequests = 60
      }
      let all = delivery.sql(
        "SELECT return_origins, largest_amount, hourly_requests, COALESCE(webhook_url, 'none') FROM merchants"
      )
      #expect(all == "https://shop.example.com http://localhost:8080\t500.5000\t60\tnone")
      #expect(try list().contains(#""largest_amount":"500.5","hourly_requests":60,"#))
      _ = try set(delivery, id) { $0.largestAmount = .remove }
      _ = try set(delivery, id) { $0.returnOrigins = [] }
      #expect(try list().contains(unset.replacing("3600", with: "60")))
    }
  }

  @Test(arguments: [
    "http://shop.example.com/", "https://u@shop.example.com/", "https://shop.example.com/#x",
    "shop.example.com", "HTTPS://shop.example.com/", "https://shop.example.com/a b", "ftp://a/",
    "https://shop.example.com/\(String(repeating: "x", count: 2000))",
  ])
  func otherURLsAreRefused(url: String) throws {
    try withDelivery { delivery throws in
      let id = try delivery.addMerchant()
      let before = delivery.dump
      #expect(throws: BadArguments.self) { try set(delivery, id) { $0.webhook = .set(url) } }
      #expect(delivery.dump == before)
    }
  }

  @Test func malformedSettingsAreToldAllAtOnce() throws {
    try withDelivery { delivery throws in
      let id = try delivery.addMerchant()
      for origin in [
        "https://shop.example.com/", "https://Shop.example.com", "shop.example.com", "mwsim://x",
        "https://shop.example.com:443", "https://a https://b", "",
      ] {
        #expect(throws: BadArguments.self, "\(origin)") {
          try set(delivery, id) { $0.returnOrigins = [origin] }
        }
      }
      for amount in ["0", "-1", "0.00", "1.23456", "12345678901", "1e3", "", ".5", "1.", "5 "] {
        #expect(throws: BadArguments.self, "\(amount)") {
          try set(delivery, id) { $0.largestAmount = .set(amount) }
        }
      }
      let all = #expect(throws: BadArguments.self) {
        try set(delivery, id) {
          $0.webhook = .set("x")
          $0.returnOrigins = ["x"]
          $0.largestAmount = .set("x")
          $0.hourlyRequests = 0
        }
      }
      #expect(
        all?.description.split(separator: "\n").map { $0.split(separator: " ")[0] }
          == ["--webhook", "--return", "--largest", "--hourly"])
    }
  }

  @Test func anUnknownMerchantIsNotFound() throws {
    try withDelivery { delivery throws in
      for id in ["x", "01890a5d-ac96-774b-bcce-b302099a8011"] {
        let merchants = MerchantAdministration(records: delivery.records())
        #expect(try set(delivery, id) { $0.hourlyRequests = 1 } == nil)
        #expect(try merchants.rotateSecret(of: id, sealedFor: TestDelivery.keys) == nil)
        #expect(try merchants.webhooks(of: id, limit: 1) == nil)
        #expect(try merchants.resend(id) == nil)
      }
    }
  }

  @Test func aRotatedSecretSignsForAnotherDay() throws {
    try withDelivery { delivery throws in
      let id = try delivery.addMerchant()
      let merchants = MerchantAdministration(records: delivery.records())
      #expect(throws: BadArguments.self) {
        try merchants.rotateSecret(of: id, sealedFor: TestDelivery.keys)
      }
      let old = try #require(try set(delivery, id) { $0.webhook = .set(url) }?.secret)
      let began = delivery.sql(databaseClock)
      let answer = try delivery.rehearseAndDo { records in
        try MerchantAdministration(records: records)
          .rotateSecret(of: id, sealedFor: TestDelivery.keys)
      }
      let new = try #require(answer.secret)
      #expect(new != old && new == answer.text)
      #expect(try delivery.openedSecret(of: id) == new)
      #expect(try delivery.openedSecret(of: id, in: "old_webhook_secret") == old)
      #expect(
        delivery.sql(
          isAhead(
            "old_webhook_secret_until", in: "merchants", by: 86_400...86_400, since: began)) == "1")
      #expect(delivery.administratorsEvents.last == "webhook_secret_rotated \(id)")
      try delivery.records().merchants.forgetOldSecrets()
      #expect(delivery.sql("SELECT old_webhook_secret IS NULL FROM merchants") == "0")
      delivery.sql("UPDATE merchants SET old_webhook_secret_until = UTC_TIMESTAMP(3)")
      try delivery.records().merchants.forgetOldSecrets()
      #expect(delivery.sql("SELECT old_webhook_secret IS NULL FROM merchants") == "1")
    }
  }

  @Test func webhooksAreListedAndSentAgain() throws {
    try withDelivery { delivery throws in
      let id = try delivery.addMerchant()
      let other = try delivery.addMerchant("Other")
      _ = try set(delivery, id) { $0.webhook = .set(url) }
      let (first, second) = (delivery.addWebhook(of: id), delivery.addWebhook(of: other))
      delivery.sql(
        """
        UPDATE webhooks SET state = 'dead', attempts = 9, status = 500, reason = 'it answered 500',
          created_at = created_at - INTERVAL 4 DAY, due_at = due_at - INTERVAL 1 DAY,
          expires_at = expires_at - INTERVAL 4 DAY, finished_at = UTC_TIMESTAMP(3) WHERE id = '\(first)'
        """)
      let merchants = MerchantAdministration(records: delivery.records())
      let all = try rows("webhooks", of: #require(try merchants.webhooks(of: nil, limit: 9)))
      #expect(all.map { $0["id"] as? String } == [second, first])
      #expect(all.map { $0["merchant"] as? String } == ["Other", "Shop"])
      #expect(all.map { $0["status"] as? Int } == [nil, 500])
      #expect(all[1]["reason"] as? String == "it answered 500")
      let own = try rows("webhooks", of: #require(try merchants.webhooks(of: id, limit: 9)))
      #expect(own.map { $0["id"] as? String } == [first])
      let some = try #require(try merchants.webhooks(of: nil, limit: 1))
      #expect(try object(of: some)["is_more"] as? Bool == true)
      let began = delivery.sql(databaseClock)
      let answer = try delivery.rehearseAndDo {
        try MerchantAdministration(records: $0).resend(first)
      }
      #expect(answer.text == "Opened the webhook \(first) again: the next pass sends it.")
      #expect(
        delivery.sql(
          """
          SELECT state, attempts, status IS NULL, reason IS NULL, finished_at IS NULL,
            due_at BETWEEN '\(began)' AND UTC_TIMESTAMP(3) FROM webhooks WHERE id = '\(first)'
          """) == "open\t0\t1\t1\t1\t1")
      #expect(
        delivery.sql(
          isAhead(
            "expires_at", in: "webhooks WHERE id = '\(first)'", by: 259_200...259_200, since: began)
        )
          == "1")
      #expect(delivery.administratorsEvents.last == "webhook_resent \(first)")
      let refusal = #expect(throws: BadArguments.self) { try merchants.resend(second) }
      #expect(refusal?.description.hasPrefix("The merchant has no URL for webhooks") == true)
    }
  }
}

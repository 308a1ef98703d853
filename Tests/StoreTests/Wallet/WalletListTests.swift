import Base
import MariaDB
import Support
import Testing

@testable import Store

/// The merchants, banks and webhooks that administrators list and change.
@Suite struct WalletListTests {
  private typealias Site = ViewedSite

  private static let merchants = """
    INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at, revoked_at, return_origins, largest_amount,
        hourly_requests, webhook_url, webhook_secret, old_webhook_secret, old_webhook_secret_until) VALUES
      (\(Site.id(53)), 'Shop', REPEAT('m', 32), 'msk_m', '2026-11-03', NULL, '', NULL, 3600, NULL, NULL, NULL, NULL),
      (\(Site.id(51)), 'Shop', REPEAT('k', 32), 'msk_k', '2026-11-01', '2026-11-02', 'https://a.example https://b.example', 12.5, 7,
        'https://a.example/hook', 'first', 'zeroth', \(Site.justAfter)),
      (\(Site.id(52)), 'Inn', REPEAT('l', 32), 'msk_l', '2026-11-02', NULL, '', 100, 3600, 'https://b.example', 'second', 'lapsed', \(Site.now));
    """

  private func id(_ number: Int) -> String { Site.value(Site.id(number)) }

  private func secrets(_ site: Site, _ number: Int) -> String {
    site.sql(
      "SELECT webhook_secret, old_webhook_secret, old_webhook_secret_until FROM merchants WHERE id = \(Site.id(number))"
    ).replacing("\t", with: " ")
  }

  @Test func merchantsAreListedByTheirNames() throws {
    try withViewedSite(Self.merchants) { site throws in
      site.expect(
        try site.records().merchants.list(),
        [
          "52 Inn msk_l 11-02 -  100 3600 https://b.example",
          "51 Shop msk_k 11-01 11-02 https://a.example+https://b.example 12.5 7 https://a.example/hook",
          "53 Shop msk_m 11-03 -  - 3600 -",
        ])
    }
  }

  /// The name of a merchant whose key was revoked is free again.
  @Test func aNameIsTakenByAMerchantWithAValidKey() throws {
    try withViewedSite(Self.merchants) { site throws in
      let merchants = site.records().merchants
      func add(_ name: String) throws -> Bool {
        try merchants.add(name, keyHash: Array(repeating: 9, count: 32), keyPrefix: "msk_n") != nil
      }
      #expect(try !add("Shop"))
      #expect(try !add("Inn"))
      #expect(try !merchants.revoke(id(51)))
      #expect(try !merchants.revoke(id(99)))
      #expect(try merchants.revoke(id(53)))
      #expect(
        site.sql(
          "SELECT RIGHT(id, 2), revoked_at FROM merchants WHERE revoked_at IS NOT NULL ORDER BY id")
          == "51\t2026-11-02 00:00:00.000\n53\t2026-11-18 12:00:00.000")
      #expect(try add("Shop"))
      #expect(try !add("Shop"))
    }
  }

  /// An old secret that still signs is kept, and one that ends now is not.
  @Test func aSecretIsReplacedAndTheOldOneSignsForADay() throws {
    try withSiteAtOneMoment(Self.merchants) { site throws in
      let merchants = site.records().merchants
      for (number, rest) in [(51, "zeroth"), (52, "second")] {
        #expect(try merchants.rotateSecret(of: id(number), to: "new"))
        #expect(secrets(site, number) == "new \(rest) 2026-11-19 12:00:00.000")
      }
      #expect(try !merchants.rotateSecret(of: id(53), to: "new"))
      #expect(secrets(site, 53) == "NULL NULL NULL")
    }
  }

  @Test func theFirstURLMakesASecretAndLaterOnesKeepIt() throws {
    try withViewedSite(Self.merchants) { site throws in
      let merchants = site.records().merchants
      var settings = MerchantSettings()
      settings.webhook = .set(url: "https://new.example", sealedSecret: "made")
      #expect(try merchants.set(settings, of: id(53)) == true)
      #expect(try merchants.set(settings, of: id(52)) == false)
      #expect(try merchants.set(settings, of: id(99)) == nil)
      #expect(secrets(site, 53) == "made NULL NULL")
      #expect(secrets(site, 52) == "second lapsed 2026-11-18 12:00:00.000")
      #expect(secrets(site, 51) == "first zeroth 2026-11-18 12:00:00.001")
      settings = MerchantSettings()
      settings.webhook = .remove
      settings.returnOrigins = ["https://c.example"]
      settings.largestAmount = .set("8")
      settings.hourlyRequests = 9
      #expect(try merchants.set(settings, of: id(52)) == false)
      site.expect(
        try merchants.list(),
        [
          "52 Inn msk_l 11-02 - https://c.example 8 9 -",
          "51 Shop msk_k 11-01 11-02 https://a.example+https://b.example 12.5 7 https://a.example/hook",
          "53 Shop msk_m 11-03 -  - 3600 https://new.example",
        ])
    }
  }

  @Test func banksAreListedAndOnlyAConnectedOneIsDisconnected() throws {
    let rows = """
      INSERT INTO banks (bsim_id, name, authorization_url, token_url, cards_url, client_id, client_secret, scope) VALUES
        ('b3', 'Bank', NULL, NULL, NULL, NULL, NULL, NULL),
        ('b1', 'Bank', 'https://a.example', 'https://t.example', 'https://c.example', 'client', 'secret', 'cards'),
        ('b2', 'Also', 'https://b.example', 'https://t.example', 'https://c.example', 'client', 'secret', 'cards');
      INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at, removed_at) VALUES
        (\(Site.id(31)), \(Site.id(1)), 'b1', '2026-11-05', NULL), (\(Site.id(32)), \(Site.id(2)), 'b1', '2026-11-06', NULL),
        (\(Site.id(33)), \(Site.id(3)), 'b1', '2026-11-06', '2026-11-07'), (\(Site.id(34)), \(Site.id(3)), 'b3', '2026-11-08', NULL);
      """
    try withViewedSite(rows) { site throws in
      let banks = site.records().banks
      site.expect(
        try banks.overviews(),
        ["b2 Also https://b.example 0", "b1 Bank https://a.example 2", "b3 Bank - 1"])
      #expect(try !banks.disconnect("b3"))
      #expect(try !banks.disconnect("b4"))
      #expect(try banks.disconnect("b1"))
      site.expect(
        try banks.overviews(), ["b2 Also https://b.example 0", "b1 Bank - 2", "b3 Bank - 1"])
    }
  }

  private static let webhooks =
    merchants + """
      INSERT INTO payments (id, merchant_id, amount, currency, created_at, expires_at) VALUES
        ('pay_aaaaaaaaaaaaaaaaaaaaa1', \(Site.id(51)), 1, 'CAD', \(Site.now), \(Site.now)),
        ('pay_aaaaaaaaaaaaaaaaaaaaa2', \(Site.id(53)), 1, 'CAD', \(Site.now), \(Site.now));
      INSERT INTO webhooks (id, payment_id, merchant_id, event, state, attempts, status, reason, created_at, due_at, expires_at,
          finished_at) VALUES
        (\(Site.id(61)), 'pay_aaaaaaaaaaaaaaaaaaaaa1', \(Site.id(51)), 'payment.confirmed', 'delivered', 1, 200, NULL, '2026-11-05',
          '2026-11-05', '2026-11-08', '2026-11-05'),
        (\(Site.id(62)), 'pay_aaaaaaaaaaaaaaaaaaaaa1', \(Site.id(51)), 'payment.refunded', 'dead', 9, 500, 'HTTP 500', '2026-11-05',
          '2026-11-08', '2026-11-08', '2026-11-08'),
        (\(Site.id(63)), 'pay_aaaaaaaaaaaaaaaaaaaaa1', \(Site.id(51)), 'payment.cancelled', 'open', 2, NULL, 'no answer', '2026-11-04',
          '2026-11-09', '2026-11-08', NULL),
        (\(Site.id(64)), 'pay_aaaaaaaaaaaaaaaaaaaaa2', \(Site.id(53)), 'payment.expired', 'open', 0, NULL, NULL, '2026-11-06', '2026-11-06',
          '2026-11-09', NULL);
      """

  private static let lines = [
    "62 Shop pay_aaaaaaaaaaaaaaaaaaaaa1 payment.refunded dead 11-05 11-08 9 500 HTTP 500",
    "61 Shop pay_aaaaaaaaaaaaaaaaaaaaa1 payment.confirmed delivered 11-05 11-05 1 200 -",
    "63 Shop pay_aaaaaaaaaaaaaaaaaaaaa1 payment.cancelled open 11-04 11-09 2 - no answer",
    "64 Shop pay_aaaaaaaaaaaaaaaaaaaaa2 payment.expired open 11-06 11-06 0 - -",
  ]

  @Test func webhooksAreListedTheNewestFirst() throws {
    try withViewedSite(Self.webhooks) { site throws in
      let webhooks = site.records().webhooks
      let (one, all) = (Array(Self.lines.prefix(3)), [Self.lines[3]] + Self.lines.prefix(3))
      for limit in 1...4 {
        let ofOne = try webhooks.list(of: id(51), limit: limit)
        site.expect(ofOne.rows, Array(one.prefix(limit)))
        #expect(ofOne.isMore == (limit < 3))
        let ofAll = try webhooks.list(limit: limit)
        site.expect(ofAll.rows, Array(all.prefix(limit)))
        #expect(ofAll.isMore == (limit < 4))
      }
      site.expect(try webhooks.list(of: id(53), limit: 4).rows, [Self.lines[3]])
      #expect(try webhooks.list(of: id(52), limit: 4).rows.isEmpty)
      // All of one merchant.
      site.sql("DELETE FROM webhooks WHERE id = \(Site.id(64))")
      #expect(try webhooks.list(limit: 2).isMore)
      #expect(try !webhooks.list(limit: 3).isMore)
    }
  }

  @Test func aWebhookIsSentAgainAsIfItWereNew() throws {
    try withSiteAtOneMoment(Self.webhooks) { site throws in
      let webhooks = site.records().webhooks
      #expect(try webhooks.resend(id(64)) == .noURL)
      #expect(try webhooks.resend(id(99)) == .unknown)
      let others = site.sql("SELECT * FROM webhooks WHERE id <> \(Site.id(62)) ORDER BY id")
      #expect(try webhooks.resend(id(62)) == .done)
      #expect(
        site.sql(
          "SELECT state, attempts, due_at, expires_at, claim_id, status, reason, finished_at FROM webhooks WHERE id = \(Site.id(62))"
        ).replacing("\t", with: " ")
          == "open 0 2026-11-18 12:00:00.000 2026-11-21 12:00:00.000 NULL NULL NULL NULL")
      #expect(site.sql("SELECT * FROM webhooks WHERE id <> \(Site.id(62)) ORDER BY id") == others)
    }
  }
}

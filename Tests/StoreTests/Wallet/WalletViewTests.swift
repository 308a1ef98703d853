import Support
import Testing

/// What administrators see in the views of banks, cards, payments and webhooks.
@Suite struct WalletViewTests {
  private typealias Site = ViewedSite

  /// A connected bank where one of three enrollments was removed, and one that takes no enrollments any more.
  private static let banks = """
    INSERT INTO banks (bsim_id, name, authorization_url, token_url, cards_url, client_id, client_secret, scope) VALUES
      ('b1', 'One', 'https://a.example', 'https://t.example', 'https://c.example', 'client', 'secret', 'cards'),
      ('b2', 'Two', NULL, NULL, NULL, NULL, NULL, NULL);
    INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at, removed_at) VALUES
      (\(Site.id(31)), \(Site.id(1)), 'b1', '2026-11-05 01:00:00', NULL),
      (\(Site.id(32)), \(Site.id(2)), 'b1', '2026-11-06 01:00:00', '2026-11-07'),
      (\(Site.id(33)), \(Site.id(3)), 'b2', '2026-11-08 01:00:00', NULL),
      (\(Site.id(34)), \(Site.id(3)), 'b1', '2026-11-04 01:00:00', NULL);
    INSERT INTO cards (id, enrollment_id, last_four, card_type, is_default, active, added_at) VALUES
      (\(Site.id(41)), \(Site.id(31)), '1111', 'VISA', TRUE, TRUE, '2026-11-05'),
      (\(Site.id(42)), \(Site.id(31)), '2222', 'AMEX', FALSE, TRUE, '2026-11-05'),
      (\(Site.id(43)), \(Site.id(31)), '3333', 'DEBIT', FALSE, FALSE, '2026-11-05'),
      (\(Site.id(44)), \(Site.id(33)), '4444', 'VISA', FALSE, TRUE, '2026-11-05');
    """

  /// Only the first of the problems is of that bank, unsolved, and was seen in the last day.
  @Test func aConnectedBankIsShownWithItsEnrollmentsAndSinceWhenItFails() throws {
    let problems = """
      INSERT INTO problems (host, name, subject, reason, since, seen_at) VALUES
        ('h1', 'bank', 'b1', 'x', '2026-11-10', \(Site.justUnderADayAgo)),
        ('h2', 'bank', 'b1', '', '2026-11-09', \(Site.now)),
        ('h3', 'bank', 'b1', 'x', '2026-11-08', \(Site.dayAgo)),
        ('h4', 'bank', 'b2', 'x', '2026-11-07', \(Site.now)),
        ('h5', 'mail', 'b1', 'x', '2026-11-06', \(Site.now));
      """
    try withViewedSite(Self.banks + problems) { site throws in
      site.expect(
        "connected_banks", "bsim_id, enrollments, last_enrolled_at, fails_since",
        ["b1 2 2026-11-06 01:00:00.000 2026-11-10 00:00:00.000"])
    }
  }

  @Test func enrollmentsAndCardsAreShownWithTheirOwner() throws {
    try withViewedSite(Self.banks) { site throws in
      site.expect(
        "enrolled_banks", "email, bsim_id, bank, removed_at IS NULL, cards",
        [
          "ann@example.org b1 One 1 2", "bob@example.org b1 One 0 0", "cid@example.org b1 One 1 0",
          "cid@example.org b2 Two 1 1",
        ],
        sortedBy: "email, bsim_id")
      site.expect(
        "every_card", "email, bsim_id, last_four, is_default, active",
        [
          "ann@example.org b1 1111 1 1", "ann@example.org b1 2222 0 1",
          "ann@example.org b1 3333 0 0", "cid@example.org b2 4444 0 1",
        ], sortedBy: "last_four")
    }
  }

  /// One payment for each status, and for each rule that decides between two: values of columns after the id.
  private static let payments: [(status: String, columns: String, values: String)] = [
    ("refunded", "confirmed_at, confirmed_by, refunded_at", "\(Site.now), 'passkey', \(Site.now)"),
    ("confirmed", "confirmed_at, confirmed_by, approved_at", "\(Site.now), 'passkey', \(Site.now)"),
    ("cancelled", "cancelled_at, cancelled_by, approved_at", "\(Site.now), 'payer', \(Site.now)"),
    ("expired", "expired_at, approved_at", "\(Site.now), \(Site.now)"),
    ("approved", "approved_at", Site.now),
    ("pending", "approved_at", "NULL"),
  ]

  /// The payments expire at once, just after that, or were made before midnight.
  @Test func thePaymentsStatusIsThatOfItsLastStep() throws {
    var inserts = """
      INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at) VALUES
        (\(Site.id(51)), 'Shop', REPEAT('k', 32), 'msk_abcdefgh', '2026-11-01'),
        (\(Site.id(52)), 'Inn', REPEAT('l', 32), 'msk_bbcdefgh', '2026-11-01');
      """
    func add(_ number: Int, _ columns: String, _ values: String) {
      inserts += """
        INSERT INTO payments (id, merchant_id, amount, currency, challenge_hash, order_id, created_at, expires_at, \(columns))
          VALUES ('pay_aaaaaaaaaaaaaaaaaaaa\(number)', \(Site.id(51)), 1, 'CAD', REPEAT('c', 32), 'order', \(values));\n
        """
    }
    for (number, payment) in Self.payments.enumerated() {
      add(10 + number, payment.columns, "\(Site.midnight), \(Site.justAfter), \(payment.values)")
      add(
        20 + number, payment.columns, "\(Site.justBeforeMidnight), \(Site.now), \(payment.values)")
    }
    inserts += """
      UPDATE payments SET account_id = \(Site.id(2)), card_id = \(Site.id(44)), merchant_id = \(Site.id(52))
        WHERE id LIKE '%11';
      """
    try withViewedSite(Self.banks + inserts) { site throws in
      let statuses = Self.payments.map(\.status)
      let late = statuses.map { ["approved", "pending"].contains($0) ? "expired" : $0 }
      site.expect("every_payment", "status", statuses + late, sortedBy: "payment_id")
      site.expect("payments_today", "status", statuses, sortedBy: "payment_id")
      site.expect(
        "payments_today", "RIGHT(payment_id, 2), merchant, email, last_four",
        statuses.indices.map {
          $0 == 1 ? "11 Inn bob@example.org 4444" : "1\($0) Shop NULL NULL"
        }, sortedBy: "payment_id")
    }
  }

  @Test func webhooksAreShownWithTheirMerchant() throws {
    let rows = """
      INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at) VALUES
        (\(Site.id(51)), 'Shop', REPEAT('k', 32), 'msk_abcdefgh', '2026-11-01'),
        (\(Site.id(52)), 'Inn', REPEAT('l', 32), 'msk_bbcdefgh', '2026-11-01');
      INSERT INTO payments (id, merchant_id, amount, currency, created_at, expires_at)
        VALUES ('pay_aaaaaaaaaaaaaaaaaaaaaa', \(Site.id(52)), 1, 'CAD', \(Site.now), \(Site.now));
      INSERT INTO webhooks (id, payment_id, merchant_id, event, expires_at)
        VALUES (\(Site.id(61)), 'pay_aaaaaaaaaaaaaaaaaaaaaa', \(Site.id(52)), 'payment.expired', \(Site.now));
      """
    try withViewedSite(rows) { site throws in
      site.expect(
        "every_webhook", "merchant, payment_id, event",
        ["Inn pay_aaaaaaaaaaaaaaaaaaaaaa payment.expired"])
      site.expect(
        "keys_of_merchants", "name, api_key_prefix", ["Inn msk_bbcdefgh", "Shop msk_abcdefgh"],
        sortedBy: "name")
    }
  }
}

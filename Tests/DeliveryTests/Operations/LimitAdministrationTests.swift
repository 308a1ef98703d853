import Administration
import Store
import Support
import Testing

/// Terminal commands for limits.
@Suite struct LimitAdministrationTests {
  private func fill(_ delivery: TestDelivery) {
    delivery.sql(
      """
      SET time_zone = '+00:00';
      INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
      VALUES ('turns-check', '7', NOW(3), 60, 20, 20), ('turns-check', '8', NOW(3), 60, 19, 20),
        ('turns-check', '9', NOW(3) - INTERVAL 61 SECOND, 60, 20, 20),
        ('code-email', '\(Self.ann)', NOW(3), 900, 11, 10)
      """)
  }

  /// The subject of ann@example.org in the counts.
  private static let ann = "email:438c4c7afe600cdf1e455c369bec76dc"

  private func subjects(
    _ delivery: TestDelivery, named name: String? = nil, of subject: String? = nil,
    all: Bool = false
  ) throws -> Set<String> {
    let report = try LimitAdministration(records: delivery.records())
      .show(named: name, of: subject, isUsedUp: !all, limit: 10)
    return Set(try rows("limits", of: report).compactMap { $0["subject"] as? String })
  }

  @Test func thoseAreShownThatLetNobodyThrough() throws {
    try withDelivery { delivery throws in
      fill(delivery)
      #expect(try subjects(delivery) == ["7", Self.ann])
      #expect(try subjects(delivery, named: "turns-check") == ["7"])
      #expect(try subjects(delivery, named: "turns-check", all: true) == ["7", "8"])
      #expect(try subjects(delivery, of: "Ann@example.org") == [Self.ann])
      #expect(try subjects(delivery, of: "nobody") == [])
    }
  }

  @Test func whoeverIsLiftedMayTryAgain() throws {
    try withDelivery { delivery throws in
      fill(delivery)
      #expect(throws: RateLimited.self) { try delivery.responder().turnUsers.countCheck(of: 7) }
      _ = try delivery.rehearseAndDo {
        try LimitAdministration(records: $0).lift("turns-check", of: "7")
      }
      try delivery.responder().turnUsers.countCheck(of: 7)
      #expect(delivery.administratorsEvents == ["limit_lifted turns-check"])
      #expect(try LimitAdministration(records: delivery.records()).lift("x", of: "7") == nil)
    }
  }
}

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
        ('code-email', '\(Self.ann) 192.0.2.1', NOW(3), 900, 11, 10),
        ('code-email', '\(Self.ann) 192.0.2.2', NOW(3), 900, 11, 10),
        ('code-email', '\(Self.ann)7 192.0.2.1', NOW(3), 900, 11, 10)
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
      let anns = ["192.0.2.1", "192.0.2.2"].map { "\(Self.ann) \($0)" }
      #expect(try subjects(delivery) == Set(["7", "\(Self.ann)7 192.0.2.1"] + anns))
      #expect(try subjects(delivery, named: "turns-check") == ["7"])
      #expect(try subjects(delivery, named: "turns-check", all: true) == ["7", "8"])
      #expect(try subjects(delivery, of: "Ann@example.org") == Set(anns))
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

  /// The subject as the list shows it, and an e-mail address with each network that asked for it.
  @Test(arguments: [
    ("\(ann) 192.0.2.1", ["\(ann) 192.0.2.2", "\(ann)7 192.0.2.1"]),
    ("Ann@example.org 192.0.2.1", ["\(ann) 192.0.2.2", "\(ann)7 192.0.2.1"]),
    ("Ann@example.org", ["\(ann)7 192.0.2.1"]),
  ])
  func aSubjectIsLiftedWithItsNetworks(subject: String, left: [String]) throws {
    try withDelivery { delivery throws in
      fill(delivery)
      let companion = try RunningCompanion(delivery, "limits lift code-email \(subject)")
      companion.process.waitUntilExit()
      #expect(companion.process.terminationStatus == 0, "\(companion.log)")
      #expect(try subjects(delivery, named: "code-email", all: true) == Set(left))
    }
  }
}

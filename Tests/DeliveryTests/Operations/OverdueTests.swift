import Administration
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Unsent overdue deliveries are a problem, even if the channel reports none.
@Suite struct OverdueTests {
  /// Inserts an open delivery by each channel, due for so many seconds.
  private func insert(_ delivery: TestDelivery, _ waits: [(channel: String, seconds: Int)]) {
    for wait in waits {
      delivery.sql(
        """
        SET @id = UUID();
        INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
          VALUES (@id, 'turn', @id, 'c', UTC_TIMESTAMP(3) + INTERVAL 1 HOUR);
        INSERT INTO deliveries (id, notification_id, token, channel, shard, due_at)
          VALUES (UUID(), @id, @id, '\(wait.channel)', 1,
            UTC_TIMESTAMP(3) - INTERVAL \(wait.seconds) SECOND);
        """)
    }
  }

  private func overdue(_ delivery: TestDelivery) throws -> [String] {
    try delivery.responder().health().problems.filter { $0.name == .deliveries }
      .map { "\($0.subject): \($0.reason)" }
  }

  @Test func theChannelIsNamedWhoseOldestIsOverdueByFiveMinutes() throws {
    try withDelivery { delivery throws in
      insert(delivery, [("apns", 200), ("fcm", -600), ("webpush", 10), ("webpush", 430)])
      #expect(
        try overdue(delivery)
          == ["webpush: Notifications by the channel webpush are overdue by 7 minutes."])
      insert(delivery, [("apns", 305)])
      #expect(try overdue(delivery).map { $0.prefix(5) } == ["apns:", "webpu"])
      delivery.sql("UPDATE deliveries SET state = 'delivered', finished_at = NOW(3)")
      #expect(try overdue(delivery) == [])
    }
  }

  @Test func statusAndMetricsSayTheSame() throws {
    try withDelivery { delivery throws in
      try delivery.companion(mailer: .directory(delivery.folder), channels: []).pass()
      insert(delivery, [("webpush", 430), ("fcm", 20)])
      let companion = delivery.companion(mailer: nil, channels: [])
      let status = try companion.statusReport()
      #expect(!status.isWell)
      #expect(
        status.text.contains(
          """

          deliveries
            Notifications by the channel webpush are overdue by 7 minutes.
            \(Problem.Name.deliveries.advice)

          """), "\(status.text)")
      let metrics = try companion.metrics()
      #expect(metrics.contains("\nswitchboard_problem{name=\"deliveries\"} 1\n"))
      for (name, seconds) in [
        (#"deliveries_oldest_seconds{channel="fcm"}"#, 20),
        (#"deliveries_oldest_seconds{channel="webpush"}"#, 430),
        (#"queue_oldest_seconds{queue="deliveries"}"#, 430),
      ] {
        let sample = "switchboard_\(name) "
        let value = metrics.split(separator: "\n").first { $0.hasPrefix(sample) }
          .flatMap { Double($0.dropFirst(sample.count)) }
        #expect((Double(seconds)...Double(seconds + 60)).contains(value ?? 0))
      }
    }
  }

  /// A site without a channel would otherwise collect its deliveries and report them forever.
  @Test func expiredDeliveriesOfAChannelWithoutASenderAreGivenUp() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: .directory(delivery.folder), channels: [])
      try delivery.deliveries.addLeases(of: .fcm)
      insert(delivery, [("apns", 400), ("apns", 500), ("fcm", 600)])
      try companion.pass()
      #expect(delivery.sql("SELECT DISTINCT state FROM deliveries") == "open")
      #expect(try overdue(delivery).map { $0.prefix(4) } == ["apns", "fcm:"])
      delivery.sql("UPDATE notifications SET expires_at = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND")
      try companion.pass()
      #expect(
        delivery.sql("SELECT state, reason, COUNT(*) FROM deliveries GROUP BY 1, 2")
          == "dead\texpired\t3")
      #expect(try overdue(delivery) == [])
      #expect(
        delivery.sql("SELECT MAX(leased_until) <= UTC_TIMESTAMP(3) FROM delivery_leases") == "1")
    }
  }

  /// Another host may send by the channel.
  @Test func aShardThatAPassHoldsIsLeftToThatPass() throws {
    try withDelivery { delivery throws in
      insert(delivery, [("apns", 400)])
      delivery.sql(
        """
        UPDATE notifications SET expires_at = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND;
        UPDATE delivery_leases SET leased_until = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
        """)
      try delivery.companion(mailer: .directory(delivery.folder), channels: []).pass()
      #expect(delivery.sql("SELECT state FROM deliveries") == "open")
    }
  }

  /// A failed attempt moves the due time, so only the channel's own problem is reported.
  @Test func whatAServiceRefusesForNowIsNotOverdue() throws {
    try withBrowsers { browsers in
      let browser = try browsers.subscribe("a")
      browsers.service.play(.init(503), for: "a")
      browsers.notify(browser)
      browsers.delivery.sql("UPDATE deliveries SET due_at = due_at - INTERVAL 10 MINUTE")
      #expect(try overdue(browsers.delivery).count == 1)
      try browsers.pass()
      #expect(try overdue(browsers.delivery) == [])
    }
  }
}

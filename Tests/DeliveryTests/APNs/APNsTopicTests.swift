import Base
import Store
import Support
import Testing

@testable import Delivery

/// Tokens without a bundle id, in a family of apps.
@Suite struct APNsTopicTests {
  private static let other = "com.example.other"

  /// Inserts one notification to the device with `token`.
  private func notify(_ token: String, _ delivery: TestDelivery, of bundleID: String? = nil) {
    delivery.sql(
      """
      INSERT IGNORE INTO ogs_users (id) VALUES (1);
      INSERT IGNORE INTO ogs_registrations (ogs_user_id, device_token, registered_at)
        VALUES (1, '\(token)', '2020-01-01');
      SET @id = UUID();
      INSERT INTO notifications (id, kind, event_key, collapse_id, body, expires_at)
        VALUES (@id, 'turn', @id, 'c', 'x', UTC_TIMESTAMP(3) + INTERVAL 1 DAY);
      INSERT INTO deliveries (id, notification_id, token, bundle_id, shard)
        VALUES (UUID(), @id, '\(token)', \(bundleID.map { "'\($0)'" } ?? "NULL"), 1);
      """)
  }

  private func send(_ delivery: TestDelivery, _ family: [APNsSettings]) throws -> DeliveryReport {
    let channel = DeliveryChannel.apns(
      family, delivery.companionDatabase, sealingKeys: TestDelivery.keys, limits: testLimits(),
      clock: .still)
    defer { channel.close() }
    return try DeliveryRun(
      delivery.companionDatabase, channel, until: .never, stopping: Flag()
    ).send()
  }

  private static let token = String(repeating: "a", count: 64)

  @Test func aTokenOfAnotherAppIsTriedThereOnceAndRemembered() throws {
    try withDelivery { delivery throws in
      try withAPNs("answer token \(Self.token) 400 DeviceTokenNotForTopic") { first throws in
        try withAPNs(faults: [], topic: Self.other, teamID: "TEAM654321") { second throws in
          for _ in 1...2 {
            notify(Self.token, delivery)
            let report = try send(delivery, [first.settings(), second.settings()])
            #expect(report == DeliveryReport(delivered: 1))
          }
          let direct = DemoPushSender(
            database: delivery.companionDatabase,
            channels: [
              .apns(
                [try first.settings(), try second.settings()], delivery.companionDatabase,
                sealingKeys: TestDelivery.keys, clock: .still)
            ], missing: [])
          let target = PushTarget(
            token: Self.token, platform: .ios, registeredAt: .now(), isEnabled: true)
          #expect(
            try direct.run(NotificationContent(body: "x"), to: [target]).results.map(\.ok) == [true]
          )
        } thenLook: { second, _ throws in
          #expect(try second.received().map(\.token) == [Self.token, Self.token, Self.token])
        }
      } thenLook: { first, _ throws in
        #expect(try first.received().map(\.status) == [400])
      }
      #expect(
        delivery.sql("SELECT topic, environment FROM apns_hosts")
          == "\(Self.other)\tproduction")
    }
  }

  @Test func aTokenThatNoAppHasGoesAfterEachWasAskedOnce() throws {
    let fault = "answer token \(Self.token) 400 DeviceTokenNotForTopic"
    try withDelivery { delivery throws in
      try withAPNs(fault) { first throws in
        try withAPNs(faults: [fault], topic: Self.other, teamID: "TEAM654321") { second throws in
          notify(Self.token, delivery)
          let report = try send(delivery, [first.settings(), second.settings()])
          #expect(report == DeliveryReport(dead: 1, tokensRemoved: 1))
        } thenLook: { second, _ throws in
          #expect(try second.received().map(\.status) == [400])
        }
      } thenLook: { first, _ throws in
        #expect(try first.received().map(\.status) == [400])
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM ogs_registrations") == "0")
      #expect(delivery.sql("SELECT COUNT(*) FROM apns_hosts") == "0")
    }
  }

  @Test func aTokenWhoseAppIsNamedIsTriedWithNoOther() throws {
    try withDelivery { delivery throws in
      try withAPNs("answer token \(Self.token) 400 DeviceTokenNotForTopic") { first throws in
        try withAPNs(faults: [], topic: Self.other, teamID: "TEAM654321") { second throws in
          notify(Self.token, delivery, of: FakeAPNs.topic)
          let report = try send(delivery, [first.settings(), second.settings()])
          #expect(report == DeliveryReport(dead: 1, tokensRemoved: 1))
        } thenLook: { second, _ throws in
          #expect(try second.received().isEmpty)
        }
      }
    }
  }
}

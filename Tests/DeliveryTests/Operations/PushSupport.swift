import Base
import Cryptography
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

/// Access of tests to the outbox of notifications: fill, send, read.
extension TestDelivery {
  /// Inserts one notification to each of `count` devices, each registered for its own user: 1, 2 and so on.
  func insert(_ count: Int, registeredAt: String = "2020-01-01") {
    sql(
      """
      INSERT INTO ogs_users (id) SELECT seq FROM seq_1_to_\(count);
      INSERT INTO notifications (id, kind, event_key, collapse_id, body, expires_at)
        SELECT UUID(), 'turn', CONCAT('event ', seq), CONCAT('c', seq), 'x',
          UTC_TIMESTAMP(3) + INTERVAL 1 DAY FROM seq_1_to_\(count);
      INSERT INTO deliveries (id, notification_id, token, shard)
        SELECT UUID(), id, SHA2(event_key, 256), ASCII(SHA2(event_key, 256)) % 16 FROM notifications;
      INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
        SELECT SUBSTRING(n.event_key, 7), d.token, '\(registeredAt)'
        FROM deliveries d JOIN notifications n ON n.id = d.notification_id;
      """)
  }

  var companionDatabase: Database { Database(account(of: "companion")) }

  /// Sends the due deliveries once.
  func send(
    by fake: FakeAPNs, elsewhere other: FakeAPNs? = nil, otherEndpoint: APNsEndpoint? = nil,
    through own: Database? = nil
  ) throws -> DeliveryReport {
    let settings = try fake.settings(other: other, otherEndpoint: otherEndpoint)
    let database = own ?? companionDatabase
    let channel = DeliveryChannel.apns(
      settings, database, sealingKeys: Self.keys, limits: testLimits(),
      clock: .still)
    defer { channel.close() }
    return try DeliveryRun(
      database, channel, until: .never, stopping: Flag()
    ).send()
  }

  /// State, status, reason and attempts of all deliveries, with their number.
  var states: String {
    sql(
      """
      SELECT CONCAT_WS(' ', state, status, reason, attempts, COUNT(*)) FROM deliveries
      GROUP BY state, status, reason, attempts ORDER BY 1
      """)
  }

  /// Ends the leases of dead processes and the waiting times of deliveries.
  func letLeasesEnd() {
    sql(
      """
      UPDATE delivery_leases SET leased_until = UTC_TIMESTAMP(3);
      UPDATE deliveries SET due_at = UTC_TIMESTAMP(3) WHERE state = 'open';
      UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3)
      """)
  }
}

import Base
import Cryptography
import Foundation
import Store
import Support

@testable import Delivery

/// Calls `body` with a new fake.
func withFCM<T>(_ body: (FakeFCM) throws -> T) throws -> T {
  let fake = FakeFCM()
  defer { fake.end() }
  return try body(fake)
}

extension FakeFCM {
  func settings(tokenURL: String? = nil) throws -> FCMSettings {
    FCMSettings(
      project: Self.project, account: Self.account, keyID: Self.keyID,
      key: try RSAPrivateKey(pem: privateKey), tokenURL: tokenURL ?? self.tokenURL, endpoint: url)
  }
}

extension TestDelivery {
  /// Inserts a delivery of one notification to each of `tokens`, which are Android phones of as many accounts.
  func insertAndroid(_ tokens: [String]) {
    let statements = tokens.enumerated().map { index, token in
      """
      SET @account = UUID(), @device = UUID(), @notification = UUID();
      INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
        VALUES (@account, 'android-\(index)@example.org', 'N', 'android-\(index)',
          CONCAT('wsim_', LPAD('\(index)', 12, '0')), NOW(3));
      INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
        VALUES (@device, @account, 'android-\(index)', 'D', 'android', NOW(3), NOW(3));
      INSERT INTO device_preferences (device_id, last_updated_at) VALUES (@device, NOW(3));
      INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, began_by)
        VALUES (UUID(), @device, NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY, 'code');
      INSERT INTO push_tokens (token, device_id, platform, registered_at)
        VALUES ('\(token)', @device, 'android', UTC_TIMESTAMP(3) - INTERVAL 1 DAY);
      INSERT INTO notifications
          (id, kind, event_key, collapse_id, title, body, sound, expires_at, account_id)
        VALUES (@notification, 'account', 'event \(index)', 'c\(index)',
          'T', 'B', 'default', UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, @account);
      INSERT INTO deliveries (id, notification_id, token, channel, shard)
        VALUES (UUID(), @notification, '\(token)', 'fcm', \(index % 16));
      """
    }
    sql(statements.joined(separator: "\n"))
  }

  /// Sends the due deliveries once.
  func send(
    by fake: FakeFCM
  ) throws -> DeliveryReport {
    let channel = DeliveryChannel.fcm(
      try fake.settings(), companionDatabase, sealingKeys: Self.keys, clock: .still)
    defer { channel.close() }
    return try send(by: channel)
  }

  /// Sends the due deliveries once.
  func send(by channel: DeliveryChannel) throws -> DeliveryReport {
    try deliveries.addLeases(of: .fcm)
    return try DeliveryRun(
      companionDatabase, channel, until: .never, stopping: Flag()
    ).send()
  }
}

/// A token in FCM's format.
func androidToken(_ number: Int) -> String { "fcm-token-\(number):APA91bE_test-of-a-phone" }

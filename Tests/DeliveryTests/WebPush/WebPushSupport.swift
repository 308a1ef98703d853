import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Ann's subscribed browsers, and a push service for them.
struct Browsers {
  let delivery: TestDelivery
  let service: FakePushService
  let settings: WebPushSettings

  /// A browser with a subscription.
  struct Subscribed {
    let name: String
    let token: String
    let key: P256PrivateKey
    let secret: [UInt8]

    /// The text of a message as the browser decrypts it.
    func read(_ message: FakePushService.Message) throws -> String {
      let content = try EncryptedContent(message.body)
      return String(decoding: try content.open(as: key, authentication: secret), as: UTF8.self)
    }
  }

  var channel: DeliveryChannel { channel(by: .still) }

  func channel(by clock: LimitClock) -> DeliveryChannel {
    .webPush(settings, delivery.companionDatabase, keys: TestDelivery.keys, clock: clock)
  }

  func pass() throws {
    try delivery.companion(mailer: nil, channels: [channel]).pass()
  }

  /// Subscribes a browser at `endpoint`, or at the service.
  func subscribe(
    _ name: String, at endpoint: String? = nil,
    sealedFor keys: BoxPublicKeys = TestDelivery.boxKeys.publicKeys
  ) throws -> Subscribed {
    let (key, secret) = (try P256PrivateKey.generate(), randomBytes(16))
    let subscription = WebSubscription(
      endpoint: endpoint ?? service.endpoint(name),
      publicKey: base64URLEncoded(try key.publicKey().uncompressedPoint),
      authentication: base64URLEncoded(secret))
    delivery.sql(
      """
      INSERT IGNORE INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
        SELECT UUID(), id, 'page', 'Page', 'macos', NOW(3), NOW(3) FROM accounts;
      INSERT IGNORE INTO device_preferences (device_id, last_updated_at) SELECT id, NOW(3) FROM devices;
      INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, began_by)
        SELECT UUID(), id, NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY, 'code' FROM devices;
      INSERT INTO push_tokens (token, device_id, platform, registered_at)
        SELECT '\(subscription.token.text)', id, 'web', UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE FROM devices;
      INSERT INTO web_subscriptions (token, sealed)
        VALUES ('\(subscription.token.text)', '\(try subscription.sealed(for: keys))');
      """)
    return Subscribed(name: name, token: subscription.token.text, key: key, secret: secret)
  }

  /// Adds a notification to the browser to the outbox.
  func notify(
    _ browser: Subscribed, title: String? = nil, _ body: String = "Your turn",
    data: String? = nil, shard: Int = 1
  ) {
    delivery.sql(
      """
      SET @id = UUID();
      INSERT INTO notifications (id, kind, event_key, collapse_id, title, body, data, expires_at)
        VALUES (@id, 'turn', @id, 'turns-7', \(title.map { "'\($0)'" } ?? "NULL"), '\(body)',
          \(data.map { "'\($0)'" } ?? "NULL"), UTC_TIMESTAMP(3) + INTERVAL 1 HOUR);
      INSERT INTO deliveries (id, notification_id, token, channel, shard)
        VALUES (UUID(), @id, '\(browser.token)', 'webpush', \(shard));
      """)
  }

  /// State, reason and attempts of each delivery to the browser.
  func state(of browser: Subscribed) -> String {
    delivery.sql(
      """
      SELECT CONCAT_WS(' ', state, reason, attempts) FROM deliveries WHERE token = '\(browser.token)'
      ORDER BY id
      """)
  }

  func isKnown(_ browser: Subscribed) -> Bool {
    delivery.sql("SELECT COUNT(*) FROM web_subscriptions WHERE token = '\(browser.token)'") == "1"
  }
}

/// Calls `body` with a database and a push service.
///
/// - Parameters:
///   - key: the key of the browsers' subscriptions; nil means ours.
///   - isAllowed: whether the settings name the service.
///   - outbound: the rule for the service's address.
func withBrowsers(
  subject: String = "mailto:admin@example.org", subscribedFor key: P256PrivateKey? = nil,
  isAllowed: Bool = true, isTrusted: Bool = true,
  outbound: OutboundRule = TestDelivery.loopback, _ body: (Browsers) throws -> Void
) throws {
  try withDelivery { delivery in
    let ours = try P256PrivateKey.generate()
    let vapid = try VAPID(key: ours, subject: subject)
    let theirs = try VAPID(key: key ?? ours, subject: subject)
    let service = try FakePushService(applicationServerKey: theirs.publicKey)
    defer { service.end() }
    let settings = WebPushSettings(
      vapid: vapid, services: PushServices(more: isAllowed ? [service.host] : []),
      certificatesFile: isTrusted ? service.certificatesFile : nil, outbound: outbound)
    try body(Browsers(delivery: delivery, service: service, settings: settings))
  }
}

import Base
import Cryptography
import MariaDB

/// A way to send deliveries: the word in the column `channel`.
package struct Channel: Hashable, Sendable {
  package let name: String

  package init(_ name: String) { self.name = name }

  /// Apple Push Notification service.
  package static let apns = Channel("apns")
  /// Firebase Cloud Messaging, Google's.
  package static let fcm = Channel("fcm")
  /// Web Push (RFC 8030).
  package static let webPush = Channel("webpush")
}

/// The address of a notification.
package struct PushAddress: Sendable, Equatable {
  package let channel: Channel
  /// The token, as the channel knows the device.
  package let token: String
  /// The app that registered the token; nil if it did not name itself.
  package let bundleID: String?

  package init(_ token: String, by channel: Channel, bundleID: String? = nil) {
    self.channel = channel
    self.token = token
    self.bundleID = bundleID
  }
}

/// A notification to post to the outbox.
package struct NewNotification: Sendable {
  /// The kind of its event. Each room declares its own kinds.
  package struct Kind: Hashable, Sendable {
    /// The word in the column `kind`.
    package let name: String

    init(_ name: String) { self.name = name }
  }

  package let kind: Kind
  /// The name of the event: the same event is posted only once.
  package let eventKey: String
  package let content: NotificationContent
  /// The time after which it is neither sent nor stored for the device.
  package let lifetime: Duration
  package let addresses: [PushAddress]
  /// The account that it tells: deleting the account deletes the notification; nil: no account.
  package let accountID: String?
  /// The wait before it is sent; its lifetime begins after the wait.
  package let delay: Duration

  package init(
    kind: Kind, eventKey: String, content: NotificationContent, lifetime: Duration,
    to addresses: [PushAddress], of accountID: String? = nil, delay: Duration = .zero
  ) {
    self.kind = kind
    self.eventKey = eventKey
    self.content = content
    self.lifetime = lifetime
    self.addresses = addresses
    self.accountID = accountID
    self.delay = delay
  }
}

/// Statements on `notifications`.
struct NotificationStatements: ~Copyable {
  let transaction: Transaction

  /// Posts a notification to the outbox, in the transaction of its event.
  ///
  /// - Returns: its id; nil if the event was posted before; then nothing is written.
  @discardableResult
  func post(_ new: NewNotification) throws(DatabaseError) -> String? {
    let id = transaction.makeID()
    let inserted = try transaction.connection.execute(
      """
      INSERT INTO notifications (id, kind, event_key, expires_at, account_id, title, body, badge,
        sound, thread, category, is_urgent, data, collapse_id)
      VALUES (?, ?, ?, UTC_TIMESTAMP(3) + INTERVAL ? SECOND, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE event_key = event_key
      """,
      [
        .text(id), .text(new.kind.name), .text(new.eventKey),
        .integer((new.delay + new.lifetime).components.seconds), .text(new.accountID),
      ] + new.content.parameters)
    guard inserted == 1 else { return nil }
    for address in new.addresses {
      _ = try transaction.connection.execute(
        """
        INSERT INTO deliveries (id, notification_id, token, bundle_id, channel, shard, due_at)
        VALUES (?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(3) + INTERVAL ? SECOND)
        """,
        [
          .text(transaction.makeID()), .text(id), .text(address.token), .text(address.bundleID),
          .text(address.channel.name), .integer(Int64(sha256(address.token)[0] & 15)),
          .integer(new.delay.components.seconds),
        ])
    }
    return id
  }
}

extension Transaction {
  var notifications: NotificationStatements {
    NotificationStatements(transaction: Transaction(sharing: self))
  }
}

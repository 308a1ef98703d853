import Base
import MariaDB

/// The number on the app's icon of one device, and the address of the device.
struct DeviceBadge: Sendable {
  let token: String
  /// The number of games that wait for the device's users, as last seen.
  let waiting: Int64
  /// The number as last delivered.
  let shown: Int64
  /// Whether a badge alone may be sent now: no other delivery is open, and the last badge was sent
  /// a minute ago.
  let mayCorrect: Bool
  let address: PushAddress
  let language: Language
  /// nil: the user's quiet hours apply.
  let quietHours: PhoneQuietHours?
  /// Whether it has turns whose notification was given up.
  let hasUntold: Bool

  /// Whether it can get a number alone. Browsers show each push to the person.
  var takesBadges: Bool { address.channel != .webPush }

  /// The columns device_token, waiting, shown, may_correct, bundle_id, channel, language, quiet_from, quiet_to,
  /// time_zone, has_untold, in that order from 0.
  fileprivate init(row: borrowing Row) {
    token = row.text(0)
    waiting = row.integer(1)
    shown = row.integer(2)
    mayCorrect = row.boolean(3)
    let channel = row.optionalText(5).map { Channel($0) }
    address = PushAddress(
      token, by: channel ?? Self.channel(of: token), bundleID: row.optionalText(4))
    language = row.optionalText(6).flatMap(Language.init(rawValue:)) ?? .english
    quietHours = PhoneQuietHours(row: row, 7)
    hasUntold = row.boolean(10)
  }
}

extension DeviceBadge {
  /// The channel of a device whose last notification is not stored any more.
  private static func channel(of token: String) -> Channel {
    if PushToken(token)?.isOfBrowser == true { return .webPush }
    return DeviceToken(token) == nil ? .fcm : .apns
  }
}

/// The badges of devices whose users have changed.
package struct DeviceBadges: Sendable {
  let records: Records

  /// Corrects the badges of devices for which a user is not registered any more, at most `limit` of them.
  ///
  /// - Returns: the number of devices.
  package func correctStale(limit: Int) throws -> Int {
    let tokens = try records.read { transaction in
      try transaction.connection.rows(
        "SELECT device_token FROM ogs_devices WHERE is_stale ORDER BY device_token LIMIT ?",
        [.integer(Int64(limit))]
      ) { row in row.text(0) }
    }
    for token in tokens {
      try records.transaction { transaction in
        let badges = transaction.badges
        let badge = try badges.ofDevice(token)
        try badges.correct(badge)
        try badges.endStale(badge)
      }
    }
    return tokens.count
  }
}

extension Records {
  package var deviceBadges: DeviceBadges { DeviceBadges(records: self) }
}

/// Statements on `ogs_devices` and `turn_notices`.
struct BadgeStatements: ~Copyable {
  let transaction: Transaction

  /// The badges of the devices that are registered for a user, by token. Omits devices whose
  /// channel was never configured: their notifications would be neither sent nor deleted.
  func ofDevices(of userID: Int64) throws(DatabaseError) -> [DeviceBadge] {
    try transaction.connection.rows(
      """
      SELECT r.device_token,
        (SELECT COUNT(DISTINCT g.game_id)
         FROM ogs_registrations o JOIN ogs_games g ON g.ogs_user_id = o.ogs_user_id
         WHERE o.device_token = r.device_token AND g.is_running
           AND g.current_player = g.ogs_user_id AND NOT g.is_silent),
        COALESCE(d.badge, 0),
        COALESCE(l.state <> 'open', TRUE)
          AND COALESCE(d.badge_at NOT BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE
            AND UTC_TIMESTAMP(3), TRUE),
        r.bundle_id, r.channel, r.language, r.quiet_from, r.quiet_to, r.time_zone,
        r.untold IS NOT NULL
      FROM ogs_registrations r LEFT JOIN ogs_devices d ON d.device_token = r.device_token
      LEFT JOIN deliveries l ON l.id = d.delivery_id
      WHERE r.ogs_user_id = ?
        AND EXISTS (SELECT 1 FROM delivery_leases s WHERE s.channel = r.channel AND s.shard = 0)
      ORDER BY r.device_token
      """,
      [.integer(userID)]
    ) { row in DeviceBadge(row: row) }
  }

  /// The badge of one device, for all its users; empty if nothing was ever sent to it.
  fileprivate func ofDevice(_ token: String) throws(DatabaseError) -> [DeviceBadge] {
    try transaction.connection.rows(
      """
      SELECT d.device_token,
        (SELECT COUNT(DISTINCT g.game_id)
         FROM ogs_registrations o JOIN ogs_games g ON g.ogs_user_id = o.ogs_user_id
         WHERE o.device_token = d.device_token AND g.is_running
           AND g.current_player = g.ogs_user_id AND NOT g.is_silent),
        d.badge,
        COALESCE(l.state <> 'open', TRUE)
          AND COALESCE(d.badge_at NOT BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE
            AND UTC_TIMESTAMP(3), TRUE),
        l.bundle_id, l.channel, NULL, NULL, NULL, NULL, FALSE
      FROM ogs_devices d LEFT JOIN deliveries l ON l.id = d.delivery_id WHERE d.device_token = ?
      """,
      [.text(token)]
    ) { row in DeviceBadge(row: row) }
  }

  /// Sends the badge alone to the devices that show another number and may be corrected.
  func correct(_ devices: [DeviceBadge]) throws(DatabaseError) {
    for device in devices
    where device.takesBadges && device.mayCorrect && device.waiting != device.shown {
      try post(.badge(device.waiting), to: device)
      _ = try transaction.connection.execute(
        "UPDATE ogs_devices SET badge_at = UTC_TIMESTAMP(3) WHERE device_token = ?",
        [.text(device.token)])
    }
  }

  /// Sends a notification that the device does not show, with its badge.
  func post(_ content: NotificationContent, to device: DeviceBadge) throws(DatabaseError) {
    let id = try transaction.notifications.post(
      NewNotification(
        kind: .badge, eventKey: "badge \(transaction.makeID())", content: content,
        lifetime: .day, to: [device.address]))
    guard let id else { return }
    try insertNotice(id, of: nil, games: [], badge: device.waiting)
  }

  /// Stores the content of a notification, and marks it as the last one to its devices.
  ///
  /// - Parameter isDeferred: whether it waits for the end of quiet hours: until then only the badge
  ///   is sent.
  func insertNotice(
    _ id: String, of userID: Int64?, games: [GameMark], badge: Int64, isDeferred: Bool = false
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "INSERT INTO turn_notices (notification_id, ogs_user_id, games, badge) VALUES (?, ?, ?, ?)",
      [.text(id), .integer(userID), .bytes(GameMark.json(games)), .integer(badge)])
    if isDeferred { return }
    _ = try transaction.connection.execute(
      """
      INSERT INTO ogs_devices (device_token, delivery_id)
      SELECT token, id FROM deliveries WHERE notification_id = ? ORDER BY token
      ON DUPLICATE KEY UPDATE delivery_id = VALUES(delivery_id)
      """,
      [.text(id)])
  }

  /// Records a badge that the device may show, though its delivery was not recorded.
  func note(_ badge: Int64, on token: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE ogs_devices SET badge = ? WHERE device_token = ?", [.integer(badge), .text(token)])
  }

  /// Marks the badge of a device for a check, because a user is not registered for it any more.
  func markStale(_ token: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE ogs_devices SET is_stale = TRUE WHERE device_token = ?", [.text(token)])
  }

  /// Ends the check of devices that show the right number, and deletes those without a user.
  fileprivate func endStale(_ devices: [DeviceBadge]) throws(DatabaseError) {
    for device in devices where device.waiting == device.shown || !device.takesBadges {
      _ = try transaction.connection.execute(
        "UPDATE ogs_devices SET is_stale = FALSE WHERE device_token = ?", [.text(device.token)])
      _ = try transaction.connection.execute(
        """
        DELETE FROM ogs_devices WHERE device_token = ? AND NOT EXISTS
          (SELECT 1 FROM ogs_registrations r WHERE r.device_token = ogs_devices.device_token)
        """,
        [.text(device.token)])
    }
  }
}

extension Transaction {
  var badges: BadgeStatements { BadgeStatements(transaction: Transaction(sharing: self)) }
}

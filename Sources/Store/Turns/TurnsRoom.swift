extension Room {
  static let turns = Room(
    retention: [
      RetentionRule(.after(.day * 30), "DELETE FROM api_keys WHERE revoked_at < ? LIMIT ?"),
      RetentionRule(.after(.day * 90), "DELETE FROM turn_alerts WHERE shown_at < ? LIMIT ?"),
    ] + Room.unusedRegistrations + [
      // A user without polls and without API keys is gone. Revoked keys stay for a time.
      RetentionRule(
        .after(.day * 30),
        """
        DELETE FROM turn_settings WHERE changed_at < ?
          AND NOT EXISTS (SELECT 1 FROM ogs_users u WHERE u.id = turn_settings.ogs_user_id)
          AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.ogs_user_id = turn_settings.ogs_user_id)
        LIMIT ?
        """)
    ],
    whenTokenDies: [
      "DELETE FROM ogs_registrations WHERE device_token = ? AND registered_at < ?",
      """
      DELETE FROM ogs_devices
      WHERE device_token = ? AND COALESCE(badge_at, '1970-01-02 00:00:00') < ?
        AND NOT EXISTS
          (SELECT 1 FROM ogs_registrations r WHERE r.device_token = ogs_devices.device_token)
      """,
    ],
    whatIsOver: [
      // The next poll withdraws or replaces those whose game has changed. It could not while they
      // were being sent.
      OverRule(
        [.turn, .clock],
        """
        SELECT d.id, MAX(r.device_token IS NULL)
        FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS due
        JOIN deliveries d ON d.id = due.id
        JOIN turn_notices t ON t.notification_id = d.notification_id
        JOIN JSON_TABLE(t.games, '$[*]'
          COLUMNS (id BIGINT UNSIGNED PATH '$[0]', move BIGINT PATH '$[1]')) AS told
        LEFT JOIN ogs_registrations r ON r.ogs_user_id = t.ogs_user_id AND r.device_token = d.token
        LEFT JOIN ogs_games g ON g.ogs_user_id = t.ogs_user_id AND g.game_id = told.id
          AND g.last_move = told.move AND g.is_running AND g.current_player = g.ogs_user_id
        WHERE r.device_token IS NULL OR g.game_id IS NULL
        GROUP BY d.id
        """),
      OverRule(
        [.gameEnded],
        """
        SELECT d.id, TRUE FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS due
        JOIN deliveries d ON d.id = due.id
        JOIN turn_notices t ON t.notification_id = d.notification_id
        LEFT JOIN ogs_registrations r ON r.ogs_user_id = t.ogs_user_id AND r.device_token = d.token
        WHERE r.device_token IS NULL
        """),
    ],
    ownersOfTokens: [
      """
      SELECT wanted.token, CONCAT('OGS user ', r.ogs_user_id)
      FROM JSON_TABLE(?, '$[*]' COLUMNS (token VARCHAR(512) PATH '$')) AS wanted
      STRAIGHT_JOIN ogs_registrations r ON r.device_token = wanted.token
      """
    ],
    whenDelivered: [
      """
      UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS sent
      JOIN deliveries d ON d.id = sent.id
      JOIN turn_notices t ON t.notification_id = d.notification_id
      JOIN ogs_registrations r ON r.ogs_user_id = t.ogs_user_id AND r.device_token = d.token
      SET r.last_notified_at = UTC_TIMESTAMP(3)
      """,
      """
      INSERT INTO ogs_devices (device_token, badge)
      SELECT d.token, t.badge FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS sent
      JOIN deliveries d ON d.id = sent.id
      JOIN turn_notices t ON t.notification_id = d.notification_id
      ORDER BY d.token
      ON DUPLICATE KEY UPDATE badge = VALUES(badge)
      """,
      TurnNotices.rememberAlerts,
    ],
    // Only turns: a short clock or an ended game is no news by then.
    whenGivenUp: [
      """
      UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS given_up
      JOIN deliveries d ON d.id = given_up.id
      JOIN notifications n ON n.id = d.notification_id AND n.kind = 'turn'
      JOIN turn_notices t ON t.notification_id = d.notification_id
      JOIN ogs_registrations r ON r.ogs_user_id = t.ogs_user_id AND r.device_token = d.token
      SET r.untold = JSON_MERGE_PRESERVE(COALESCE(r.untold, '[]'), t.games)
      """
    ],
    seals: [
      """
      SELECT DISTINCT SUBSTRING_INDEX(sealed, '.', 1)
      FROM ogs_registrations FORCE INDEX (ogs_registrations_sealed) WHERE sealed > 'box:'
      """
    ],
    subscriptions: SealedSubscriptions(
      find: """
        SELECT r.device_token, r.sealed
        FROM JSON_TABLE(?, '$[*]' COLUMNS (token VARCHAR(512) PATH '$')) AS wanted
        STRAIGHT_JOIN ogs_registrations r ON r.device_token = wanted.token
        WHERE r.sealed IS NOT NULL
        """,
      findSealedOtherwise: """
        SELECT device_token, sealed FROM ogs_registrations FORCE INDEX (ogs_registrations_sealed)
        WHERE sealed < ? OR sealed > CONCAT(?, '~') LIMIT 500
        """,
      replace: "UPDATE ogs_registrations SET sealed = ? WHERE device_token = ? AND sealed = ?"),
    whenClockIsSetBack: [
      """
      UPDATE ogs_users FORCE INDEX (ogs_users_due) SET due_at = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
      WHERE due_at > UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
      """,
      """
      UPDATE ogs_pause SET paused_until = UTC_TIMESTAMP(3) + INTERVAL 15 MINUTE
      WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3) + INTERVAL 15 MINUTE
      """,
    ])
}

extension Room {
  /// An app registers at each start: a registration that is a year old belongs to an app out of
  /// use.
  fileprivate static let unusedRegistrations = [
    // First, so that the phone's alerts are forgotten too, as when it unregisters.
    RetentionRule(
      .after(.day * 365),
      """
      UPDATE ogs_registrations r STRAIGHT_JOIN ogs_devices d ON d.device_token = r.device_token
      SET d.is_stale = TRUE WHERE r.registered_at < ? AND NOT d.is_stale LIMIT ?
      """),
    RetentionRule(
      .after(.day * 365),
      """
      DELETE FROM ogs_registrations WHERE registered_at < ? AND NOT EXISTS
        (SELECT 1 FROM ogs_devices d
         WHERE d.device_token = ogs_registrations.device_token AND NOT d.is_stale)
      LIMIT ?
      """),
  ]
}

extension Limit {
  package static let masterKeyTries = Limit(
    name: "master-key", allowed: 10, window: .seconds(60), counts: "wrong master keys",
    per: "IP address")
  package static let turnSettings = Limit(
    name: "turns-settings", allowed: 60, window: .seconds(3600), counts: "writes", per: "user")
  package static let turnRegistrations = Limit(
    name: "turns-register", allowed: 60, window: .seconds(3600), counts: "registrations",
    per: "user")
  package static let turnChecks = Limit(
    name: "turns-check", allowed: 20, window: .seconds(60), counts: "checks", per: "user")
}

extension AuditEvent {
  static let apiKeyIssued = AuditEvent("api_key_issued")
  static let apiKeyRevoked = AuditEvent("api_key_revoked")
  static let masterKeyRefused = AuditEvent.refusal("master_key_refused")
  static let turnsRegistered = AuditEvent("turns_registered")
  static let turnsUnregistered = AuditEvent("turns_unregistered")
  static let turnUserDeleted = AuditEvent("turns_user_deleted")
}

extension Job.Kind {
  /// Polls online-go.com for one user at once.
  package static let turnCheck = Job.Kind("turn_check")
}

extension NewNotification.Kind {
  /// Tells a player that it is their turn.
  static let turn = NewNotification.Kind("turn")
  /// Changes the number on the app's icon.
  static let badge = NewNotification.Kind("badge")
  /// Less than an hour is left for a player's move.
  static let clock = NewNotification.Kind("clock")
  static let gameEnded = NewNotification.Kind("game_ended")
}

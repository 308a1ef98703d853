/// Cases for the tables between responder and companion, and for the tables of turns.
extension ConstraintTests {
  private static let other = "'\(SampleRows.other)'"
  private static let token = "REPEAT('ab', 32)"

  static let outbox: [Case] = [
    Case(
      "notifications.PRIMARY",
      "INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at) SELECT id, kind, 'x', 'c', expires_at FROM notifications"
    ),
    Case(
      "notifications.notifications_event",
      "INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at) SELECT \(other), kind, event_key, 'c', expires_at FROM notifications"
    ),
    Case(
      "notifications.notifications_data_object", "UPDATE notifications SET data = '{\"}'",
      words: "json_valid"),
    Case("notifications.notifications_data_object", "UPDATE notifications SET data = '[]'"),
    Case("notifications.notifications_data_object", "UPDATE notifications SET data = '{}'"),
    Case(
      "notifications.notifications_size",
      "UPDATE notifications SET title = 'x', body = REPEAT('x', 4087), data = '{\"a\":\"b\"}'"),
    Case(
      "deliveries.PRIMARY",
      "INSERT INTO deliveries (id, notification_id, token, shard) SELECT id, notification_id, 'x', 1 FROM deliveries"
    ),
    Case(
      "deliveries.deliveries_once",
      "INSERT INTO deliveries (id, notification_id, token, shard) SELECT \(other), notification_id, token, 1 FROM deliveries"
    ),
    Case(
      "deliveries.deliveries_notification",
      "UPDATE deliveries SET notification_id = \(other)"),
    Case("deliveries.deliveries_shard", "UPDATE deliveries SET shard = 16"),
    Case("deliveries.deliveries_closed_whole", "UPDATE deliveries SET state = 'dead'"),
    Case("deliveries.deliveries_closed_whole", "UPDATE deliveries SET finished_at = NOW(3)"),
    Case(
      "delivery_leases.PRIMARY",
      "INSERT INTO delivery_leases (channel, shard) VALUES ('apns', 1)"),
    Case(
      "delivery_leases.delivery_leases_shard", "INSERT INTO delivery_leases (shard) VALUES (16)"),
    Case("delivery_leases.delivery_leases_batch_array", "UPDATE delivery_leases SET batch = '{}'"),
    Case(
      "provider_tokens.PRIMARY",
      "INSERT INTO provider_tokens (team_id, key_id) VALUES ('team', 'key')"),
    Case("provider_tokens.provider_tokens_whole", "UPDATE provider_tokens SET sealed = 'x'"),
    Case(
      "fcm_access_tokens.PRIMARY",
      "INSERT INTO fcm_access_tokens (account) SELECT account FROM fcm_access_tokens"),
    Case("fcm_access_tokens.fcm_access_tokens_whole", "UPDATE fcm_access_tokens SET sealed = 'x'"),
    Case(
      "fcm_access_tokens.fcm_access_tokens_whole",
      "UPDATE fcm_access_tokens SET expires_at = NOW(3)"),
    Case(
      "apns_hosts.PRIMARY",
      "INSERT INTO apns_hosts (token, topic, environment, learned_at) SELECT token, topic, 'production', NOW(3) FROM apns_hosts"
    ),
    Case("provider_tokens.provider_tokens_whole", "UPDATE provider_tokens SET issued_at = NOW(3)"),
    Case(
      "jobs.PRIMARY",
      "INSERT INTO jobs (id, kind, request, request_id) SELECT id, kind, request, request_id FROM jobs"
    ),
    Case(
      "jobs.jobs_request_json", "UPDATE jobs SET request = '{'", words: "json_valid"),
    Case(
      "jobs.jobs_result_json",
      "UPDATE jobs SET state = 'done', finished_at = NOW(3), result = '{'", words: "json_valid"),
    Case("jobs.jobs_closed_whole", "UPDATE jobs SET state = 'dead'"),
    Case(
      "jobs.jobs_done_has_result",
      "UPDATE jobs SET state = 'done', finished_at = NOW(3)"),
    Case("jobs.jobs_done_has_result", "UPDATE jobs SET result = '{}'"),
  ]

  static let turns: [Case] = [
    Case("ogs_users.PRIMARY", "INSERT INTO ogs_users (id) VALUES (7)"),
    Case(
      "ogs_registrations.PRIMARY",
      "INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at) SELECT ogs_user_id, device_token, registered_at FROM ogs_registrations"
    ),
    Case(
      "ogs_registrations.ogs_registrations_user",
      "INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at) VALUES (9, \(token), NOW(3))"
    ),
    Case(
      "ogs_registrations.ogs_registrations_token_of_channel",
      "UPDATE ogs_registrations SET device_token = UPPER(\(token))"),
    Case(
      "ogs_registrations.ogs_registrations_token_of_channel",
      "UPDATE ogs_registrations SET device_token = REPEAT('a', 63)"),
    Case(
      "ogs_registrations.ogs_registrations_token_of_channel",
      "UPDATE ogs_registrations SET channel = 'fcm', device_token = REPEAT('a', 19)"),
    Case(
      "ogs_registrations.ogs_registrations_browser_sealed",
      "UPDATE ogs_registrations SET channel = 'webpush'"),
    Case(
      "ogs_registrations.ogs_registrations_boxed",
      "UPDATE ogs_registrations SET channel = 'webpush', sealed = 'x'"),
    Case(
      "ogs_registrations.ogs_registrations_quiet_whole",
      "UPDATE ogs_registrations SET quiet_from = 60"),
    Case(
      "ogs_registrations.ogs_registrations_minutes",
      "UPDATE ogs_registrations SET quiet_from = 60, quiet_to = 1440"),
    Case(
      "turn_alerts.PRIMARY",
      "INSERT INTO turn_alerts (ogs_user_id, device_token, collapse_id, kind, games, shown_at) SELECT ogs_user_id, device_token, collapse_id, kind, games, shown_at FROM turn_alerts"
    ),
    Case("turn_alerts.turn_alerts_games_array", "UPDATE turn_alerts SET games = '{}'"),
    Case(
      "ogs_games.PRIMARY",
      "INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running) VALUES (7, 8, 1, 'x', 1, 7, TRUE)"
    ),
    Case(
      "ogs_games.ogs_games_user",
      "INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running) VALUES (9, 8, 1, 'x', 1, 7, TRUE)"
    ),
    Case(
      "ogs_devices.PRIMARY",
      "INSERT INTO ogs_devices (device_token) SELECT device_token FROM ogs_devices"
    ),
    Case(
      "turn_settings.PRIMARY",
      "INSERT INTO turn_settings (ogs_user_id, changed_at) VALUES (7, NOW(3))"),
    Case("turn_settings.turn_settings_quiet_whole", "UPDATE turn_settings SET quiet_from = 60"),
    Case(
      "turn_settings.turn_settings_minutes",
      "UPDATE turn_settings SET quiet_from = 60, quiet_to = 1440"),
    Case("turn_settings.turn_settings_muted_array", "UPDATE turn_settings SET muted_games = '{}'"),
    Case(
      "turn_notices.PRIMARY",
      "INSERT INTO turn_notices (notification_id, games, badge) SELECT notification_id, '[]', 0 FROM turn_notices"
    ),
    Case(
      "turn_notices.turn_notices_notification",
      "INSERT INTO turn_notices (notification_id, games, badge) VALUES (UUID(), '[]', 0)"),
    Case("turn_notices.turn_notices_games_array", "UPDATE turn_notices SET games = '{}'"),
    Case("ogs_pause.PRIMARY", "INSERT INTO ogs_pause (id) VALUES (1)"),
    Case("ogs_pause.ogs_pause_is_one_row", "INSERT INTO ogs_pause (id) VALUES (2)"),
    Case("ogs_pause.ogs_pause_refused_array", "UPDATE ogs_pause SET refused_users = '{}'"),
    Case(
      "api_keys.PRIMARY",
      "INSERT INTO api_keys (key_hash, key_prefix, ogs_user_id, description, created_at) VALUES (REPEAT('k', 32), 'x', 7, 'x', NOW(3))"
    ),
    Case("api_keys.api_keys_description_not_empty", "UPDATE api_keys SET description = ''"),
  ]
}

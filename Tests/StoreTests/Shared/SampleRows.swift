/// One valid row in every table, as the basis of the cases of ``ConstraintTests``.
enum SampleRows {
  static let account = "01890a5d-ac96-774b-bcce-b302099a8001"
  static let device = "01890a5d-ac96-774b-bcce-b302099a8002"
  static let session = "01890a5d-ac96-774b-bcce-b302099a8003"
  static let enrollment = "01890a5d-ac96-774b-bcce-b302099a8004"
  static let card = "01890a5d-ac96-774b-bcce-b302099a8005"
  static let mail = "01890a5d-ac96-774b-bcce-b302099a8006"
  static let notification = "01890a5d-ac96-774b-bcce-b302099a8007"
  static let delivery = "01890a5d-ac96-774b-bcce-b302099a8008"
  static let job = "01890a5d-ac96-774b-bcce-b302099a8009"
  static let pairing = "01890a5d-ac96-774b-bcce-b302099a8010"
  static let merchant = "01890a5d-ac96-774b-bcce-b302099a8011"
  static let passkey = "01890a5d-ac96-774b-bcce-b302099a8012"
  static let state = "01890a5d-ac96-774b-bcce-b302099a8013"
  static let webhook = "01890a5d-ac96-774b-bcce-b302099a8014"
  /// An id without a row.
  static let other = "01890a5d-ac96-774b-bcce-b302099a8fff"
  static let pushToken = "740f4707bebcf74f9b7c25d48e335894"

  /// The tables that ``statements`` fill, in an order that fits their foreign keys.
  static let tables = statements.matches(of: #/INSERT INTO (\w+)/#).map { String($0.output.1) }

  static let statements = """
    INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
      VALUES ('\(account)', 'ann@example.org', 'Ann', 'ann@example.org', 'wsim_ABCDEFGHIJKL', NOW(3));
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at,
        credential_trusted_at)
      VALUES ('\(device)', '\(account)', 'device-1', 'Phone', 'ios', NOW(3), NOW(3), NOW(3));
    INSERT INTO device_preferences (device_id, last_updated_at) VALUES ('\(device)', NOW(3));
    INSERT INTO attestation_challenges (id, challenge_hash, bundle_id, expires_at)
      VALUES ('\(session)', REPEAT('c', 32), 'app.one', NOW(3));
    INSERT INTO attestation_keys (id, public_key, app_id, environment, receipt, device_id, attested_at, bound_at)
      VALUES (REPEAT('k', 32), CONCAT(X'04', REPEAT('p', 64)), 'TEAM.app.one', 'production', 'receipt-secret',
        '\(device)', NOW(3), NOW(3));
    INSERT INTO push_tokens (token, device_id, platform, registered_at)
      VALUES ('\(pushToken)', '\(device)', 'ios', NOW(3));
    INSERT INTO web_subscriptions (token, sealed) VALUES ('\(pushToken)', 'box:c1.sealed');
    INSERT INTO device_registrations (client_device_id, address, name, platform, credential_hash,
        credential_expires_at, registered_at)
      VALUES ('device-1', '192.0.2.1', 'Phone', 'ios', REPEAT('h', 32), NOW(3) + INTERVAL 1 DAY,
        NOW(3));
    INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at)
      VALUES ('\(session)', '\(device)', NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY);
    INSERT INTO login_codes (email, client_device_id, challenge_hash, code_mac, expires_at)
      VALUES ('ann@example.org', 'device-1', REPEAT('c', 32), REPEAT('m', 32), NOW(3));
    INSERT INTO biometric_keys (device_id, id, type, public_key, enrolled_at)
      VALUES ('\(device)', '\(session)', 'face', 'AAAA', NOW(3));
    INSERT INTO phone_challenges (challenge_hash, purpose, client_device_id, asked_by, expires_at)
      VALUES (REPEAT('c', 32), 'biometric', 'device-1', '192.0.2.1', NOW(3));
    INSERT INTO passkeys (id, account_id, credential_id, public_key, sign_count, is_backup_eligible,
        is_backed_up, name, created_at)
      VALUES ('\(passkey)', '\(account)', REPEAT('i', 16), REPEAT('p', 77), 1, TRUE, TRUE, 'Key', NOW(3));
    INSERT INTO passkey_challenges (challenge_hash, purpose, account_id, client_device_id, expires_at)
      VALUES (REPEAT('c', 32), 'registration', '\(account)', 'device-1', NOW(3));
    INSERT INTO address_changes (account_id, email, token_hash, expires_at)
      VALUES ('\(account)', 'new@example.org', REPEAT('t', 32), NOW(3) + INTERVAL 1 DAY);
    INSERT INTO account_visits (id, account_id, proved_at, form_hash, expires_at)
      VALUES (REPEAT('v', 32), '\(account)', NOW(3), REPEAT('f', 32),
        NOW(3) + INTERVAL 1 DAY);
    INSERT INTO banks (bsim_id, name, authorization_url, token_url, cards_url, client_id, client_secret, scope)
      VALUES ('bank-1', 'Bank', 'https://a', 'https://t', 'https://c', 'client', 'secret', 'cards');
    INSERT INTO enrollment_states (id, state_hash, nonce_hash, verifier, account_id, session_id, bsim_id,
        is_mobile, expires_at, browser_hash)
      VALUES ('\(state)', REPEAT('s', 32), REPEAT('n', 32), 'sealed', '\(account)', '\(session)', 'bank-1',
        TRUE, NOW(3), REPEAT('b', 32));
    INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at)
      VALUES ('\(enrollment)', '\(account)', 'bank-1', NOW(3));
    INSERT INTO cards (id, enrollment_id, bank_card_id, last_four, card_type, expiry_month, expiry_year, added_at)
      VALUES ('\(card)', '\(enrollment)', 'card-1', '4242', 'VISA', 12, 2030, NOW(3));
    INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at)
      VALUES ('\(merchant)', 'Shop', REPEAT('k', 32), 'msk_abcdefgh', NOW(3));
    INSERT INTO payments (id, merchant_id, account_id, card_id, amount, currency, challenge_hash, created_at, expires_at)
      VALUES ('pay_aaaaaaaaaaaaaaaaaaaaaa', '\(merchant)', '\(account)', '\(card)', 99.99, 'CAD', REPEAT('c', 32),
        NOW(3), NOW(3));
    INSERT INTO webhooks (id, payment_id, merchant_id, event, expires_at)
      VALUES ('\(webhook)', 'pay_aaaaaaaaaaaaaaaaaaaaaa', '\(merchant)', 'payment.confirmed', NOW(3));
    INSERT INTO card_tokens (card_id, merchant_id, token) VALUES ('\(card)', '\(merchant)', 'card_a');
    INSERT INTO outbox (id, kind, recipient, sealed, expires_at, request_id, account_id)
      VALUES ('\(mail)', 'login_code', 'ann@example.org', 'sealed', NOW(3), 'request', '\(account)');
    INSERT INTO purge_places (rule, at, id) VALUES ('rule', NOW(3), UUID());
    INSERT INTO dead_tokens (token, removed_at) VALUES ('\(pushToken)\(pushToken)', NOW(3));
    INSERT INTO companion_status (host, version, last_pass_at) VALUES ('host', '1.0.0', NOW(3));
    INSERT INTO problems (host, name, since, seen_at) VALUES ('host', 'mail', NOW(3), NOW(3));
    INSERT INTO counters (host, name, outcome) VALUES ('host', 'mails', 'delivered');
    INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
      VALUES ('limit', 'subject', NOW(3), 86400, 1, 1);
    INSERT INTO job_limits (name, subject, window_started_at, hits)
      VALUES ('limit', 'subject', NOW(3), 1);
    INSERT INTO audit_log (id, at, event, request_id, address)
      VALUES (1, NOW(3), 'event', 'request', '192.0.2.1');
    INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
      VALUES ('\(notification)', 'turn', 'event', 'c', NOW(3));
    INSERT INTO deliveries (id, notification_id, token, shard)
      VALUES ('\(delivery)', '\(notification)', '\(pushToken)\(pushToken)', 1);
    INSERT INTO provider_tokens (team_id, key_id) VALUES ('team', 'key');
    INSERT INTO fcm_access_tokens (account) VALUES ('switchboard@example.iam.gserviceaccount.com');
    INSERT INTO apns_hosts (token, topic, environment, learned_at)
      VALUES ('\(pushToken)\(pushToken)', 'com.example.app', 'sandbox', NOW(3));
    INSERT INTO jobs (id, kind, request, request_id)
      VALUES ('\(job)', 'turn_check', '{}', 'request');
    INSERT INTO pairing_tokens (nonce, issued_at, expires_at)
      VALUES ('nonce-nonce-0001', NOW(3), NOW(3) + INTERVAL 1 DAY);
    INSERT INTO pairings (id, user_agent, address, paired_at, last_used_at, rotated_at, expires_at)
      VALUES ('\(pairing)', 'cdev/1.0', '192.0.2.1', NOW(3), NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY);
    INSERT INTO pairing_tickets (ticket_hash, pairing_id, expires_at)
      VALUES (REPEAT('t', 32), '\(pairing)', NOW(3) + INTERVAL 1 DAY);
    INSERT INTO ogs_users (id) VALUES (7);
    INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
      VALUES (7, '\(pushToken)\(pushToken)', NOW(3));
    INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running)
      VALUES (7, 8, 0, 'Game', 1, 7, TRUE);
    INSERT INTO ogs_devices (device_token) VALUES ('\(pushToken)\(pushToken)');
    INSERT INTO turn_settings (ogs_user_id, changed_at) VALUES (7, NOW(3));
    INSERT INTO turn_alerts (ogs_user_id, device_token, collapse_id, kind, games, shown_at)
      VALUES (7, '\(pushToken)\(pushToken)', 'turn-7-8', 'turn', '[[8,1]]', NOW(3));
    INSERT INTO turn_notices (notification_id, ogs_user_id, games, badge)
      VALUES ('\(notification)', 7, '[[8,1]]', 1);
    INSERT INTO api_keys (key_hash, key_prefix, ogs_user_id, description, created_at)
      VALUES (REPEAT('k', 32), 'abcdefgh', 7, 'Phone', NOW(3));
    """
}

-- The rows of the other tables for the ROWS accounts of devices.sql: each account has a proven address, a passkey, a
-- biometric key, a bank with two cards, a paid payment, a browser at /account, and a player with five games. ID(n) is an id
-- made of n and the row's number, as in devices.sql. SPKI and COSE are the public key of proofs.py. Tables of rows that live
-- for minutes or hours have PART rows, a hundredth.

SET @now = UTC_TIMESTAMP(3), time_zone = '+00:00', unique_checks = 0, foreign_key_checks = 0;

UPDATE accounts SET email_verified_at = created_at;
UPDATE devices SET credential_trusted_at = created_at;
UPDATE sessions SET began_by = 'code', proved_at = created_at;

INSERT INTO passkeys (id, account_id, credential_id, public_key, sign_count, is_backup_eligible, is_backed_up, name, created_at)
  SELECT ID(a), ID(0), UNHEX(SHA2(CONCAT('passkey ', seq), 256)), X'COSE', 0, TRUE, TRUE, 'Passkey', @now FROM seq_1_to_ROWS;

INSERT INTO biometric_keys (device_id, id, type, public_key, enrolled_at, trusted_at)
  SELECT ID(1), ID(b), 'face', 'SPKI', @now, @now FROM seq_1_to_ROWS;

INSERT INTO device_registrations (client_device_id, address, name, platform, credential_hash, credential_expires_at, registered_at)
  SELECT CONCAT('new phone ', seq), '192.0.2.1', 'iPhone', 'ios', UNHEX(SHA2(CONCAT('registration ', seq), 256)),
         @now + INTERVAL 7 DAY, @now FROM seq_1_to_PART;

INSERT INTO login_codes (email, client_device_id, asked_by, challenge_hash, code_mac, expires_at, spent_at)
  SELECT CONCAT('user', seq, '@example.org'), CONCAT('old phone ', seq), '192.0.2.0/24',
         UNHEX(SHA2(CONCAT('code ', seq), 256)), REPEAT('m', 32), @now + INTERVAL 300 SECOND, @now FROM seq_1_to_PART;

INSERT INTO phone_challenges (challenge_hash, purpose, client_device_id, asked_by, expires_at)
  SELECT UNHEX(SHA2(CONCAT('phone ', seq), 256)), 'biometric', CONCAT('old phone ', seq), '192.0.2.0/24', @now + INTERVAL 300 SECOND
    FROM seq_1_to_PART;

INSERT INTO passkey_challenges (challenge_hash, purpose, account_id, client_device_id, expires_at)
  SELECT UNHEX(SHA2(CONCAT('challenge ', seq), 256)), 'authentication', ID(0), CONCAT('old phone ', seq), @now + INTERVAL 300 SECOND
    FROM seq_1_to_PART;

INSERT INTO address_changes (account_id, email, token_hash, expires_at)
  SELECT ID(0), CONCAT('new', seq, '@example.org'), UNHEX(SHA2(CONCAT('address ', seq), 256)), @now + INTERVAL 1 DAY FROM seq_1_to_PART;

INSERT INTO account_visits (id, account_id, proved_at, form_hash, address, expires_at)
  SELECT UNHEX(SHA2(CONCAT('visit-', seq), 256)), ID(0), @now, UNHEX(SHA2(CONCAT('form-', seq), 256)), '192.0.2.1',
         @now + INTERVAL 1 DAY FROM seq_1_to_ROWS;

INSERT INTO attestation_challenges (id, challenge_hash, bundle_id, expires_at)
  SELECT ID(2), UNHEX(SHA2(CONCAT('attestation ', seq), 256)), 'org.example.app', @now + INTERVAL 300 SECOND FROM seq_1_to_PART;

INSERT INTO attestation_keys (id, public_key, app_id, environment, receipt, device_id, attested_at, bound_at)
  SELECT UNHEX(SHA2(CONCAT('key ', seq), 256)), CONCAT(X'04', REPEAT('p', 64)), 'TEAM123456.org.example.app', 'production', '',
         ID(1), @now, @now FROM seq_1_to_ROWS;

INSERT INTO banks (bsim_id, name, authorization_url, token_url, cards_url, client_id, client_secret, scope)
  VALUES ('bank', 'Bank', 'https://bank.example.org/authorize', 'https://bank.example.org/token',
          'https://bank.example.org/cards', 'switchboard', 'box:none', 'cards');

INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at) SELECT ID(c), ID(0), 'bank', @now FROM seq_1_to_ROWS;

INSERT INTO enrollment_states (id, state_hash, nonce_hash, verifier, account_id, session_id, bsim_id, is_mobile, expires_at)
  SELECT ID(9), UNHEX(SHA2(CONCAT('state ', seq), 256)), REPEAT('n', 32), 'box:none', ID(0), ID(2), 'bank', TRUE,
         @now + INTERVAL 600 SECOND FROM seq_1_to_PART;

INSERT INTO cards (id, enrollment_id, bank_card_id, last_four, card_type, expiry_month, expiry_year, is_default, added_at)
  SELECT ID(d), ID(c), 'first', '4242', 'VISA', 12, 2040, TRUE, @now FROM seq_1_to_ROWS;
INSERT INTO cards (id, enrollment_id, bank_card_id, last_four, card_type, expiry_month, expiry_year, added_at)
  SELECT ID(e), ID(c), 'second', '1881', 'MASTERCARD', 12, 2040, @now FROM seq_1_to_ROWS;

INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at)
  VALUES ('01900000-0000-7007-8000-000000000001', 'Shop', UNHEX(SHA2('msk_benchmark', 256)), 'msk_benchmark', @now);

INSERT INTO payments (id, merchant_id, account_id, card_id, amount, currency, order_id, challenge_hash, created_at, expires_at,
                      confirmed_at, confirmed_by, is_request, approved_at, card_token)
  SELECT CONCAT('pay_', LPAD(seq, 22, '0')), '01900000-0000-7007-8000-000000000001', ID(0), ID(d), 12.5, 'CAD', CONCAT('order-', seq),
         REPEAT('c', 32), @now - INTERVAL 1 DAY, @now - INTERVAL 1 DAY + INTERVAL 900 SECOND, @now - INTERVAL 1 DAY, 'passkey', TRUE,
         @now - INTERVAL 1 DAY, 'card_token' FROM seq_1_to_ROWS;

INSERT INTO webhooks (id, payment_id, merchant_id, event, state, expires_at, finished_at)
  SELECT ID(8), CONCAT('pay_', LPAD(seq, 22, '0')), '01900000-0000-7007-8000-000000000001', 'payment.confirmed', 'delivered', @now, @now
    FROM seq_1_to_ROWS;

INSERT INTO card_tokens (card_id, merchant_id, token)
  SELECT ID(d), '01900000-0000-7007-8000-000000000001', 'card_token' FROM seq_1_to_ROWS;

INSERT INTO pairings (id, user_agent, address, paired_at, last_used_at, rotated_at, expires_at, ended_at, end_reason)
  SELECT ID(8), 'cdev/1.0', '192.0.2.1', @now, @now, @now, @now + INTERVAL 30 DAY, @now, 'phone' FROM seq_1_to_PART;

INSERT INTO pairing_tokens (nonce, issued_at, expires_at, spent_at)
  SELECT LPAD(seq, 16, '0'), @now, @now + INTERVAL 300 SECOND, @now FROM seq_1_to_PART;

INSERT INTO pairing_tickets (ticket_hash, pairing_id, expires_at, spent_at)
  SELECT UNHEX(SHA2(CONCAT('ticket ', seq), 256)), ID(8), @now + INTERVAL 60 SECOND, @now FROM seq_1_to_PART;

INSERT INTO ogs_users (id, due_at) SELECT 1000000 + seq, @now + INTERVAL 1 DAY FROM seq_1_to_ROWS;

INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at) SELECT 1000000 + seq, SHA2(seq, 256), @now FROM seq_1_to_ROWS;

INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running)
  SELECT 1000000 + account.seq, 10 * account.seq + game.seq, game.seq, 'Friendly match', 1758470000123, 1000000 + account.seq, TRUE
    FROM seq_1_to_ROWS account JOIN seq_1_to_5 game ORDER BY account.seq, game.seq;

INSERT INTO ogs_devices (device_token) SELECT SHA2(seq, 256) FROM seq_1_to_ROWS;

INSERT INTO turn_settings (ogs_user_id, changed_at) SELECT 1000000 + seq, @now FROM seq_1_to_ROWS;

INSERT INTO turn_alerts (ogs_user_id, device_token, collapse_id, kind, games, shown_at)
  SELECT 1000000 + seq, SHA2(seq, 256), 'turn', 'turn', CONCAT('[[', 10 * seq + 1, ',1758470000123]]'), @now FROM seq_1_to_ROWS;

INSERT INTO api_keys (key_hash, key_prefix, ogs_user_id, description, created_at)
  SELECT UNHEX(SHA2(SHA2(CONCAT('api key ', seq), 256), 256)), LEFT(SHA2(CONCAT('api key ', seq), 256), 8), 1000000 + seq, 'Phone', @now
    FROM seq_1_to_ROWS;

INSERT INTO notifications (id, kind, event_key, collapse_id, body, created_at, expires_at, account_id)
  SELECT ID(3), 'turn', CONCAT('old ', seq), LEFT(SHA2(seq, 224), 32), 'It''s your turn in: Friendly match', @now,
         @now + INTERVAL 1 DAY, ID(0) FROM seq_1_to_ROWS;

INSERT INTO deliveries (id, notification_id, token, shard, state, due_at, finished_at)
  SELECT ID(4), ID(3), SHA2(seq, 256), seq & 15, 'delivered', @now, @now FROM seq_1_to_ROWS;

INSERT INTO turn_notices (notification_id, ogs_user_id, games, badge)
  SELECT ID(3), 1000000 + seq, CONCAT('[[', 10 * seq + 1, ',1758470000123]]'), 1 FROM seq_1_to_ROWS;

INSERT INTO outbox (id, kind, recipient, state, expires_at, finished_at, request_id, account_id)
  SELECT ID(5), 'login_code', CONCAT('user', seq, '@example.org'), 'delivered', @now, @now, MD5(seq), ID(0) FROM seq_1_to_ROWS;

INSERT INTO jobs (id, kind, request, state, result, finished_at, request_id, account_id)
  SELECT ID(6), 'turn_check', '{}', 'done', '{}', @now, MD5(seq), ID(0) FROM seq_1_to_PART;

INSERT INTO apns_hosts (token, topic, environment, learned_at) SELECT SHA2(seq, 256), 'org.example.app', 'sandbox', @now FROM seq_1_to_PART;

INSERT INTO dead_tokens (token, removed_at) SELECT SHA2(CONCAT('dead ', seq), 256), @now FROM seq_1_to_PART;

INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
  SELECT 'filler', CONCAT('device ', seq), @now, 3600, 1, 30 FROM seq_1_to_PART;

INSERT INTO audit_log (at, event, account_id, device_id, request_id, address)
  SELECT @now - INTERVAL days.day DAY, 'prefs_changed', ID(0), ID(1), MD5(seq), '192.0.2.1'
    FROM (SELECT seq AS day FROM seq_1_to_2) days JOIN seq_1_to_ROWS;

ANALYZE TABLE accounts, devices, sessions, passkeys, biometric_keys, device_registrations, login_codes, phone_challenges,
  passkey_challenges, address_changes, account_visits, attestation_challenges, attestation_keys, banks, enrollments,
  enrollment_states, cards, merchants, payments, webhooks, card_tokens, pairings, pairing_tokens, pairing_tickets,
  ogs_users, ogs_registrations, ogs_games, ogs_devices, turn_settings, turn_alerts, api_keys, notifications,
  deliveries, turn_notices, outbox, jobs, apns_hosts, dead_tokens, rate_limits, audit_log;
